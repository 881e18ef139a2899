#!/usr/bin/env python3
"""Compares servers on what a request is told and what is cleaned up behind it, in turns, on one database.

usage: compare.py NAME=PROGRAM…    each program is a thalweg, or postgrest (its name begins with postgrest)
Needs wrk and PostgreSQL's programs (PG_BIN or the path), and a user that is not root for PostgreSQL (PG_USER).
"""
import os, re, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.request

ROUNDS, SECONDS, CONNECTIONS = 5, 2, 10
PG_BIN = os.environ.get("PG_BIN", "")
PG_USER = os.environ.get("PG_USER", "postgres")
SCHEMA = """
create role authenticator login noinherit; create role anon nologin; grant anon to authenticator;
create schema api;
create table api.track (track_id int primary key, name text, composer text, milliseconds int, bytes int, price numeric);
insert into api.track select i, 'name ' || i, 'composer ' || i % 100, i * 1000, i * 77, 0.99 from generate_series(1, 3503) i;
create table api.notes (id bigserial primary key, body text);
create table api.guarded (id int primary key, owner text); insert into api.guarded select i, 'anon' from generate_series(1, 1000) i;
alter table api.guarded enable row level security; create policy own on api.guarded using (owner = current_setting('request.jwt.claims', true)::json ->> 'role');
create function api.add_them(a int, b int) returns int language sql immutable as 'select a + b';
create view api.loud as select track_id, upper(name) as name, api.add_them(track_id, 1) as next from api.track;
grant usage on schema api to anon; grant select on all tables in schema api to anon; grant insert on api.notes to anon;
grant usage on all sequences in schema api to anon; analyze;
"""
POST = 'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = \'%s\'\n'
WORKLOADS = [
    ("row by key", "/track?track_id=eq.1234", None),
    ("3,503 rows", "/track", None),
    ("insert of one row", "/notes", '{"body":"x"}'),
    ("call by POST", "/rpc/add_them", '{"a":1,"b":2}'),
    ("call by GET", "/rpc/add_them?a=1&b=2", None),
    ("view that calls a function", "/loud?track_id=eq.1234", None),
    ("row by key with a policy", "/guarded?id=eq.123", None),
]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def as_user(*command):
    return subprocess.run(["su", PG_USER, "-s", "/bin/sh", "-c", " ".join(command)], check=True, stdout=subprocess.DEVNULL)


def main():
    servers = [argument.split("=", 1) for argument in sys.argv[1:]]
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o777)
    data, port = f"{folder}/data", free_port()
    tool = lambda name: os.path.join(PG_BIN, name)
    as_user(tool("initdb"), "-D", data, "-A", "trust", "-U", "postgres")
    as_user(tool("pg_ctl"), "-D", data, "-w", "-l", f"{folder}/log", "start", "-o",
            f"\"-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories={folder} -c fsync=off -c synchronous_commit=off\"")
    running = []
    try:
        subprocess.run([tool("psql"), "-qX", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-v", "ON_ERROR_STOP=1"],
                       input=SCHEMA, text=True, check=True, stdout=subprocess.DEVNULL)
        addresses = {}
        for name, program in servers:
            http = free_port()
            environment = {**os.environ, "PGRST_DB_URI": f"postgres://authenticator@127.0.0.1:{port}/postgres?sslmode=disable",
                           "PGRST_DB_SCHEMAS": "api", "PGRST_DB_ANON_ROLE": "anon", "PGRST_SERVER_HOST": "127.0.0.1",
                           "PGRST_SERVER_PORT": str(http), "PGRST_LOG_LEVEL": "crit"}
            is_postgrest = os.path.basename(program).startswith("postgrest")
            running.append(subprocess.Popen([program] + ([] if is_postgrest else ["serve"]), env=environment,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            addresses[name] = f"http://127.0.0.1:{http}"
            for _ in range(100):
                try:
                    urllib.request.urlopen(addresses[name] + "/track?limit=1").read()
                    break
                except OSError:
                    time.sleep(0.1)
        script = f"{folder}/post.lua"
        print("| workload | " + " | ".join(name for name, _ in servers) + " | last to first |")
        print("|---" * (len(servers) + 2) + "|")
        for workload, path, body in WORKLOADS:
            rates = {name: [] for name, _ in servers}
            for _ in range(ROUNDS):
                for name, _ in servers:
                    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s"]
                    if body is not None:
                        with open(script, "w") as file:
                            file.write(POST % body)
                        command += ["-s", script]
                    said = subprocess.run(command + [addresses[name] + path], capture_output=True, text=True, check=True).stdout
                    assert "Non-2xx" not in said, said
                    rates[name].append(float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]))
            medians = [sorted(rates[name])[ROUNDS // 2] for name, _ in servers]
            print(f"| {workload} | " + " | ".join(f"{rate:,.0f}" for rate in medians) + f" | {medians[-1] / medians[0]:.2f} |", flush=True)
            print(f"{workload}: {rates}", file=sys.stderr, flush=True)
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
            process.wait()
        as_user(tool("pg_ctl"), "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


main()
