// A map whose background is the world's countries, or the tiles that the site names.
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const coarse = matchMedia("(pointer: coarse)").matches;
const GRID_DEGREES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

/** What a template says in `data-words`, with `{name}` where a value goes. */
export const wordsOf = (element) => JSON.parse(element.dataset.words);
export const fill = (words, values) => words.replace(/\{(\w+)\}/g, (_, name) => values[name]);

export const number = (value, options) => new Intl.NumberFormat(document.documentElement.lang, options).format(value);

/** As many degrees, less than half round the world from others: what crosses the 180th meridian goes on beyond it. */
export const beside = (others, degrees) => degrees + 360 * Math.round((others - degrees) / 360);

/** Places along a line, beside its first or beside another longitude. */
export const pairs = (latitudes, longitudes, others = longitudes[0]) =>
  latitudes.map((latitude, at) => [latitude, beside(others, longitudes[at])]);

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
    zoomSnap: 0.5, minZoom: 1, maxZoom: 17,
    renderer: L.svg({ padding: 0.5 }),
  });
  element.addEventListener("focusin", () => map.scrollWheelZoom.enable());
  element.addEventListener("focusout", () => map.scrollWheelZoom.disable());
  map.attributionControl.setPrefix(false);
  L.control.zoom({ zoomInTitle: words.zoomIn, zoomOutTitle: words.zoomOut }).addTo(map);
  L.control.scale({ imperial: false }).addTo(map);
  addBackground(map, element).catch(console.error);
  return map;
}

/** Shows what the bounds hold, on paper too, where the map is of another size. */
export function showAll(map, bounds) {
  const element = map.getContainer();
  const maxZoom = element.dataset.tiles ? 13 : 11;
  const fit = () => map.invalidateSize({ animate: false }).fitBounds(bounds, { padding: [40, 40], maxZoom, animate: false });
  for (const event of ["beforeprint", "afterprint"]) {
    addEventListener(event, () => { element.classList.toggle("printed", event === "beforeprint"); fit(); });
  }
  fit();
}

/** A place that can be pointed at and reached by keyboard, with a list of links. */
export function addPlace(map, place, heading, links) {
  const icon = L.divIcon({ className: "place", iconSize: [24, 24] });
  const marker = L.marker(place, { icon, title: heading });
  const list = document.createElement("div");
  list.append(make("strong", heading), make("ul", ...links.map(([text, address]) => make("li", Object.assign(make("a", text), { href: address })))));
  marker.bindPopup(list, { closeButton: false, maxHeight: 160 });
  list.addEventListener("keydown", ({ key }) => key === "Escape" && marker.closePopup());
  marker.on("popupopen", () => list.querySelector("a")?.focus({ preventScroll: true }));
  marker.on("popupclose", () => list.contains(document.activeElement) && marker.getElement().focus({ preventScroll: true }));
  return marker.addTo(map);
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
  const countries = topojson.feature(topology, topology.objects.countries);
  countries.features.forEach(({ geometry }) => unroll(geometry));
  L.geoJSON(countries, {
    pane, renderer: L.svg({ pane, padding: 0.5 }), interactive: false, style: { className: "land", stroke: true, weight: 1 },
  }).addTo(map);
  map.attributionControl.addAttribution("Natural Earth");
  const grid = L.layerGroup().addTo(map);
  const draw = () => drawGrid(map, grid.clearLayers());
  map.on("moveend", draw);
  draw();
}

/** Lets what crosses the 180th meridian go on beyond it, instead of all round the world, and Antarctica reach the pole. */
function unroll({ type, coordinates }) {
  for (const ring of type === "Polygon" ? coordinates : coordinates.flat()) {
    ring.forEach((position, at) => {
      const isPole = position[1] < -89;
      if (at > 0 && !isPole) position[0] = beside(ring[at - 1][0], position[0]);
    });
    const [first, last] = [ring[0][0], ring.at(-1)[0]];
    if (Math.abs(last - first) > 180) ring.push([last, -85], [first, -85]);
  }
}

/** Meridians and parallels, since countries alone say little of where a valley is. */
function drawGrid(map, grid) {
  const view = map.getBounds();
  const [south, west, north, east] = [view.getSouth(), view.getWest(), view.getNorth(), view.getEast()];
  const step = GRID_DEGREES.find((degrees) => (east - west) / degrees <= 8) ?? 30;
  const line = (from, to, edge, degrees) => {
    L.polyline([from, to], { pane: "background", className: "meridian", interactive: false }).addTo(grid);
    const icon = L.divIcon({ className: edge, html: `<span>${number(degrees)}°</span>`, iconSize: [0, 0] });
    L.marker(from, { pane: "background", icon, zIndexOffset: 1000, interactive: false, keyboard: false }).addTo(grid);
  };
  // the highest would have its degrees among those of the meridians
  const highest = north - 0.05 * (north - south);
  for (const latitude of multiples(step, south, highest)) line([latitude, east], [latitude, west], "degrees of-latitude", latitude);
  for (const longitude of multiples(step, Math.max(west, -180), Math.min(east, 180))) line([north, longitude], [south, longitude], "degrees", longitude);
}

function multiples(step, from, to) {
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, at) => Number(((first + at) * step).toFixed(2)));
}
