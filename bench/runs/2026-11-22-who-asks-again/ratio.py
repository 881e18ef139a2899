"""Requests/s of one row by a token, ours and PostgREST's in turns: ratio.py TOKEN OURS POSTGREST > raw.json

TOKEN is one for {"role":"pilot","pilot_id":234}, OURS and POSTGREST are HOST:PORT."""
import json
import re
import subprocess
import sys

token, *servers = sys.argv[1:]
ROUNDS = 9


def rate(server, connections, table):
    url = f"http://{server}/{table}?id=eq.1234&select=id,note,km"
    command = ["wrk", "-t1", "-c", str(connections), "-d2s", "-H", f"Authorization: Bearer {token}", url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said, said
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])


raw = {}
for table in ("logbook", "logbook2"):
    for connections in (1, 10, 50):
        rounds = []
        for turn in range(ROUNDS):
            order = servers if turn % 2 else servers[::-1]
            rates = {server: rate(server, connections, table) for server in order}
            rounds.append([rates[server] for server in servers])
        ratio = sorted(ours / theirs for ours, theirs in rounds)[ROUNDS // 2]
        print(f"{table} at {connections}: {ratio:.2f}", file=sys.stderr)
        raw[f"{table} at {connections}"] = rounds
json.dump(raw, sys.stdout)
