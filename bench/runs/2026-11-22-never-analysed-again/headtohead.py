"""Analysed tables, never analysed ones with the statement as it was, and with the statement as it is, in turns in one session:
`headtohead.py BEFORE.json AFTER.json BASE OTHER HOST:PORT DATABASE`, with `compare.py` of the first run in the same directory.
The files are what `compare.py capture` writes with the server before and after. Prints the medians of the turns' ratios."""
import json, os, re, statistics, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../2026-11-22-never-analysed"))
from compare import Session

before, after = (json.load(open(path)) for path in sys.argv[1:3])
base, other, address, database = sys.argv[3:7]
session = Session(address, database, "-c jit=off")
raw = []
for shape in before:
    if before[shape][other]["texts"] == after[shape][other]["texts"]:
        continue
    sides = []
    for which, statement in zip("bof", (before[shape][base], before[shape][other], after[shape][other])):
        sent, texts = bytes.fromhex(statement["sent"]), {}
        for name, text in statement["texts"].items():
            # names of one length, so that the messages stay whole
            own = which + name[1:]
            sent, texts[own] = sent.replace(name.encode(), own.encode()), text
        session.prepare(texts)
        for _ in range(8):
            session.run(sent)
        began = time.perf_counter()
        session.run(sent)
        sides.append((sent, time.perf_counter() - began, []))
    repeat = max(1, min(20, int(0.004 / sides[0][1])))
    for turn in range(int(os.environ.get("ROUNDS", "60"))):
        for sent, _, took in sides if turn % 2 else sides[::-1]:
            session.run(sent)
            began = time.perf_counter()
            for _ in range(repeat):
                session.run(sent)
            took.append((time.perf_counter() - began) / repeat * 1e3)
    analysed, *rest = [took for _, _, took in sides]
    ratios = [round(statistics.median(a / b for a, b in zip(took, analysed)), 2) for took in rest]
    raw.append({"shape": shape, "analysed": base, "never_analysed": other, "analysed_ms": round(statistics.median(analysed), 3),
                "before": ratios[0], "now": ratios[1]})
json.dump(raw, sys.stdout, indent=1)
