"""Adds other forms of the captured statements, to be measured beside them: `variants.py < statements.json`.

`S-fence` keeps PostgreSQL from flattening the to-one joins within arrays (OFFSET 0), `S-scalar` makes them subqueries of the row,
`S-limit` hides from the planner how many rows an array may have."""

import json
import re
import sys

JOIN = re.compile(r' (LEFT|INNER) JOIN LATERAL \(SELECT TRUE AS found, (ROW\([^()]*\)|"[^()]*?) AS (o|c0) (FROM [^()]*?)\) AS (thalweg_e\d+) ON TRUE')


def within_arrays(text, change):
    at = text.find("ARRAY(")
    return text if at < 0 else text[:at] + change(text[at:])


def fence(text):
    return JOIN.sub(lambda found: found[0].replace(f") AS {found[5]} ON TRUE", f" OFFSET 0) AS {found[5]} ON TRUE"), text)


def scalar(text):
    for found in list(JOIN.finditer(text)):
        if found[1] == "LEFT":
            text = text.replace(found[0], "").replace(f"{found[5]}.{found[3]}", f"(SELECT {found[2]} {found[4]})")
    return text


def limit(text):
    """Every array ends in a limit that is none."""
    out, stack, at = "", [], 0
    while at < len(text):
        if text.startswith("ARRAY(", at):
            stack.append(True)
            out, at = out + "ARRAY(", at + 6
            continue
        if text[at] == "(":
            stack.append(False)
        elif text[at] == ")" and stack and stack.pop() and "LIMIT" not in out[out.rfind("WHERE") :]:
            out += " LIMIT (SELECT NULL::pg_catalog.int8)"
        out, at = out + text[at], at + 1
    return out


shapes = json.load(sys.stdin)
for shape, of in shapes.items():
    for schema, statement in list(of.items()):
        for first, (name, change) in zip("fuv", (("fence", fence), ("scalar", scalar), ("limit", limit))):
            if len(statement["texts"]) != 1:
                continue
            ((key, text),) = statement["texts"].items()
            changed = within_arrays(text, change)
            if changed != text:
                other = first + key[1:]
                sent = bytes.fromhex(statement["sent"]).replace(key.encode(), other.encode())
                of[f"{schema}-{name}"] = {**statement, "sent": sent.hex(), "texts": {other: changed}}
json.dump(shapes, sys.stdout, indent=1)
