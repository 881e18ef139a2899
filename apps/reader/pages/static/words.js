// The page of the words that somebody knows.

import { keepKnown, knownWords } from "./known.js";

const list = document.getElementById("known");
const forget = document.getElementById("forget");

function show() {
  const words = knownWords();
  list.replaceChildren(...[...words].map(item));
  forget.hidden = words.size === 0;
  document.getElementById("none").hidden = words.size > 0;
}

function item(word) {
  const button = document.createElement("button");
  button.className = "plain";
  button.lang = "en";
  button.textContent = "Show again";
  button.setAttribute("aria-label", `Show again: ${word}`);
  button.addEventListener("click", () => {
    const words = knownWords();
    words.delete(word);
    keepKnown(words);
    show();
  });
  const entry = document.createElement("li");
  entry.append(word, " ", button);
  return entry;
}

forget.addEventListener("click", () => {
  keepKnown(new Set());
  show();
});
show();
