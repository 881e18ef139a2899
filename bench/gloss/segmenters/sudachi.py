"""The words that Sudachi finds in a file, a line each: the line's number, where it begins, surface, dictionary form, normalized form, part of speech."""

import sys

from sudachipy import dictionary, tokenizer

MODES = {"A": tokenizer.Tokenizer.SplitMode.A, "C": tokenizer.Tokenizer.SplitMode.C}


def main(path: str) -> None:
    words = dictionary.Dictionary(dict="core").create()
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n")):
            # the shortest units and the longest
            seen = set()
            for mode in MODES.values():
                for word in words.tokenize(line, mode):
                    found = (word.begin(), word.surface())
                    if found in seen:
                        continue
                    seen.add(found)
                    part = "-".join(word.part_of_speech()[:3])
                    print(number, *found, word.dictionary_form(), word.normalized_form(), part, sep="\t")


main(sys.argv[1])
