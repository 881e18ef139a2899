"""Makes tokens.json: for each algorithm a key and a token that another library has signed.

Needs the packages pyjwt and cryptography. The keys are for tests, and for nothing else. Run it in this directory.
"""

import json
from base64 import urlsafe_b64encode

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, HMACAlgorithm, OKPAlgorithm, RSAAlgorithm

CLAIMS = {"role": "pilot", "sub": "Ärger \"quoted\" 😀", "exp": 4102444800, "aud": ["flights", "club"], "n": 12345678901234567890}


def token(key, alg, **header):
    return jwt.encode(CLAIMS, key, algorithm=alg, headers=header)


def oct_key(size):
    secret = bytes((7 * i + size) % 256 for i in range(size))
    return secret, json.loads(HMACAlgorithm.to_jwk(secret))


def entry(alg, key, public, private, note="", **header):
    return {
        "note": note,
        "alg": alg,
        "public": public,
        "private": private,
        "token": token(key, alg, **header),
        "signed_by_another": None,
    }


def rsa_pair(bits):
    key = rsa.generate_private_key(65537, bits)
    return key, json.loads(RSAAlgorithm.to_jwk(key.public_key())), json.loads(RSAAlgorithm.to_jwk(key))


def ec_pair(curve):
    key = ec.generate_private_key(curve)
    return key, json.loads(ECAlgorithm.to_jwk(key.public_key())), json.loads(ECAlgorithm.to_jwk(key))


def entries():
    for size, hashes in ((64, (256, 384, 512)), (200, (256,))):
        secret, jwk = oct_key(size)
        for bits in hashes:
            yield entry(f"HS{bits}", secret, jwk, jwk, f"{size} bytes")
    for bits in (2048, 3072, 4096):
        key, public, private = rsa_pair(bits)
        for family in ("RS", "PS"):
            for digest in (256, 384, 512) if bits == 2048 else (256,):
                yield entry(f"{family}{digest}", key, public, private, f"{bits} bits")
    for alg, curve in (("ES256", ec.SECP256R1()), ("ES384", ec.SECP384R1()), ("ES512", ec.SECP521R1())):
        # several, since coordinates and signatures may begin with zeros
        for number in range(4):
            key, public, private = ec_pair(curve)
            yield entry(alg, key, public, private, f"key {number}")
    key = ed25519.Ed25519PrivateKey.generate()
    yield entry("EdDSA", key, json.loads(OKPAlgorithm.to_jwk(key.public_key())), json.loads(OKPAlgorithm.to_jwk(key)))


def main():
    tokens = list(entries())
    for one in tokens:
        # as by a key of the same kind that is not this one
        if one["alg"].startswith("RS") or one["alg"].startswith("PS"):
            other = RSA_OTHER
        elif one["alg"].startswith("HS"):
            other = b"another secret, which is as long as it has to be for every algorithm"
        elif one["alg"] == "EdDSA":
            other = ed25519.Ed25519PrivateKey.generate()
        else:
            curves = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
            other = ec.generate_private_key(curves[one["alg"]])
        one["signed_by_another"] = token(other, one["alg"])
    small, public, private = rsa_pair(1024)
    named = [rsa_pair(2048) for _ in range(2)]
    out = {
        "tokens": tokens,
        "rsa_of_1024_bits": {"public": public, "token": token(small, "RS256")},
        "named": [
            {"kid": kid, "public": {**public, "kid": kid}, "token": token(key, "RS256", kid=kid), "unnamed": token(key, "RS256")}
            for kid, (key, public, _) in zip(("first", "second"), named)
        ],
    }
    with open("tokens.json", "w", encoding="utf-8") as file:
        json.dump(out, file, indent=1, ensure_ascii=False)
        file.write("\n")


RSA_OTHER = rsa.generate_private_key(65537, 2048)

if __name__ == "__main__":
    main()
