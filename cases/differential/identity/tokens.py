"""Makes tokens.txt, the tokens of the requests here. Nobody needs Python to run the tests.

    pip install 'pyjwt[crypto]==2.15.1' && python tokens.py > tokens.txt

Claims are signed as the bytes that they are, so that what no library would sign is signed too. The keys are for these
tests only; keys/keys.json has their public parts.
"""

import base64
import json
import pathlib

import jwt

SECRET = b"thermals-over-the-ridge-at-noon!"
BINARY_SECRET = bytes(range(200, 240))
FAR = 4102444800
HERE = pathlib.Path(__file__).parent
KEYS = {key["kid"]: key for key in json.loads((HERE / "private-keys.json").read_text())["keys"]}


def sign(claims, key=SECRET, alg="HS256", **header):
    payload = claims if isinstance(claims, bytes) else json.dumps(claims, ensure_ascii=False).encode()
    return jwt.PyJWS().encode(payload, key, algorithm=alg, headers=header or None)


def by(kid, alg, claims, /, **header):
    return sign(claims, jwt.PyJWK(KEYS[kid], algorithm=alg).key, alg, **header)


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def pilot(**more):
    return {"role": "id_pilot", "pilot_id": 1, **more}


def of_club(role="id_pilot", **more):
    return {"club": {"roles": ["guest", role]}, "pilot_id": 1, **more}


def people():
    yield "pilot", sign(pilot())
    yield "pilot2", sign(pilot(pilot_id=2))
    yield "unnumbered", sign({"role": "id_pilot"})
    yield "tower", sign({"role": "id_tower"})
    yield "hurried", sign({"role": "id_hurried"})
    yield "dressed", sign({"role": "id_dressed"})
    yield "banned", sign(pilot(banned=True))
    yield "rich", sign(pilot(name="Jörg \"Ü\" ✈", nested={"a": [1, 2.50, None]}, big=12345678901234567890, e=1e3))
    yield "long", sign(pilot(text="x" * 3000))
    yield "escaped", sign(br'{"role":"id_pilot","text":"a\nb\u00e9\ud83d\ude00"}')


def roles():
    yield "visitor", sign({"role": "id_visitor"})
    yield "stranger", sign({"role": "id_stranger"})
    yield "absent", sign({"role": "id_absent"})
    yield "gate", sign({"role": "id_gate"})
    yield "odd", sign({"role": 'id "odd" rôle'})
    yield "upper", sign({"role": "ID_PILOT"})
    yield "quoted", sign({"role": "id_pilot'; reset role; --"})
    yield "spaced", sign({"role": " id_pilot"})
    yield "empty-role", sign({"role": ""})
    yield "role-none", sign({"role": "none"})
    yield "role-5", sign({"role": 5})
    yield "role-null", sign({"role": None})
    yield "role-true", sign({"role": True})
    yield "role-list", sign({"role": ["id_pilot"]})
    yield "role-object", sign({"role": {"name": "id_pilot"}})
    yield "role-twice", sign(b'{"role":"id_tower","role":"id_pilot"}')
    yield "role-upper-key", sign({"Role": "id_pilot"})
    yield "roleless", sign({"pilot_id": 1})
    yield "claimless", sign({})


def times():
    yield "lasting", sign(pilot(exp=FAR, nbf=1, iat=1))
    yield "expired", sign(pilot(exp=1))
    yield "expired-below-zero", sign(pilot(exp=-5))
    yield "expired-as-1e9", sign(b'{"role":"id_pilot","exp":1.0e9}')
    yield "exp-4e9", sign(b'{"role":"id_pilot","exp":4e9}')
    yield "exp-fraction", sign(pilot(exp=FAR + 0.5))
    yield "exp-huge", sign(b'{"role":"id_pilot","exp":1e30}')
    yield "exp-text", sign(pilot(exp=str(FAR)))
    yield "exp-null", sign(pilot(exp=None))
    yield "exp-true", sign(pilot(exp=True))
    yield "exp-object", sign(pilot(exp={}))
    yield "nbf-later", sign(pilot(nbf=FAR))
    yield "nbf-fraction", sign(pilot(nbf=FAR + 0.5))
    yield "nbf-text", sign(pilot(nbf="1"))
    yield "nbf-null", sign(pilot(nbf=None))
    yield "iat-later", sign(pilot(iat=FAR))
    yield "iat-text", sign(pilot(iat="1"))
    yield "iat-list", sign(pilot(iat=[1]))
    yield "all-wrong", sign(pilot(exp=1, nbf=FAR, iat=FAR, aud=5))


def audiences():
    for name, aud in [("club", "club"), ("other", "other"), ("empty", ""), ("list", ["other", "club"]),
                      ("others", ["x", "y"]), ("nobody", []), ("null", None), ("number", 5), ("true", True),
                      ("object", {}), ("mixed", ["club", 5]), ("upper", "CLUB"), ("nulls", [None])]:
        yield f"aud-{name}", sign(pilot(aud=aud))
        yield f"keys-aud-{name}", by("rsa", "RS256", of_club(aud=aud))


def under(head):
    """A good payload and its good signature, under another head."""
    _, payload, signature = sign(pilot()).split(".")
    return f"{part(head)}.{payload}.{signature}"


def signatures():
    head, payload, signature = sign(pilot()).split(".")
    yield "hs384", sign(pilot(), alg="HS384")
    yield "hs512", sign(pilot(), alg="HS512")
    yield "other-secret", sign(pilot(), b"another secret of the same length")
    yield "empty-secret", sign(pilot(), b"\0")
    yield "unsecured", sign(pilot(), None, "none")
    yield "unsecured-signed", under(b'{"alg":"none"}')
    yield "unsigned", f"{head}.{payload}."
    yield "changed-signature", f"{head}.{payload}.g{signature[1:]}"
    yield "cut-signature", f"{head}.{payload}.{signature[:-4]}"
    yield "others-signature", f"{head}.{part(json.dumps(pilot(pilot_id=2)).encode())}.{signature}"
    yield "rsa-to-text", by("rsa", "RS256", pilot())
    yield "typ", sign(pilot(), typ="at+jwt", cty="x")
    yield "no-typ", sign(pilot(), typ=None)
    yield "kid", sign(pilot(), kid="some")
    yield "crit", sign(pilot(), crit=["x"], x=1)
    yield "jwk", sign(pilot(), jwk={"kty": "oct", "k": part(SECRET)})


def malformed():
    head, payload, signature = sign(pilot()).split(".")
    yield "one-part", "abc"
    yield "two-parts", f"{head}.{payload}"
    yield "four-parts", f"{head}.{payload}.{signature}.x"
    yield "five-parts", f"{head}.{payload}.{signature}.x.y"
    yield "dots", ".."
    yield "head-empty", f".{payload}.{signature}"
    yield "payload-empty", f"{head}..{signature}"
    yield "padded", f"{head}.{payload}.{signature}="
    yield "not-base64", f"{head}.{payload}.{signature[:-1]}!"
    yield "head-not-base64", f"!{head}.{payload}.{signature}"
    yield "head-not-json", under(b'hello')
    yield "head-list", under(b'[]')
    yield "head-without-alg", under(b'{}')
    yield "head-alg-number", under(b'{"alg":5}')
    yield "head-alg-unknown", under(b'{"alg":"XX256"}')
    yield "head-alg-lower", under(b'{"alg":"hs256"}')
    yield "payload-list", sign(b'["role"]')
    yield "payload-text", sign(b'"id_pilot"')
    yield "payload-null", sign(b"null")
    yield "payload-not-json", sign(b"{role: id_pilot}")
    yield "payload-nothing", sign(b"")
    yield "payload-not-utf8", sign(b'{"role":"id_pilot","x":"\xff"}')
    yield "payload-twice", sign(b'{"role":"id_pilot"}{}')


def keys():
    for kid, alg in [("rsa", "RS256"), ("rsa", "RS384"), ("rsa", "RS512"), ("rsa", "PS256"), ("p256", "ES256"),
                     ("p384", "ES384"), ("p521", "ES512"), ("ed", "EdDSA"), ("oct", "HS256"), ("oct", "HS384"),
                     ("oct", "HS512"), ("oct512", "HS512"), ("oct512", "HS256"), ("enc", "RS256"),
                     ("rs384only", "RS384"), ("rs384only", "RS256")]:
        yield f"{kid}-{alg.lower()}", by(kid, alg, of_club())
        yield f"{kid}-{alg.lower()}-kid", by(kid, alg, of_club(), kid=kid)
    yield "kid-of-another", by("rsa", "RS256", of_club(), kid="p256")
    yield "kid-of-nobody", by("rsa", "RS256", of_club(), kid="nobody")
    yield "hmac-of-public", sign(of_club(), base64.urlsafe_b64decode(KEYS["rsa"]["n"] + "=="))
    yield "keys-unsecured", sign(of_club(), None, "none")
    yield "keys-pilot2", by("ed", "EdDSA", of_club(pilot_id=2))
    yield "keys-tower", by("p256", "ES256", of_club("id_tower"))
    yield "keys-absent", by("p256", "ES256", of_club("id_absent"))
    yield "keys-stranger", by("p256", "ES256", of_club("id_stranger"))
    yield "keys-banned", by("p256", "ES256", of_club(banned=True))
    yield "keys-status", by("p256", "ES256", of_club(status=418))
    yield "keys-expired", by("p256", "ES256", of_club(exp=1))
    yield "keys-one-role", by("p256", "ES256", {"club": {"roles": ["guest"]}})
    yield "keys-role-elsewhere", by("p256", "ES256", {"role": "id_pilot"})
    yield "keys-club-list", by("p256", "ES256", {"club": ["guest", "id_pilot"]})
    yield "keys-role-5", by("p256", "ES256", of_club(5))
    yield "keys-role-overwritten", by("p256", "ES256", of_club() | {"role": "id_tower"})


def paths():
    def of(claims, secret=BINARY_SECRET):
        return sign(claims, secret)

    url = "https://soar.example/role"
    yield "path-pilot", of({url: {"key": "id_pilot"}, "pilot_id": 1})
    yield "path-aud", of({url: {"key": "id_pilot"}, "aud": "https://soar.example/club"})
    yield "path-aud-other", of({url: {"key": "id_pilot"}, "aud": "https://soar.example/"})
    yield "path-aud-not-uri", of({url: {"key": "id_pilot"}, "aud": "club"})
    yield "path-text", of({url: "id_pilot"})
    yield "path-deeper", of({url: {"key": {"key": "id_pilot"}}})
    yield "path-null", of({url: {"key": None}})
    yield "path-absent", of({"role": "id_pilot"})
    yield "path-text-secret", of({url: {"key": "id_pilot"}}, base64.b64encode(BINARY_SECRET))


print(f"# Made by tokens.py: Python, PyJWT {jwt.__version__}.")
for makers in (people, roles, times, audiences, signatures, malformed, keys, paths):
    for name, token in makers():
        print(name, token)
