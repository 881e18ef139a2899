"""Asks the server for shapes of embeds over analysed tables and ones that never were: `over_http.py THALWEG HOST:PORT DATABASE`. Medians of
the turns' ratios, never analysed to analysed, of 60 requests each."""
import http.client, os, socket, statistics, subprocess, sys, time

PATHS = (
    "/album?select=album_id,track(name)&track.genre_id=eq.3&limit=20",
    "/album?select=album_id,track(name,genre!inner(name))&track.genre.genre_id=eq.3&limit=20",
    "/artist?select=artist_id,name,album!inner(title)&album.album_id=lte.50",
    "/artist?select=artist_id,name,album!inner(title,track!inner(name))&album.track.track_id=lte.1500",
    "/track?select=track_id,name,playlist(name)&limit=50",
    "/album?select=title,track(name,playlist(name))&limit=20",
)
binary, address, database = sys.argv[1:4]
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
environment = dict(os.environ, PGRST_DB_URI=f"postgresql://gate:bench@{address}/{database}?sslmode=disable", PGRST_DB_SCHEMAS="big,bigraw",
                   PGRST_DB_ANON_ROLE="listener", PGRST_SERVER_HOST="127.0.0.1", PGRST_SERVER_PORT=str(port), PGRST_DB_POOL="1")
program = subprocess.Popen([binary, "serve"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    # the first load of the schema may have to wait for PostgreSQL
    time.sleep(4)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for path in PATHS:
        ratios, took, bodies = [], {}, {}
        for turn in range(68):
            for schema in ("big", "bigraw") if turn % 2 else ("bigraw", "big"):
                began = time.perf_counter()
                connection.request("GET", path, headers={"Accept-Profile": schema})
                response = connection.getresponse()
                bodies[schema] = response.read()
                took[schema] = (time.perf_counter() - began) * 1e3
                assert response.status == 200, bodies
            assert len(bodies["big"]) == len(bodies["bigraw"])
            ratios += [took["bigraw"] / took["big"]] if turn >= 8 else []
        print(path, round(statistics.median(ratios), 2), flush=True)
finally:
    program.terminate()
    program.wait()
