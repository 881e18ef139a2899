// Shows what the words of a text mean: pointed at, touched, or reached by the arrow keys. The entries stand in the page behind the text.

import { keepKnown, knownWords } from "./known.js";

const page = document.documentElement;
page.classList.add("scripted");

let known = knownWords();
let reading;
/** The word that is shown, and the place of it that was asked for. */
let shown;

// The panel

const panel = make("aside", { id: "lookup", tabIndex: -1, hidden: true });
panel.setAttribute("aria-labelledby", "lookup-word");
const heading = make("h2", { id: "lookup-word", lang: "ja" });
const close = make("button", { className: "plain close", type: "button", textContent: "Close" });
const found = make("div", { className: "found" });
panel.append(heading, close, found);
close.addEventListener("click", () => hide(true));
panel.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide(true);
});

function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

// The text

/** A container's text, its places and its words, as `data-e` says them. */
function read(container) {
  const reading = { container, chars: [], places: [], words: [], wordOf: new Map() };
  for (const text of container.querySelectorAll(".text")) {
    for (const node of text.childNodes) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        const place = { element: node, start: reading.chars.length, meanings: meanings(node.dataset.e ?? "") };
        node.placeNumber = reading.places.length;
        reading.places.push(place);
      }
      const inner = node.nodeType === Node.ELEMENT_NODE ? node.firstChild : node;
      let offset = 0;
      for (const char of inner?.data ?? "") {
        reading.chars.push({ char, node: inner, offset });
        offset += char.length;
      }
    }
  }
  let end = 0;
  for (const place of reading.places) {
    if (place.start >= end) {
      const length = Math.max(...place.meanings.map((meaning) => meaning.length));
      end = place.start + length;
      reading.words.push({ place, start: place.start, end, number: reading.words.length });
    }
    reading.wordOf.set(place, reading.words.at(-1));
  }
  return reading;
}

function meanings(told) {
  return told.split(" ").map((part) => {
    const [id, length, reasons, number] = part.split(",");
    return { id, length: Number(length), reasons: reasons ? reasons.split(".") : [], number };
  });
}

function textOf(start, end) {
  return reading.chars.slice(start, end).map((unit) => unit.char).join("");
}

/** Of several texts of a page only one is read at a time. */
function begin(container) {
  reading = read(container);
  container.before(make("p", { className: "hint", textContent: "Arrow keys go from word to word, Enter to the entries, Escape closes them." }));
  const first = reading.words[0];
  if (first) first.place.element.tabIndex = 0;
  container.after(panel);
  container.addEventListener("pointerover", (event) => {
    if (event.pointerType === "mouse") at(event.target, false);
  });
  container.addEventListener("click", (event) => at(event.target, true));
  container.addEventListener("focusin", (event) => at(event.target, false));
  container.addEventListener("keydown", pressed);
}

function placeOf(target) {
  const element = target.closest?.(".g");
  return element ? reading.places[element.placeNumber] : undefined;
}

function at(target, isTouched) {
  const place = placeOf(target);
  if (!place) return;
  const word = reading.wordOf.get(place);
  // words that stand side by side share no place, so that focus says which one it is
  if (isTouched && document.activeElement !== word.place.element) focus(word);
  show(word, place);
}

function focus(word) {
  for (const element of reading.container.querySelectorAll(".g[tabindex]")) {
    for (const name of ["tabindex", "role", "aria-label", "aria-controls"]) element.removeAttribute(name);
  }
  const { element } = word.place;
  const first = word.place.meanings.map(entryOf).find((entry) => entry && !isKnown(entry));
  const means = first?.querySelector("li")?.textContent.trim() ?? "";
  element.tabIndex = 0;
  element.setAttribute("role", "button");
  element.setAttribute("aria-controls", "lookup");
  element.setAttribute("aria-label", `${textOf(word.start, word.end)}: ${first?.dataset.reading ?? ""} ${means}`);
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: "nearest" });
}

function pressed(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  const word = reading.wordOf.get(placeOf(event.target));
  if (!word) return;
  const next = {
    ArrowRight: () => reading.words[word.number + 1],
    ArrowLeft: () => reading.words[word.number - 1],
    ArrowDown: () => onLine(word, 1),
    ArrowUp: () => onLine(word, -1),
    Home: () => reading.words[0],
    End: () => reading.words.at(-1),
  }[event.key];
  if (next) {
    const other = next();
    if (other) focus(other);
  } else if (event.key === "Escape") {
    hide(false);
  } else if (event.key === "Enter" || event.key === " ") {
    show(word, word.place);
    panel.focus();
  } else {
    return;
  }
  event.preventDefault();
}

/** The word above or below, the nearest of the next line. */
function onLine(word, step) {
  const box = (word) => word.place.element.getClientRects()[0];
  const from = box(word);
  let line, nearest;
  for (let at = word.number + step; reading.words[at]; at += step) {
    const to = box(reading.words[at]);
    if (!to || Math.abs(to.top - from.top) < from.height / 2) continue;
    line ??= to.top;
    if (Math.abs(to.top - line) > to.height / 2) break;
    if (!nearest || Math.abs(to.left - from.left) < Math.abs(box(nearest).left - from.left)) nearest = reading.words[at];
  }
  return nearest;
}

// What is shown

function entryOf(meaning) {
  return meaning.id.startsWith("+") ? null : document.getElementById(meaning.id);
}

/** As the dictionary's own list of known words has it: entries that are written or read so. */
function isKnown(entry) {
  if (entry.classList.contains("name")) return false;
  const others = [...entry.querySelectorAll(".others span")].map((other) => other.textContent);
  return [entry.dataset.word, entry.dataset.reading, ...others].some((form) => known.has(form));
}

function show(word, place) {
  if (shown?.word === word && shown.place === place && !panel.hidden) return;
  shown = { word, place };
  heading.textContent = textOf(word.start, word.end);
  const parts = [told(word.place)];
  if (place !== word.place) {
    const from = make("h3", { lang: "ja", textContent: textOf(place.start, place.start + place.meanings[0].length) });
    parts.push(make("section", { className: "within" }, make("p", { className: "quiet", textContent: "From here on" }), from, told(place)));
  }
  found.replaceChildren(...parts);
  panel.scrollTop = 0;
  panel.hidden = false;
  page.classList.add("looking");
  highlight(word);
}

/** All that begins at a place, each entry where it is longest. */
function told(place) {
  const words = make("div", { className: "words" });
  const names = make("div", { className: "names" });
  const left = make("p", { className: "quiet left" });
  const seen = new Set();
  let length = place.meanings[0].length;
  for (const meaning of place.meanings) {
    if (meaning.length !== length) {
      length = meaning.length;
      words.append(make("h3", { lang: "ja", textContent: textOf(place.start, place.start + length) }));
    }
    if (meaning.id.startsWith("+")) {
      words.append(make("p", { className: "quiet", textContent: `and ${meaning.id.slice(1)} more words` }));
      continue;
    }
    const entry = entryOf(meaning);
    if (!entry || seen.has(entry)) continue;
    seen.add(entry);
    if (entry.classList.contains("name")) {
      names.append(copy(entry));
    } else if (isKnown(entry)) {
      left.append(forgetting(entry), " ");
    } else {
      words.append(word(entry, meaning));
    }
  }
  // a heading whose words are all known
  for (const title of words.querySelectorAll("h3")) {
    if (!title.nextElementSibling || title.nextElementSibling.matches("h3")) title.remove();
  }
  if (left.firstChild) {
    left.prepend("You know ");
    words.append(left);
  }
  if (names.firstChild) words.append(make("h3", { textContent: "Names" }), names);
  return words;
}

function copy(entry) {
  const shown = entry.cloneNode(true);
  shown.removeAttribute("id");
  return shown;
}

function word(entry, meaning) {
  const shown = copy(entry);
  const title = shown.querySelector(".headword");
  if (meaning.number) title.after(make("p", { className: "quiet", textContent: `behind the number ${meaning.number}` }));
  if (meaning.reasons.length > 0) {
    const steps = meaning.reasons.map((id) => {
      const step = make("li", {});
      step.append(...[...(document.getElementById(`r${id}`)?.childNodes ?? [])].map((node) => node.cloneNode(true)));
      return step;
    });
    const list = make("ol", { className: "reasons" }, ...steps);
    list.setAttribute("aria-label", "How it is made of the dictionary form");
    title.after(list);
  }
  const knows = make("button", { className: "plain", type: "button", textContent: "I know this word" });
  knows.setAttribute("aria-label", `I know ${entry.dataset.word}`);
  knows.addEventListener("click", () => keep(entry.dataset.word, true));
  shown.append(knows);
  return shown;
}

function forgetting(entry) {
  const button = make("button", { className: "plain", type: "button", textContent: "show again" });
  button.setAttribute("aria-label", `Show ${entry.dataset.word} again`);
  button.addEventListener("click", () => {
    known = knownWords();
    const others = [...entry.querySelectorAll(".others span")].map((other) => other.textContent);
    for (const form of [entry.dataset.word, entry.dataset.reading, ...others]) known.delete(form);
    keep(null, false);
  });
  return make("span", {}, make("span", { lang: "ja", textContent: entry.dataset.word }), " ", button);
}

function keep(word, isKnown) {
  if (isKnown) {
    known = knownWords();
    known.add(word);
  }
  keepKnown(known);
  const { word: current, place } = shown;
  shown = undefined;
  show(current, place);
  panel.focus();
}

function hide(goBack) {
  // focus shows a word, so that it comes first
  if (goBack && shown) shown.word.place.element.focus({ preventScroll: true });
  panel.hidden = true;
  page.classList.remove("looking");
  globalThis.CSS?.highlights?.delete("word");
  shown = undefined;
}

/** A word may end within a place, so that a range is marked and no element. */
function highlight(word) {
  if (!globalThis.Highlight || !CSS.highlights) return;
  const [first, last] = [reading.chars[word.start], reading.chars[word.end - 1]];
  const range = new Range();
  range.setStart(first.node, first.offset);
  range.setEnd(last.node, last.offset + last.char.length);
  CSS.highlights.set("word", new Highlight(range));
}

// A text of one's own

const own = document.getElementById("own");
own?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = document.getElementById("problem");
  const container = document.getElementById("own-reading");
  const button = own.querySelector("button");
  button.disabled = true;
  problem.hidden = true;
  try {
    const answer = await fetch("/rpc/gloss", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "text/html" },
      body: JSON.stringify({ text: document.getElementById("text").value }),
    });
    if (!answer.ok) {
      const failure = await answer.json().catch(() => ({}));
      throw new Error([failure.message ?? answer.statusText, failure.details].filter(Boolean).join(". "));
    }
    const fresh = make("div", { className: "reading", id: "own-reading" });
    fresh.innerHTML = await answer.text();
    document.querySelector("main > .hint")?.remove();
    hide(false);
    container.replaceWith(fresh);
    begin(fresh);
    reading.words[0]?.place.element.scrollIntoView({ block: "nearest" });
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  } finally {
    button.disabled = false;
  }
});

const container = document.querySelector(".reading");
if (container?.querySelector(".text")) begin(container);
