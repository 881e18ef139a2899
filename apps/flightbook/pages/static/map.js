// A map whose background is the world's countries, or the tiles that the site names.
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const coarse = matchMedia("(pointer: coarse)").matches;
const PRINTED_WIDTH = "17cm";
const GRID_DEGREES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

/** What a template says in `data-words`, with `{name}` where a value goes. */
export const wordsOf = (element) => JSON.parse(element.dataset.words);
export const fill = (words, values) => words.replace(/\{(\w+)\}/g, (_, name) => values[name]);

export const number = (value, options) => new Intl.NumberFormat(document.documentElement.lang, options).format(value);

export async function load(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer.json();
}

/** Says in the element's place that it cannot be shown. */
export function fail(element, error) {
  console.error(error);
  element.classList.add("failed");
  element.textContent = wordsOf(element).failed;
}

export function createMap(element) {
  const words = wordsOf(element);
  const map = L.map(element, {
    zoomControl: false,
    // one finger and the wheel belong to the page, until the map is what somebody works with
    dragging: !coarse,
    scrollWheelZoom: false,
    zoomAnimation: !calm, fadeAnimation: !calm, markerZoomAnimation: !calm, inertia: !calm,
    zoomSnap: 0.5, maxZoom: 17, maxBounds: [[-85, -210], [85, 210]],
    renderer: L.svg({ padding: 0.5 }),
  });
  map.on("focus", () => map.scrollWheelZoom.enable()).on("blur", () => map.scrollWheelZoom.disable());
  map.attributionControl.setPrefix(false);
  L.control.zoom({ zoomInTitle: words.zoomIn, zoomOutTitle: words.zoomOut }).addTo(map);
  L.control.scale({ imperial: false }).addTo(map);
  addBackground(map, element).catch(console.error);
  return map;
}

/** Shows what the bounds hold, on paper too, which is of another width than the window. */
export function showAll(map, bounds) {
  const fit = () => map.invalidateSize({ animate: false }).fitBounds(bounds, { padding: [40, 40], maxZoom: 13, animate: false });
  const element = map.getContainer();
  addEventListener("beforeprint", () => { element.style.width = PRINTED_WIDTH; fit(); });
  addEventListener("afterprint", () => { element.style.width = ""; fit(); });
  fit();
}

/** A place that can be pointed at and reached by keyboard; its pop-up is a list of links, its first word the place's name. */
export function addPlace(map, place, heading, links) {
  const icon = L.divIcon({ className: "place", iconSize: [24, 24] });
  const marker = L.marker(place, { icon, title: heading });
  const list = document.createElement("div");
  list.append(make("strong", heading), make("ul", ...links.map(([text, address]) => make("li", link(text, address)))));
  marker.bindPopup(list, { closeButton: false, maxHeight: 220 });
  marker.on("popupopen", () => list.querySelector("a")?.focus({ preventScroll: true }));
  marker.on("popupclose", () => list.contains(document.activeElement) && marker.getElement().focus({ preventScroll: true }));
  return marker.addTo(map);
}

export function link(text, address) {
  const element = make("a", text);
  element.href = address;
  return element;
}

function make(name, ...children) {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

async function addBackground(map, { dataset: { tiles, attribution, world } }) {
  map.createPane("background").style.zIndex = 200;
  if (tiles) {
    L.tileLayer(tiles, { attribution, maxZoom: 17 }).addTo(map);
    return;
  }
  const topology = await load(world);
  const pane = "background";
  L.geoJSON(topojson.feature(topology, topology.objects.countries), {
    pane, renderer: L.svg({ pane, padding: 0.5 }), interactive: false, style: { className: "land", stroke: true, weight: 1 },
  }).addTo(map);
  map.attributionControl.addAttribution("Natural Earth");
  const grid = L.layerGroup().addTo(map);
  const draw = () => drawGrid(map, grid.clearLayers());
  map.on("moveend", draw);
  draw();
}

/** Meridians and parallels, since countries alone say little of where a valley is. */
function drawGrid(map, grid) {
  const view = map.getBounds();
  const [south, west, north, east] = [view.getSouth(), view.getWest(), view.getNorth(), view.getEast()];
  const step = GRID_DEGREES.find((degrees) => (east - west) / degrees <= 8) ?? 30;
  const line = (from, to, edge, degrees) => {
    L.polyline([from, to], { pane: "background", className: "meridian", interactive: false }).addTo(grid);
    const icon = L.divIcon({ className: edge, html: `<span>${number(degrees)}°</span>`, iconSize: [0, 0] });
    L.marker(from, { pane: "background", icon, interactive: false, keyboard: false }).addTo(grid);
  };
  for (const latitude of multiples(step, south, north)) line([latitude, east], [latitude, west], "degrees of-latitude", latitude);
  for (const longitude of multiples(step, west, east)) line([north, longitude], [south, longitude], "degrees", longitude);
}

function multiples(step, from, to) {
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, at) => Number(((first + at) * step).toFixed(2)));
}
