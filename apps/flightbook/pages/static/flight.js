// A flight's track on the map and its barogram, which point at each other.
import { drawBarogram } from "barogram";
import { beside, createMap, fail, fill, load, number, pairs, showAll, wordsOf } from "map";

/** As far from the track, in pixels, the pointer still means it. */
const NEAR = 40;

for (const section of document.querySelectorAll("[data-track]")) {
  load(section.dataset.track)
    .then((track) => show(section, track))
    .catch((error) => section.querySelectorAll("[data-words]").forEach((element) => fail(element, error)));
}

function show(section, track) {
  const [mapElement, barogram, readout] = ["[data-map]", "[data-barogram]", "output"].map((name) => section.querySelector(name));
  const words = wordsOf(mapElement);
  const choose = (at) => {
    const time = timeOf(track, at);
    pointOnMap(at);
    pointOnBarogram(at, time);
    readout.textContent = fill(words.point, { time, altitude: number(track.altitudes_m[at]), climb: climbOf(track, at) });
  };
  const pointOnMap = drawTrack(mapElement, track, words, choose);
  const pointOnBarogram = drawBarogram(barogram, track, wordsOf(barogram), choose);
  choose(0);
  fillLegend(section.querySelector(".legend"), words[track.scored_as] ?? "", timeOf(track, 0), timeOf(track, track.seconds.length - 1));
}

const timeOf = (track, at) => new Date(Date.parse(track.start) + track.seconds[at] * 1000).toISOString().slice(11, 16);

const climbOf = (track, at) =>
  number(track.climbs_dms[at] / 10, { minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay: "exceptZero" });

function drawTrack(element, track, words, choose) {
  const places = pairs(track.latitudes, track.longitudes);
  const map = createMap(element);
  showAll(map, L.latLngBounds(places));
  L.polyline(places, { className: "track-edge", interactive: false }).addTo(map);
  for (const { climbs, from, to } of stretches(track.climbs_dms)) {
    L.polyline(places.slice(from, to + 1), { className: climbs ? "track-up" : "track-down", interactive: false }).addTo(map);
  }
  drawScore(map, track, places[0][1]);
  drawSites(map, track.sites ?? [], places[0][1]);
  for (const [place, className] of [[places[0], "launch"], [places.at(-1), "landing"]]) {
    L.circleMarker(place, { className, radius: 6, interactive: false }).addTo(map);
  }
  const point = L.circleMarker(places[0], { pane: "tooltipPane", className: "dot", radius: 7, interactive: false }).addTo(map);
  map.on("mousemove click", ({ containerPoint }) => {
    const { at, distance } = nearest(map, places, containerPoint);
    if (distance <= NEAR) choose(at);
  });
  return (at) => point.setLatLng(places[at]);
}

/** Runs of fixes that climb, or do not; each ends where the next begins. */
function stretches(climbs) {
  const found = [];
  climbs.forEach((climb, at) => {
    const last = found.at(-1);
    if (last?.climbs === climb > 0) last.to = at;
    else found.push({ climbs: climb > 0, from: Math.max(0, at - 1), to: at });
  });
  return found;
}

function drawScore(map, { scored_as: kind, score_latitudes: latitudes, score_longitudes: longitudes }, others) {
  if (!kind) return;
  const [start, ...rest] = pairs(latitudes, longitudes, others);
  const turnpoints = rest.slice(0, 3), finish = rest[3];
  const isTriangle = kind !== "free_flight";
  const course = isTriangle ? [...turnpoints, turnpoints[0]] : [start, ...rest];
  L.polyline(course, { className: "score", interactive: false }).addTo(map);
  if (isTriangle) L.polyline([start, finish], { className: "score closing", interactive: false }).addTo(map);
  turnpoints.forEach((place, at) => {
    const icon = L.divIcon({ className: "turnpoint", html: String(at + 1), iconSize: [22, 22] });
    L.marker(place, { icon, interactive: false, keyboard: false }).addTo(map);
  });
}

function fillLegend(legend, score, launched, landed) {
  legend.querySelector(".start").append(` ${launched}`);
  legend.querySelector(".end").append(` ${landed}`);
  legend.querySelector(".score").textContent = score;
  legend.querySelector(".score").hidden = !score;
}

/** The pilot's sites, by which they know where they are. */
function drawSites(map, sites, others) {
  const view = map.getBounds();
  const placed = sites.map(({ name, latitude, longitude }) => ({ name, place: [latitude, beside(others, longitude)] }));
  for (const { name, place } of placed.filter(({ place }) => view.contains(place))) {
    L.circleMarker(place, { className: "site", radius: 3, interactive: false })
      .bindTooltip(document.createTextNode(name), { permanent: true, direction: "bottom", offset: [0, 2], className: "site-name" }).addTo(map);
  }
}

function nearest(map, places, pointer) {
  return places.reduce((best, place, at) => {
    const distance = map.latLngToContainerPoint(place).distanceTo(pointer);
    return distance < best.distance ? { at, distance } : best;
  }, { at: 0, distance: Infinity });
}
