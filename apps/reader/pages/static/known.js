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
