// Height over time, and below it how fast that changes, as a picture that a point moves along.
import { number } from "map";

const HEIGHT = 260, LEFT = 64, RIGHT = 12, TOP = 12, BOTTOM = 24, CLIMB_HEIGHT = 60, GAP = 20;
const MINUTES = [5, 10, 15, 30, 60, 120, 240, 480];

/** Draws into the element, and says by `choose` which fix somebody points at. Returns what shows a fix. */
export function drawBarogram(element, track, words, choose) {
  const slider = addSlider(element, track, words, choose);
  let picture = null, shown = 0;
  const show = (at, time) => {
    shown = at;
    slider.value = at;
    slider.setAttribute("aria-valuetext", time);
    picture?.show(at);
  };
  new ResizeObserver(() => {
    picture?.svg.remove();
    picture = drawPicture(track, words, element.clientWidth);
    element.append(picture.svg);
    picture.show(shown);
  }).observe(element);
  listen(element, () => picture, choose);
  return show;
}

/** A slider that is not seen: the keyboard and screen readers have it, the pointer has the picture. */
function addSlider(element, track, words, choose) {
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: 0, max: track.seconds.length - 1, step: 1, value: 0 });
  slider.setAttribute("aria-label", words.barogram);
  slider.addEventListener("input", () => choose(Number(slider.value)));
  element.append(slider);
  return slider;
}

function listen(element, pictureNow, choose) {
  const point = (event) => choose(pictureNow().fixAt(event.clientX - element.getBoundingClientRect().left));
  element.addEventListener("pointerdown", point);
  element.addEventListener("pointermove", point);
}

function drawPicture(track, words, width) {
  const { seconds, altitudes_m: altitudes, climbs_dms: climbs } = track;
  const duration = Math.max(1, seconds.at(-1));
  const heights = ticks(Math.min(...altitudes), Math.max(...altitudes), 6);
  const strongest = 10 * Math.ceil(Math.max(20, ...climbs.map(Math.abs)) / 10);
  const zero = HEIGHT - BOTTOM - CLIMB_HEIGHT / 2;
  const x = (second) => LEFT + (width - LEFT - RIGHT) * second / duration;
  const y = scale(heights[0], heights.at(-1), HEIGHT - BOTTOM - CLIMB_HEIGHT - GAP, TOP);
  const climbY = scale(0, strongest, zero, zero - CLIMB_HEIGHT / 2);

  const svg = node("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" });
  for (const height of heights) addLine(svg, LEFT, width - RIGHT, y(height), `${number(height)} m`);
  addTimes(svg, track, x, width);
  const area = (values, of) => line(seconds, values, x, of) + `L${x(duration)} ${of(heights[0])}L${x(0)} ${of(heights[0])}Z`;
  svg.append(node("path", { class: "height-area", d: area(altitudes, y) }), node("path", { class: "height", d: line(seconds, altitudes, x, y) }));
  for (const [name, sign] of [["up", 1], ["down", -1]]) {
    const values = climbs.map((climb) => sign * Math.max(0, sign * climb));
    svg.append(node("path", { class: name, d: `M${x(0)} ${zero}` + line(seconds, values, x, climbY).replace("M", "L") + `L${x(duration)} ${zero}Z` }));
  }
  for (const climb of [-strongest, 0, strongest]) {
    addLine(svg, LEFT, width - RIGHT, climbY(climb), `${number(climb / 10, { signDisplay: "exceptZero" })} m/s`);
  }

  const cursor = node("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM });
  const dot = node("circle", { class: "dot", r: 5 });
  svg.append(cursor, dot);
  return {
    svg,
    show(at) {
      set(cursor, { x1: x(seconds[at]), x2: x(seconds[at]) });
      set(dot, { cx: x(seconds[at]), cy: y(altitudes[at]) });
    },
    fixAt: (place) => nearest(seconds, (place - LEFT) / (width - LEFT - RIGHT) * duration),
  };
}

function addTimes(svg, track, x, width) {
  const duration = track.seconds.at(-1), start = Date.parse(track.start) / 1000;
  const room = Math.max(2, Math.floor((width - LEFT) / 70));
  const step = 60 * (MINUTES.find((minutes) => duration / 60 / minutes <= room) ?? 720);
  for (let time = Math.ceil(start / step) * step; time <= start + duration; time += step) {
    const place = x(time - start);
    svg.append(node("line", { class: "grid", x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM }));
    svg.append(node("text", { x: place, y: HEIGHT - 7, class: "time" }, new Date(time * 1000).toISOString().slice(11, 16)));
  }
}

function addLine(svg, from, to, y, label) {
  svg.append(node("line", { class: "grid", x1: from, x2: to, y1: y, y2: y }), node("text", { x: from - 6, y: y + 4, class: "label" }, label));
}

const scale = (from, to, start, end) => (value) => start + (end - start) * (value - from) / (to - from);

const line = (seconds, values, x, y) => "M" + seconds.map((second, at) => `${x(second).toFixed(1)} ${y(values[at]).toFixed(1)}`).join("L");

/** Round values from below the lowest to above the highest. */
function ticks(lowest, highest, about) {
  const rough = Math.max(1, highest - lowest) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.floor(lowest / step), last = Math.max(first + 1, Math.ceil(highest / step));
  return Array.from({ length: last - first + 1 }, (_, at) => (first + at) * step);
}

/** The place of the value that is nearest to one, of values that grow. */
function nearest(values, wanted) {
  const next = values.findIndex((value) => value >= wanted);
  if (next <= 0) return next < 0 ? values.length - 1 : 0;
  return wanted - values[next - 1] < values[next] - wanted ? next - 1 : next;
}

function node(name, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(element, attributes);
  element.textContent = text;
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}
