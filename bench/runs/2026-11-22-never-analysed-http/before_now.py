"""Asks two builds of the server in turns for what the root of never analysed tables is read by: `before_now.py BEFORE NOW HOST:PORT DATABASE`.
Medians of the turns' ratios, now to before, and of the times; the rows that the plans handled.
"""
import http.client, json, os, socket, statistics, subprocess, sys, time

from over_http import PLAN, ask, rows_of

PATHS = [("bigraw", path) for path in (
    "/track?select=track_id,name,genre!inner(name)&genre.genre_id=eq.3&limit=50",
    "/track?select=track_id,name,genre!inner(name)&genre.genre_id=eq.99&limit=50",
    "/track?select=track_id,name,genre!inner(name)&genre.name=eq.genre%203&limit=50",
    "/track?select=track_id,name,album(title)&genre_id=eq.3&limit=50",
    "/track?select=track_id,name,genre(name)&album_id=eq.77&limit=50",
    "/track?select=track_id,name,genre(name)&track_id=lte.40&limit=50",
    "/track?select=track_id,name,genre(name)&track_id=gt.0&limit=50",
    "/track?select=track_id,name,genre(name)&track_id=gt.0&limit=1000",
    "/album?select=album_id,title,track(name)&artist_id=eq.7&limit=50",
    "/album?select=album_id,title,artist(name)&order=album_id",
    "/track?select=track_id,name&order=track_id",
)] + [("shuffled", path) for path in (
    "/track?select=track_id,name&genre_id=eq.3&limit=50",
    "/track?select=track_id,name&genre_id=eq.3&limit=1000",
    "/track?select=track_id,name&track_id=lte.900&limit=1000",
    "/track?select=track_id,name&track_id=gt.0&limit=1000",
    "/album?select=album_id,title&order=album_id",
    "/track?select=track_id,name&order=track_id",
)]


def start(binary, address, database):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = dict(
        os.environ, PGRST_DB_URI=f"postgresql://gate:bench@{address}/{database}?sslmode=disable", PGRST_DB_SCHEMAS="bigraw,shuffled",
        PGRST_DB_ANON_ROLE="listener", PGRST_SERVER_HOST="127.0.0.1", PGRST_SERVER_PORT=str(port), PGRST_DB_POOL="1",
        PGRST_DB_PLAN_ENABLED="true", PGRST_LOG_LEVEL="error")
    program = subprocess.Popen([binary, "serve"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return program, http.client.HTTPConnection("127.0.0.1", port)


def main(before, now, address, database):
    both = [start(binary, address, database) for binary in (before, now)]
    try:
        time.sleep(4)
        found = []
        for schema, path in PATHS:
            slow = 0
            for _ in range(8):
                slow = max(ask(connection, path, schema)[0] for _, connection in both)
            times, ratios = ([], []), []
            for turn in range(60 if slow < 20 else 30):
                for side in (0, 1) if turn % 2 else (1, 0):
                    times[side].append(ask(both[side][1], path, schema)[0])
                ratios.append(times[1][-1] / times[0][-1])
            rows = [rows_of(json.loads(ask(connection, path, schema, PLAN)[1])[0]["Plan"]) for _, connection in both]
            medians = [round(statistics.median(one), 3) for one in times]
            found.append({"schema": schema, "path": path, "before_ms": medians[0], "now_ms": medians[1],
                          "ratio": round(statistics.median(ratios), 2), "before_rows": rows[0], "now_rows": rows[1], "load": round(os.getloadavg()[0], 1)})
            print("| `{path}` ({schema}) | {before_ms} → {now_ms} | {ratio} | {before_rows:.0f} → {now_rows:.0f} |".format(**found[-1]), file=sys.stderr)
        json.dump(found, sys.stdout, indent=1)
    finally:
        for program, _ in both:
            program.terminate()
            program.wait()


main(*sys.argv[1:])
