"""Which content words segmenters find that we do not: `missed.py COLUMNS NAME=WORDS...`, as README.md beside this file says.

A word is found where its surface is a span of ours, or where an entry is told from the same place whose headword or reading is its
dictionary form. What is left is listed with why, as far as that can be said from the word alone.
"""

import collections
import sys

CONTENT = ("名詞", "動詞", "形容詞", "形状詞", "副詞", "連体詞", "代名詞", "接続詞", "感動詞")


def hiragana(text: str) -> str:
    return "".join(chr(ord(c) - 0x60) if "ァ" <= c <= "ヶ" else c for c in text)


def ours(path: str):
    spans, forms, starts = collections.defaultdict(set), collections.defaultdict(set), collections.defaultdict(set)
    with open(path, encoding="utf-8") as file:
        next(file)
        for row in file:
            line, start, end, _, headword, reading = row.rstrip("\n").split("\t")[:6]
            place = (int(line), int(start))
            spans[place].add(int(end))
            starts[int(line)].add((int(start), int(end)))
            forms[place].update((hiragana(headword), hiragana(reading)))
    return spans, forms, starts


def why(surface: str, part: str, place, spans, covered) -> str:
    line, start = place
    end = start + len(surface)
    if "数" in part or surface.isdigit() or all(c in "0123456789０１２３４５６７８９〇一二三四五六七八九十百千万億,.，．" for c in surface):
        return "a number: told with what it counts"
    if surface.isascii() or all("Ａ" <= c <= "ｚ" for c in surface):
        return "Latin letters, no entry"
    if any(a <= start and end <= b and (a, b) != (start, end) for a, b in covered[line]):
        return "within a longer span of ours"
    # can the word be laid out of spans
    reach = {start}
    for at in range(start, end):
        if at in reach:
            reach.update(to for to in spans[(line, at)] if to <= end)
    if end in reach:
        return "a compound without an entry: its parts are told"
    if "固有名詞" in part:
        return "a proper name that the sources do not have"
    return "other"


def main() -> None:
    spans, forms, covered = ours(sys.argv[1])
    for argument in sys.argv[2:]:
        name, path = argument.split("=", 1)
        words, missed = 0, collections.defaultdict(collections.Counter)
        with open(path, encoding="utf-8") as file:
            for row in file:
                line, start, surface, base, normal, part = row.rstrip("\n").split("\t")
                if not part.startswith(CONTENT) or not surface.strip():
                    continue
                words += 1
                place = (int(line), int(start))
                is_span = place[1] + len(surface) in spans[place]
                if is_span or forms[place] & {hiragana(base), hiragana(normal)}:
                    continue
                missed[why(surface, part, place, spans, covered)][f"{surface} ({base}, {part.split('-')[0]})"] += 1
        total = sum(sum(these.values()) for these in missed.values())
        print(f"\n{name}: {words} content words, {total} of them not found by us.\n\n| why | places | words |\n|---|---|---|")
        for reason, these in sorted(missed.items(), key=lambda item: -sum(item[1].values())):
            words_of = "; ".join(f"{word} ×{count}" if count > 1 else word for word, count in these.most_common())
            print(f"| {reason} | {sum(these.values())} | {words_of} |")


main()
