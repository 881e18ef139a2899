"""Asks the server for all shapes of embeds over analysed tables and over the same ones that never were.

    over_http.py THALWEG HOST:PORT DATABASE music:raw|big:bigraw [SHAPE] > raw.json

A turn is a request over the analysed tables, one over the others, and another over the analysed ones, in changing order: a ratio is the
median of the turns', and that of the two requests over the same tables says what it is worth. The rows are those that all nodes of the
plan handled (EXPLAIN ANALYZE of the main statement).
"""
import http.client, json, os, re, socket, statistics, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../2026-11-22-never-analysed"))
from compare import SHAPES, path_of

PLAN = "application/vnd.pgrst.plan+json; options=analyze"


def rows_of(node):
    each = sum(node.get(name, 0) for name in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter"))
    return each * node.get("Actual Loops", 0) + sum(map(rows_of, node.get("Plans", ())))


def ask(connection, path, schema, accept="application/json"):
    began = time.perf_counter()
    connection.request("GET", path, headers={"Accept-Profile": schema, "Accept": accept})
    response = connection.getresponse()
    body = response.read()
    took = (time.perf_counter() - began) * 1e3
    assert response.status == 200, body
    return took, body


def compared(connection, shape, analysed, never):
    path = path_of(shape, analysed)
    took, bodies = {}, {}
    # a connection prepares what it has seen before, and PostgreSQL may keep a plan for all values after five times
    for _ in range(8):
        for schema in (analysed, never):
            took[schema], bodies[schema] = ask(connection, path, schema)
    turns = 60 if max(took.values()) < 20 else 30 if max(took.values()) < 300 else 10
    each, ratios, same = {"first": [], "never": [], "second": []}, [], []
    for turn in range(turns):
        sides = [("first", analysed), ("never", never), ("second", analysed)]
        for side, schema in sides[turn % 3 :] + sides[: turn % 3]:
            each[side].append(ask(connection, path, schema)[0])
        first, second = each["first"][-1], each["second"][-1]
        ratios.append(each["never"][-1] / ((first + second) / 2))
        same.append(second / first)
    rows = {schema: rows_of(json.loads(ask(connection, path, schema, PLAN)[1])[0]["Plan"]) for schema in (analysed, never)}
    # of one order or another where none is asked for
    assert len(bodies[analysed]) == len(bodies[never]) or "order" not in path, path
    return {
        "shape": shape, "path": path, "turns": turns, "ratio": round(statistics.median(ratios), 2), "same": round(statistics.median(same), 2),
        "ratio_of_medians": round(statistics.median(each["never"]) / statistics.median(each["first"] + each["second"]), 2),
        "analysed_ms": round(statistics.median(each["first"] + each["second"]), 3), "never_ms": round(statistics.median(each["never"]), 3),
        "analysed_rows": rows[analysed], "never_rows": rows[never],
    }


def main(binary, address, database, pair, wanted=""):
    analysed, never = pair.split(":")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = dict(
        os.environ, PGRST_DB_URI=f"postgresql://gate:bench@{address}/{database}?sslmode=disable", PGRST_DB_SCHEMAS=f"{analysed},{never}",
        PGRST_DB_ANON_ROLE="listener", PGRST_SERVER_HOST="127.0.0.1", PGRST_SERVER_PORT=str(port), PGRST_DB_POOL="1",
        PGRST_DB_AGGREGATES_ENABLED="true", PGRST_DB_PLAN_ENABLED="true", PGRST_LOG_LEVEL="error")
    program = subprocess.Popen([binary, "serve"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        # the first load of the schema may have to wait for PostgreSQL
        time.sleep(4)
        found = []
        for shape in filter(re.compile(wanted).search, SHAPES):
            found.append(compared(connection, shape, analysed, never) | {"load": round(os.getloadavg()[0], 1)})
            one = found[-1]
            print("| {shape} | {analysed_ms} → {never_ms} | {ratio} | {same} | {analysed_rows:.0f} → {never_rows:.0f} | {load}".format(**one), file=sys.stderr)
        json.dump(found, sys.stdout, indent=1)
    finally:
        program.terminate()
        program.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
