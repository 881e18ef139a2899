"""Compares what embeds cost over tables that were analysed and over the same ones that never were.

    compare.py capture THALWEG HOST:PORT DATABASE SCHEMA... > statements.json
    compare.py measure HOST:PORT DATABASE statements.json [PAIR...] > raw.json
    compare.py plans   HOST:PORT DATABASE statements.json SHAPE...

`capture` starts the server (role `gate`, anonymous role `listener`) behind a socket that writes down what it sends to
PostgreSQL, and asks each shape three times in each schema: the third is what a connection sends that knows the
statements. `measure` sends just these bytes in one session, a schema after the other, and takes the time until
ReadyForQuery. A PAIR is `music:raw`: the second is compared to the first. Python 3 and nothing else.
"""

import json
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
import urllib.request

SHAPES = {
    "to-one, 50 of all": "/album?select=album_id,title,artist(name)&limit=50",
    "to-one, all": "/album?select=album_id,title,artist(name)&order=album_id",
    "to-one twice and nested, 100": "/track?select=track_id,name,album(title,artist(name)),genre(name)&limit=100",
    "to-one twice and nested, by key": "/track?select=track_id,name,album(title,artist(name)),genre(name)&track_id=eq.77",
    "to-many, 20": "/album?select=album_id,title,track(track_id,name)&limit=20",
    "to-many, by key": "/album?select=album_id,title,track(track_id,name,genre(name))&album_id=eq.5",
    "to-many with to-one, 20": "/album?select=album_id,title,track(track_id,name,genre(name))&limit=20",
    "three levels, 20": "/artist?select=artist_id,name,album(title,track(track_id,name))&limit=20",
    "three levels with to-one, 20": "/artist?select=artist_id,name,album(title,track(track_id,name,genre(name)))&limit=20",
    "three levels, 1 %": "/artist?select=artist_id,name,album(title,track(track_id,name))&artist_id=lte.{1}",
    "three levels, 30 %": "/artist?select=artist_id,name,album(title,track(track_id,name))&artist_id=lte.{30}",
    "three levels, 73 %": "/artist?select=artist_id,name,album(title,track(track_id,name))&artist_id=lt.{73}",
    "three levels, filter that all satisfy": "/artist?select=artist_id,name,album(title,track(track_id,name))&artist_id=gt.0",
    "to-many with to-one, 30 %": "/album?select=album_id,title,track(track_id,name,genre(name))&album_id=lte.{a30}",
    "all of everything": "/album?select=album_id,title,track(track_id,name,genre(name))",
    "all, three levels": "/artist?select=artist_id,name,album(title,track(track_id,name))",
    "inner, filter below": "/artist?select=artist_id,name,album!inner(title)&album.album_id=lte.{1}",
    "inner twice, filter two below": "/artist?select=artist_id,name,album!inner(title,track!inner(name))&album.track.track_id=lte.{30}",
    "inner to-one with filter, 50": "/track?select=track_id,name,genre!inner(name)&genre.genre_id=eq.3&limit=50",
    "inner to-one within to-many, 20": "/album?select=album_id,track(name,genre!inner(name))&track.genre.genre_id=eq.3&limit=20",
    "filter below by another index, 20": "/album?select=album_id,track(name)&track.genre_id=eq.3&limit=20",
    "inner to-one by name within to-many, 20": "/album?select=album_id,track(name,genre!inner(name))&track.genre.name=like.*r*&limit=20",
    "limit and order below, 20": "/album?select=album_id,title,track(track_id,name)&track.order=name.desc&track.limit=3&limit=20",
    "limit and order below with to-one, 20": "/album?select=album_id,title,track(track_id,name,genre(name))&track.order=name.desc&track.limit=3&limit=20",
    "order below, 30 %": "/album?select=album_id,title,track(track_id,name)&track.order=name.desc&album_id=lte.{a30}",
    "many-to-many, 5": "/playlist?select=playlist_id,name,track(track_id,name)&limit=5",
    "many-to-many with to-one, 5": "/playlist?select=playlist_id,name,track(track_id,name,genre(name))&limit=5",
    "many-to-many back, 50": "/track?select=track_id,name,playlist(name)&limit=50",
    "many-to-many, within to-many, 20": "/album?select=title,track(name,playlist(name))&limit=20",
    "to-one spread, 50": "/album?select=album_id,title,...artist(artist:name)&limit=50",
    "to-many spread, 20": "/album?select=album_id,title,...track(names:name)&limit=20",
    "to-many with spread to-one, 20": "/album?select=album_id,title,track(track_id,name,...genre(genre:name))&limit=20",
    "order by related, 20": "/album?select=album_id,title,artist(name)&order=artist(name)&limit=20",
    "order by related below, 20": "/album?select=album_id,track(name,genre(name))&track.order=genre(name)&limit=20",
    "count of embed, 50": "/artist?select=artist_id,album(count())&limit=50",
    "count of embed, all": "/artist?select=artist_id,album(count())",
    "embed must be empty": "/artist?select=artist_id,name,album()&album=is.null&limit=50",
    "to-many, order and limit at the root": "/album?select=album_id,title,track(track_id,name,genre(name))&order=title&limit=20",
    "to-many and to-one of one, 20": "/album?select=title,artist(name),track(name,genre(name))&limit=20",
    "two to-one within to-many, 20": "/album?select=title,track(name,genre(name),album(artist(name)))&limit=20",
}
ARTISTS = {"music": 275, "raw": 275}
ALBUMS = {"music": 347, "raw": 347}
# Of short statements several are run before it is the other's turn.
BATCH_SECONDS = 0.004
# What sessions are started with, such as `-c jit=off`: both, unless the second is given something else.
OPTIONS = os.environ.get("OPTIONS", "")
OTHER_OPTIONS = os.environ.get("OTHER_OPTIONS", OPTIONS)


def path_of(shape, schema):
    artists, albums = ARTISTS.get(schema, 5000), ALBUMS.get(schema, 50000)
    numbers = {"1": max(artists // 100, 1), "30": artists * 3 // 10, "73": artists * 73 // 100, "a30": albums * 3 // 10}
    return re.sub(r"\{(\w+)\}", lambda found: str(numbers[found[1]]), SHAPES[shape])


def messages(data):
    """Cuts the bytes of a frontend into its messages."""
    at = 0
    while at < len(data):
        size = struct.unpack_from("!i", data, at + 1)[0]
        yield data[at : at + 1], data[at + 5 : at + 1 + size], data[at : at + 1 + size]
        at += 1 + size


def reading(said, texts, schema):
    """What runs the statements that read from the schema, without what is said to the session around them."""
    kept, names, follows = b"", [], False
    for kind, body, message in messages(said):
        if kind == b"B":
            name = body.split(b"\0")[1].decode()
            assert name in texts, name
            follows = f'"{schema}".' in texts[name]
            names += [name] if follows else []
        if follows and kind in b"BE":
            kept += message
    assert kept
    return kept + b"S\0\0\0\4", names


class Tap(threading.Thread):
    """Passes bytes between the server and PostgreSQL, and keeps what the server says."""

    def __init__(self, host, port):
        super().__init__(daemon=True)
        self.to, self.said, self.lock = (host, port), {}, threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def run(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(self.to)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.said[client] = bytearray()
            threading.Thread(target=self.copy, args=(client, server, client), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, None), daemon=True).start()

    def copy(self, of, to, key):
        try:
            while data := of.recv(1 << 16):
                if key is not None:
                    with self.lock:
                        self.said[key] += data
                to.sendall(data)
        except OSError:
            pass
        to.close()

    def marks(self):
        with self.lock:
            return {key: len(said) for key, said in self.said.items()}

    def since(self, marks):
        with self.lock:
            return [bytes(said[marks.get(key, 0) :]) for key, said in self.said.items() if len(said) > marks.get(key, 0)]

    def parsed(self):
        """Every statement that any connection was told to prepare, by name."""
        texts = {}
        for said in list(self.said.values()):
            start = struct.unpack_from("!i", said, 0)[0]
            for kind, body, _ in messages(bytes(said[start:])):
                if kind == b"P":
                    name, text = body.split(b"\0")[:2]
                    texts[name.decode()] = text.decode()
        return texts


def capture(binary, address, database, schemas):
    host, port = address.split(":")
    tap = Tap(host, int(port))
    tap.start()
    free = socket.create_server(("127.0.0.1", 0))
    listen = free.getsockname()[1]
    free.close()
    environment = dict(os.environ, PGRST_DB_URI=f"postgresql://gate:bench@127.0.0.1:{tap.port}/{database}?sslmode=disable",
                       PGRST_DB_SCHEMAS=",".join(schemas), PGRST_DB_ANON_ROLE="listener", PGRST_SERVER_HOST="127.0.0.1",
                       PGRST_SERVER_PORT=str(listen), PGRST_DB_AGGREGATES_ENABLED="true", PGRST_DB_POOL="1",
                       PGRST_LOG_LEVEL="error")
    program = subprocess.Popen([binary, "serve"], env=environment, stdout=sys.stderr)
    try:
        until = time.time() + 20
        while time.time() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{listen}/genre?limit=1", timeout=5).read()
                break
            except OSError:
                time.sleep(0.1)
        shapes = {}
        for shape in SHAPES:
            for schema in schemas:
                wanted = urllib.request.Request(f"http://127.0.0.1:{listen}" + path_of(shape, schema), headers={"Accept-Profile": schema})
                for _ in range(3):
                    marks = tap.marks()
                    try:
                        answer = urllib.request.urlopen(wanted, timeout=60).read()
                    except urllib.error.HTTPError as error:
                        sys.exit(f"{shape}: {error.read()}")
                    time.sleep(0.02)
                said = b"".join(tap.since(marks))
                texts = tap.parsed()
                said, names = reading(said, texts, schema)
                shapes.setdefault(shape, {})[schema] = {
                    "path": path_of(shape, schema), "bytes": len(answer), "sent": said.hex(),
                    "texts": {name: texts[name] for name in names}}
        json.dump(shapes, sys.stdout, indent=1)
    finally:
        program.terminate()
        program.wait()


class Session:
    def __init__(self, address, database, options):
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = b"\0\3\0\0user\0postgres\0database\0" + database.encode() + b"\0"
        if options:
            start += b"options\0" + options.encode() + b"\0"
        start += b"\0"
        self.run(struct.pack("!i", len(start) + 4) + start)
        self.prepared = set()

    def run(self, said):
        """Sends, and receives all until the server is ready."""
        self.socket.sendall(said)
        end, total = b"", 0
        while not end.endswith(b"Z\0\0\0\5I"):
            data = self.socket.recv(1 << 20)
            assert data, "the server closed the connection"
            if total == 0 and data[:1] == b"E":
                raise RuntimeError(data)
            end = (end + data)[-6:]
            total += len(data)
        return total

    def prepare(self, texts):
        for name, text in texts.items():
            if name and name not in self.prepared:
                body = name.encode() + b"\0" + text.encode() + b"\0\0\0"
                self.run(b"P" + struct.pack("!i", len(body) + 4) + body + b"S\0\0\0\4")
                self.prepared.add(name)

    def query(self, text):
        body = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        data = b""
        while not data.endswith(b"Z\0\0\0\5I"):
            data += self.socket.recv(1 << 20)
        rows = []
        for kind, body, _ in messages(data):
            if kind == b"D":
                rows.append(body[6:].decode())
            if kind == b"E":
                rows.append(body.decode(errors="replace"))
        return rows


def measure(address, database, path, pairs):
    statements = json.load(open(path))
    # two sessions are two processes, which a busy machine treats differently: only where options must differ
    one = Session(address, database, OPTIONS)
    sessions = [one, one if OTHER_OPTIONS == OPTIONS else Session(address, database, OTHER_OPTIONS)]
    pairs = [pair.split(":") for pair in pairs]
    raw = []
    for shape, of in statements.items():
        if not re.search(os.environ.get("SHAPES", ""), shape) or re.search(os.environ.get("NOT_SHAPES", "^$"), shape):
            continue
        for base, other in pairs:
            if base not in of or other not in of:
                continue
            both = [of[base], of[other]]
            said = [bytes.fromhex(one["sent"]) for one in both]
            for session, one in zip(sessions, both):
                session.prepare(one["texts"])
            took = []
            for session, one in zip(sessions, said):
                # more than five, after which PostgreSQL may keep a plan for all values
                for _ in range(8):
                    start = time.perf_counter()
                    size = session.run(one)
                    took.append(time.perf_counter() - start)
            repeat = max(1, min(20, int(BATCH_SECONDS / max(statistics.median(took), 1e-6))))
            rounds = int(os.environ.get("ROUNDS", "30"))
            times, turns = [[], []], []
            for turn in range(rounds):
                before = [sum(one) for one in times]
                for which in (0, 1) if turn % 2 else (1, 0):
                    for _ in range(repeat):
                        start = time.perf_counter()
                        sessions[which].run(said[which])
                        times[which].append((time.perf_counter() - start) * 1e3)
                turns.append((sum(times[1]) - before[1]) / (sum(times[0]) - before[0]))
            median = [statistics.median(one) for one in times]
            quartile = [statistics.quantiles(one, n=4)[0] for one in times]
            raw.append({"shape": shape, "base": base, "other": other, "runs": len(times[0]),
                        "median_ms": [round(one, 4) for one in median], "first_quartile_ms": [round(one, 4) for one in quartile],
                        "ratio": round(median[1] / median[0], 3), "median_of_turns": round(statistics.median(turns), 3), "ratio_of_quartiles": round(quartile[1] / quartile[0], 3)})
            print(f"| {shape} | {base} {median[0]:.3f} | {other} {median[1]:.3f} | {median[1] / median[0]:.2f} | {quartile[1] / quartile[0]:.2f} |", file=sys.stderr)
    json.dump(raw, sys.stdout, indent=1)


def plans(address, database, path, wanted):
    session = Session(address, database, OPTIONS)
    session.query("set plan_cache_mode = force_generic_plan")
    for shape, of in json.load(open(path)).items():
        if not any(re.search(one, shape) for one in wanted):
            continue
        for schema, statement in of.items():
            binds = [body for kind, body, _ in messages(bytes.fromhex(statement["sent"])) if kind == b"B"]
            for at, (name, text) in enumerate(statement["texts"].items()):
                print(f"== {shape}, {schema}: {statement['path']}\n{text}")
                bind = next(bind for bind in binds if bind.split(b"\0")[1].decode() == name)
                values = parameters(bind)
                session.query(f"prepare p{at} as {text}")
                call = f"execute p{at}" + (f"({', '.join(values)})" if values else "")
                print("\n".join(session.query(f"explain (analyze, timing off) {call}")))
                session.query("deallocate all")


def parameters(bind):
    """The parameters of a Bind message, as literals."""
    at = bind.index(b"\0", bind.index(b"\0") + 1) + 1
    formats = struct.unpack_from("!h", bind, at)[0]
    at += 2 + 2 * formats
    count = struct.unpack_from("!h", bind, at)[0]
    at += 2
    values = []
    for _ in range(count):
        size = struct.unpack_from("!i", bind, at)[0]
        at += 4
        values.append("'" + bind[at : at + size].decode().replace("'", "''") + "'")
        at += size
    return values


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "capture":
        capture(*rest[:3], rest[3:])
    elif what == "measure":
        measure(*rest[:3], rest[3:])
    else:
        plans(*rest[:3], rest[3:])
