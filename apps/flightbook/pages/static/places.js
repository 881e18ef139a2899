// Maps of places: of all flights, of a pilot's sites, and of one site.
import { addPlace, createMap, fail, fill, load, number, showAll, wordsOf } from "map";

/** Launches that are no farther apart, in degrees, are one place. */
const APART = 0.01;
const LINKS_MAX = 50;
const WHOLE_WORLD = [[-50, -140], [70, 150]];

for (const element of document.querySelectorAll("[data-map]")) {
  draw(element).catch((error) => fail(element, error));
}

async function draw(element) {
  const { flights, sites, place } = element.dataset;
  const found = flights && await load(flights);
  const map = createMap(element);
  const places = found ? drawFlights(map, found, wordsOf(element))
    : sites ? drawSites(map, document.querySelectorAll(`${sites} [data-latitude]`))
    : [drawSite(map, place.split(",").map(Number))];
  showAll(map, places.length > 0 ? L.latLngBounds(places) : WHOLE_WORLD);
}

function drawFlights(map, flights, words) {
  const launches = new Map();
  for (const flight of flights) {
    const line = flight.latitudes.map((latitude, at) => [latitude, flight.longitudes[at]]);
    if (line.length > 1) drawLine(map, line, flight);
    const place = line[0] ?? flight.launch;
    if (place) group(launches, place, flight);
  }
  for (const { place, of } of launches.values()) {
    const heading = fill(words.launches, { site: of[0].site || of[0].title, count: number(of.length) });
    addPlace(map, place, heading, of.slice(0, LINKS_MAX).map((flight) => [flight.title, flight.address]));
  }
  return flights.flatMap((flight) => flight.latitudes.length > 0
    ? flight.latitudes.map((latitude, at) => [latitude, flight.longitudes[at]])
    : flight.launch ? [flight.launch] : []);
}

function drawLine(map, line, flight) {
  L.polyline(line, { className: "flown" }).addTo(map)
    .on("mouseover", ({ target }) => target.bringToFront())
    .on("click", () => location.assign(flight.address))
    .bindTooltip(document.createTextNode(flight.title), { sticky: true });
}

function group(launches, place, flight) {
  const name = flight.site || place.map((degrees) => Math.round(degrees / APART)).join();
  if (!launches.has(name)) launches.set(name, { place, of: [] });
  launches.get(name).of.push(flight);
}

function drawSites(map, rows) {
  return Array.from(rows, (row) => {
    const place = [Number(row.dataset.latitude), Number(row.dataset.longitude)];
    const link = row.querySelector("a");
    addPlace(map, place, link.textContent, [[link.textContent, link.href]]);
    return place;
  });
}

function drawSite(map, place) {
  L.circleMarker(place, { className: "launch", radius: 7, interactive: false }).addTo(map);
  return place;
}
