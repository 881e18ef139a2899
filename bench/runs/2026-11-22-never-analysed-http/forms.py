"""Other forms of \"to-many with to-one, 20\" over small tables: `PGHOST=… PGPORT=… PGDATABASE=… PGOPTIONS='-c jit=off' forms.py > raw-small-forms.json`.
Medians of what EXPLAIN ANALYZE says in 25 turns in one session, and ratios to the analysed side, three times."""
import json, re, statistics, subprocess, sys

A="SELECT album_id, title, ARRAY({inner}) FROM raw.album AS album LIMIT 20"
cur="""SELECT ROW(t.name, e.o, t.track_id) FROM raw.track t LEFT JOIN LATERAL (SELECT TRUE AS found, ROW(g.name) AS o FROM raw.genre g WHERE g.genre_id = t.genre_id{fence}) e ON TRUE WHERE t.album_id = {link}"""
forms={
 "analysed":A.format(inner=cur.format(fence="",link="album.album_id")).replace("raw.","music."),
 "now":A.format(inner=cur.format(fence="",link="album.album_id")),
 "fence":A.format(inner=cur.format(fence=" OFFSET 0",link="album.album_id")),
 "any10":A.format(inner=cur.format(fence="",link="ANY(ARRAY["+",".join(["album.album_id"]*10)+"])")),
 "any4":A.format(inner=cur.format(fence="",link="ANY(ARRAY["+",".join(["album.album_id"]*4)+"])")),
 "scalar":A.format(inner="SELECT ROW(t.name, (SELECT ROW(g.name) FROM raw.genre g WHERE g.genre_id = t.genre_id), t.track_id) FROM raw.track t WHERE t.album_id = album.album_id"),
 "arrayany":A.format(inner=cur.format(fence="",link="album.album_id").replace("= t.genre_id","= ANY(ARRAY[t.genre_id])")),
 "cte":"WITH gg AS MATERIALIZED (SELECT genre_id, name FROM raw.genre) "+A.format(inner=cur.format(fence="",link="album.album_id").replace("raw.genre","gg")),
 "unnest":A.format(inner=cur.format(fence="",link="album.album_id").replace("raw.genre g","unnest(ARRAY(SELECT genre FROM raw.genre)) g")),
 "sub":A.format(inner=cur.format(fence="",link="album.album_id").replace("raw.genre g","(SELECT genre_id, name FROM raw.genre OFFSET 0) g")),
 "sublimit":A.format(inner=cur.format(fence="",link="album.album_id").replace("raw.genre g","(SELECT genre_id, name FROM raw.genre LIMIT (SELECT NULL::int8)) g")),

 "sublimit2":A.format(inner=cur.format(fence="",link="album.album_id").replace("raw.genre g","(SELECT * FROM (SELECT genre_id, name FROM raw.genre LIMIT (SELECT NULL::int8)) y LIMIT (SELECT NULL::int8)) g")),
 "unnestrow":A.format(inner=cur.format(fence="",link="album.album_id").replace("raw.genre g","(SELECT (g).genre_id, (g).name FROM unnest(ARRAY(SELECT genre FROM raw.genre)) g) g")),

 "once":"WITH root AS MATERIALIZED (SELECT album_id, title FROM raw.album LIMIT 20) SELECT root.album_id, title, e.o FROM root LEFT JOIN (SELECT k0, array_agg(o) o FROM (SELECT t.album_id AS k0, ROW(t.name, e.o, t.track_id) o FROM raw.track t LEFT JOIN LATERAL (SELECT ROW(g.name) o FROM raw.genre g WHERE g.genre_id=t.genre_id) e ON TRUE WHERE t.album_id IN (SELECT album_id FROM root) ORDER BY t.album_id) s GROUP BY 1) e ON e.k0 = root.album_id",
}
args=["psql","-qAt"]
order=[]
for n,q in forms.items(): args+=["-c",f"prepare {n} as {q}"]
for r in range(25):
    for n in list(forms)[r%len(forms):]+list(forms)[:r%len(forms)]:
        args+=["-c",f"explain (analyze, timing off) execute {n}"]; order.append(n)
found = []
for _ in range(3):
    out = subprocess.run(args, capture_output=True, text=True)
    assert not out.stderr, out.stderr
    times = {n: [] for n in forms}
    for n, t in zip(order, re.findall(r"Execution Time: ([\d.]+)", out.stdout)):
        times[n].append(float(t))
    medians = {n: statistics.median(t) for n, t in times.items()}
    found.append({n: {"ms": m, "ratio": round(m / medians["analysed"], 2)} for n, m in medians.items()})
json.dump(found, sys.stdout, indent=1)
