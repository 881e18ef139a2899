// Maps of places: of all flights, of a pilot's sites, and of one site.
import { addPlace, createMap, fail, fill, load, number, pairs, showAll, wordsOf } from "map";

/** Launches without a site that are no farther apart, in degrees, are one place. */
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
    : drawSite(map, place.split(",").map(Number));
  showAll(map, places.length > 0 ? L.latLngBounds(places) : WHOLE_WORLD);
}

function drawFlights(map, flights, words) {
  const drawn = flights.map((flight) => ({ ...flight, line: lineOf(flight) })).filter(({ line }) => line.length > 0);
  for (const flight of drawn) drawLine(map, flight);
  for (const launched of byLaunch(drawn)) {
    const [{ line, site, title }] = launched;
    const heading = fill(words.launches, { site: site || title, count: number(launched.length) });
    addPlace(map, line[0], heading, launched.slice(0, LINKS_MAX).map((flight) => [flight.title, flight.address]));
  }
  return drawn.flatMap(({ line }) => line);
}

/** Along the track, or else where the launch site is. */
function lineOf({ latitudes, longitudes, launch }) {
  return latitudes.length > 0 ? pairs(latitudes, longitudes) : launch ? [launch] : [];
}

function drawLine(map, { line, title, address }) {
  L.polyline(line, { className: "flown" }).addTo(map)
    .on("mouseover", ({ target }) => target.bringToFront())
    .on("click", () => location.assign(address))
    .bindTooltip(document.createTextNode(title), { sticky: true });
}

function byLaunch(flights) {
  const launches = new Map();
  for (const flight of flights) {
    const name = flight.site || flight.line[0].map((degrees) => Math.round(degrees / APART)).join();
    launches.set(name, [...(launches.get(name) ?? []), flight]);
  }
  return launches.values();
}

function drawSites(map, rows) {
  return Array.from(rows, (row) => {
    const place = [Number(row.dataset.latitude), Number(row.dataset.longitude)];
    const link = row.querySelector("a");
    addPlace(map, place, link.textContent, [[link.textContent, link.href]]);
    return place;
  });
}

/** Alone, with as much round it as tells where it is. */
function drawSite(map, place) {
  L.circleMarker(place, { className: "launch", radius: 7, interactive: false }).addTo(map);
  const around = map.getContainer().dataset.tiles ? 0.02 : 2;
  return [-around, around].map((degrees) => [place[0] + degrees, place[1] + degrees]);
}
