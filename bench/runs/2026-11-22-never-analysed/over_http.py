"""Asks the server for three shapes, with `jit` as PostgreSQL has it and with `options=-c jit=off` in its connection string:
`over_http.py THALWEG HOST:PORT DATABASE`, over the schemas `big` and `bigraw`. Medians of 30 requests in ms, taking turns."""

import http.client
import os
import socket
import statistics
import subprocess
import sys
import time

PATHS = (
    "/artist?select=artist_id,name,album(title,track(track_id,name))&limit=20",
    "/artist?select=artist_id,name,album(title,track(track_id,name,genre(name)))&limit=20",
    "/album?select=title,track(name,playlist(name))&limit=20",
)


def start(binary, address, database, options):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    uri = f"postgresql://gate:bench@{address}/{database}?sslmode=disable{options}"
    environment = dict(os.environ, PGRST_DB_URI=uri, PGRST_DB_SCHEMAS="big,bigraw", PGRST_DB_ANON_ROLE="listener",
                       PGRST_SERVER_HOST="127.0.0.1", PGRST_SERVER_PORT=str(port), PGRST_DB_POOL="1")
    return port, subprocess.Popen([binary, "serve"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


started = {"jit on": start(*sys.argv[1:4], ""), "jit off": start(*sys.argv[1:4], "&options=-c%20jit%3Doff")}
try:
    # the first load of the schema may have to wait for PostgreSQL
    time.sleep(8)
    connections = {name: http.client.HTTPConnection("127.0.0.1", port) for name, (port, _) in started.items()}
    for path in PATHS:
        took = {}
        for turn in range(40):
            for schema in ("big", "bigraw"):
                for name, connection in connections.items():
                    began = time.perf_counter()
                    connection.request("GET", path, headers={"Accept-Profile": schema})
                    response = connection.getresponse()
                    body = response.read()
                    assert response.status == 200, body
                    if turn >= 10:
                        took.setdefault(f"{schema}, {name}", []).append((time.perf_counter() - began) * 1e3)
        print(path, {what: round(statistics.median(all), 2) for what, all in took.items()})
finally:
    for _, program in started.values():
        program.terminate()
        program.wait()
