// The words that somebody knows: a list in their browser, of words in dictionary form.

const KEY = "reader.known";
const WORDS_MAX = 10000;

export function knownWords() {
  try {
    const words = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return new Set(Array.isArray(words) ? words.filter((word) => typeof word === "string") : []);
  } catch {
    return new Set();
  }
}

export function keepKnown(words) {
  try {
    localStorage.setItem(KEY, JSON.stringify([...words].slice(-WORDS_MAX)));
  } catch {
    // a browser that keeps nothing shows all words
  }
}

/**
 * What two ways to write a word have in common: kana of both kinds and of both widths, letters of both sizes and widths. Old kanji are not
 * taken for new ones, as they are where the dictionary is asked with a list of known words: their table is the dictionary's.
 */
export function folded(word) {
  const one = word.trim().replace(/[～〜]/g, "ー").normalize("NFKC").toLowerCase();
  const hiragana = one.replace(/[ァ-ヶヽヾ]/g, (kana) => String.fromCharCode(kana.charCodeAt(0) - 0x60));
  return hiragana.replace(/[ゐヰ]/g, "い").replace(/[ゑヱ]/g, "え").replaceAll("〻", "々");
}
