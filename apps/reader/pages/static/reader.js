// Shows what the words of a text mean: pointed at, touched, or reached by the arrow keys. The entries stand in the page behind the text.

import { folded, keepKnown, knownWords } from "./known.js";

/** Where a mouse has not been still for so long it is on its way. */
const REST_MS = 120;
/** A word's name has no more of what stands behind it. */
const SEEN_MORE_MAX = 20;

const page = document.documentElement;
page.classList.add("scripted");

/** The words that somebody knows, folded. */
let known;
recall();
let reading;
/** The word that is shown, and the place of it that was asked for. */
let shown;
/** Whether it stays when the mouse comes to others. */
let isPinned = false;
/** Until a mouse has been still. */
let rest;

// The panel

const panel = make("aside", { id: "lookup", tabIndex: -1, hidden: true });
panel.setAttribute("aria-labelledby", "lookup-word");
const heading = make("h2", { id: "lookup-word", lang: "ja" });
const close = make("button", { className: "plain close", type: "button", textContent: "Close" });
const found = make("div", { className: "found" });
panel.append(heading, close, found);
close.addEventListener("click", () => hide(true));
const ringed = make("div", { className: "ring" });
ringed.setAttribute("aria-hidden", "true");
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !panel.hidden) hide(panel.contains(document.activeElement));
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
  container.after(panel);
  // where there is a panel nothing leads to the entries behind the text
  for (const { element } of reading.places) element.removeAttribute("href");
  const first = reading.words[0];
  if (!first) return;
  container.before(make("p", { className: "hint", textContent: "Arrow keys go from word to word, Enter to the entries, Escape closes them." }));
  offer(first);
  container.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse") return;
    clearTimeout(rest);
    if (!isPinned) rest = setTimeout(at, REST_MS, event.target, false);
  });
  container.addEventListener("pointerleave", () => clearTimeout(rest));
  container.addEventListener("click", (event) => at(event.target, true));
  container.addEventListener("focusin", (event) => at(event.target, false));
  container.addEventListener("focusin", ring);
  container.addEventListener("focusout", () => ringed.replaceChildren());
  container.addEventListener("keydown", pressed);
  container.append(ringed);
  new ResizeObserver(ring).observe(container);
}

function placeOf(target) {
  const element = target?.closest?.(".g");
  return element ? reading.places[element.placeNumber] : undefined;
}

function at(target, isTouched) {
  const place = placeOf(target);
  if (!place) return;
  if (isTouched) isPinned = true;
  const word = reading.wordOf.get(place);
  // words that stand side by side share no place, so that focus says which one it is
  if (isTouched && document.activeElement !== word.place.element) focus(word);
  show(word, place);
}

function focus(word) {
  offer(word);
  const { element } = word.place;
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: "nearest" });
}

/** Makes a word the one that the tab key comes to. */
function offer(word) {
  for (const element of reading.container.querySelectorAll(".g[tabindex]")) {
    for (const name of ["tabindex", "role", "aria-label", "aria-controls"]) element.removeAttribute(name);
  }
  const { element } = word.place;
  const first = word.place.meanings.map(entryOf).find((entry) => entry && !isKnown(entry));
  const means = first?.querySelector("li")?.textContent.trim() ?? "";
  // what is seen of it is within its name, with the full stop behind a word of one place
  const [text, seen] = [textOf(word.start, word.end), element.textContent.trim()];
  const name = seen.startsWith(text) && seen.length < text.length + SEEN_MORE_MAX ? seen : text;
  element.tabIndex = 0;
  element.setAttribute("role", "button");
  element.setAttribute("aria-controls", "lookup");
  element.setAttribute("aria-label", `${name}: ${first?.dataset.reading ?? ""} ${means}`);
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
  } else if (event.key === "Enter" || event.key === " ") {
    isPinned = true;
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

/** Entries that are written or read so are known, with whichever kana, as the dictionary has it where it is asked with a list of known words. */
function isKnown(entry) {
  return !entry.classList.contains("name") && forms(entry).some((form) => known.has(form));
}

function forms(entry) {
  const others = [...entry.querySelectorAll(".others span")].map((other) => other.textContent);
  const readings = entry.dataset.readings?.split(";") ?? [];
  return [entry.dataset.word, entry.dataset.reading, ...readings, ...others].map(folded);
}

function recall() {
  known = new Set([...knownWords()].map(folded));
}

function show(word, place) {
  clearTimeout(rest);
  if (shown?.word === word && shown.place === place && !panel.hidden) return;
  shown = { word, place };
  heading.textContent = textOf(word.start, word.end);
  const parts = [told(word.place)];
  if (place !== word.place) {
    const from = make("h3", { lang: "ja", textContent: textOf(place.start, place.start + place.meanings[0].length) });
    parts.push(make("section", { className: "within" }, make("p", { className: "quiet", textContent: "From here on" }), from, told(place, "h4")));
  }
  found.replaceChildren(...parts);
  panel.scrollTop = 0;
  panel.hidden = false;
  page.classList.add("looking");
  highlight(word);
}

/** All that begins at a place, each entry where it is longest, with a heading of this level if no shorter one stands before it. */
function told(place, level = "h3") {
  const words = make("div", { className: "words" });
  const names = make("div", { className: "names" });
  const left = make("p", { className: "quiet left" });
  const seen = new Set();
  let length = place.meanings[0].length;
  for (const meaning of place.meanings) {
    if (meaning.length !== length) {
      length = meaning.length;
      level = "h4";
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
      names.append(copy(entry, "h4"));
    } else if (isKnown(entry)) {
      left.append(forgetting(entry), " ");
    } else {
      words.append(word(entry, meaning, level));
    }
  }
  // a heading whose words are all known
  for (const title of words.querySelectorAll(":scope > h3")) {
    if (!title.nextElementSibling || title.nextElementSibling.matches("h3")) title.remove();
  }
  if (left.firstChild) {
    left.prepend("You know ");
    words.append(left);
  }
  if (names.firstChild) words.append(make("h3", { textContent: "Names" }), names);
  return words;
}

function copy(entry, level) {
  const shown = entry.cloneNode(true);
  shown.removeAttribute("id");
  const title = shown.querySelector(".headword");
  title.replaceWith(make(level, { className: title.className, lang: title.lang }, ...title.childNodes));
  return shown;
}

function word(entry, meaning, level) {
  const shown = copy(entry, level);
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
  knows.setAttribute("aria-label", `I know this word: ${entry.dataset.word}`);
  knows.addEventListener("click", () => keep((words) => words.add(entry.dataset.word)));
  shown.append(knows);
  return shown;
}

function forgetting(entry) {
  const button = make("button", { className: "plain", type: "button", textContent: "show again" });
  button.setAttribute("aria-label", `show again: ${entry.dataset.word}`);
  button.addEventListener("click", () => {
    const shown = new Set(forms(entry));
    keep((words) => [...words].filter((word) => shown.has(folded(word))).forEach((word) => words.delete(word)));
  });
  return make("span", {}, make("span", { lang: "ja", textContent: entry.dataset.word }), " ", button);
}

/** Changes the list as it is by now, since another page may have changed it. */
function keep(change) {
  const words = knownWords();
  change(words);
  keepKnown(words);
  recall();
  const { word: current, place } = shown;
  shown = undefined;
  show(current, place);
  panel.focus();
}

function hide(goBack) {
  // focus shows a word, so that it comes first
  if (goBack && shown) shown.word.place.element.focus({ preventScroll: true });
  clearTimeout(rest);
  isPinned = false;
  panel.hidden = true;
  page.classList.remove("looking");
  globalThis.CSS?.highlights?.delete("word");
  shown = undefined;
}

/** A word may end within a place, so that a range is marked and no element. */
function highlight(word) {
  if (globalThis.Highlight && CSS.highlights) CSS.highlights.set("word", new Highlight(rangeOf(word)));
}

/** What has the focus goes from its place to the next one, but its ring is round the word: a box on each of its lines. */
function ring() {
  const word = reading.wordOf.get(placeOf(document.activeElement));
  if (!word) return;
  const origin = ringed.getBoundingClientRect();
  const lines = [];
  for (const box of rangeOf(word).getClientRects()) {
    const line = lines.at(-1);
    if (line && Math.abs(line.top - box.top) < box.height / 2) line.right = box.right;
    else lines.push({ top: box.top, left: box.left, right: box.right, height: box.height });
  }
  ringed.replaceChildren(...lines.map(({ top, left, right, height }) => {
    const line = make("span", {});
    const place = { top: top - origin.top, left: left - origin.left, width: right - left, height };
    for (const [side, length] of Object.entries(place)) line.style[side] = `${length}px`;
    return line;
  }));
}

function rangeOf(word) {
  const [first, last] = [reading.chars[word.start], reading.chars[word.end - 1]];
  const range = new Range();
  range.setStart(first.node, first.offset);
  range.setEnd(last.node, last.offset + last.char.length);
  return range;
}

// A text of one's own

const own = document.getElementById("own");
own?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const [problem, state] = [document.getElementById("problem"), document.getElementById("state")];
  const container = document.getElementById("own-reading");
  const button = own.querySelector("button");
  // a button that is disabled would lose the focus
  if (button.ariaDisabled === "true") return;
  button.ariaDisabled = "true";
  problem.hidden = true;
  state.textContent = "The text is being read.";
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
    const count = reading.words.length;
    state.textContent = { 0: "No word was found.", 1: "1 word was found." }[count] ?? `${count} words were found.`;
    if (count > 0) focus(reading.words[0]);
  } catch (error) {
    state.textContent = "";
    problem.textContent = error.message;
    problem.hidden = false;
  } finally {
    button.ariaDisabled = null;
  }
});

const container = document.querySelector(".reading");
if (container?.querySelector(".text")) begin(container);
