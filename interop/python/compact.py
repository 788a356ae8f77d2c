"""Compact JWS and AKP keys (RFC 7515 §7.1, RFC 9964 §3) around libraries that know only bytes and signatures."""

import base64
import hashlib
import json


def sign(level, public, payload, typ, signer):
    """The compact JWS of `payload` (text); `signer` maps the signing input to a signature."""
    header = {"alg": level, "kid": thumbprint(level, public)} | ({"typ": typ} if typ else {})
    signing_input = f"{encode(to_json(header))}.{encode(payload.encode())}"
    return f"{signing_input}.{encode(signer(signing_input.encode()))}"


def split(token):
    """Header, signing input, signature and payload (text) of a compact JWS, nothing of it verified."""
    header, payload, signature = token.split(".")
    return json.loads(decode(header)), f"{header}.{payload}".encode(), decode(signature), decode(payload).decode()


def public_in(jwks, level, kid):
    """The raw public key that the set holds for `level` under `kid`."""
    found = [key for key in json.loads(jwks)["keys"] if key.get("kid") == kid and key.get("alg") == level]
    if len(found) != 1:
        raise LookupError(f"{len(found)} keys of {level} under the kid {kid}")
    return decode(found[0]["pub"])


def jwks(level, public):
    return json.dumps({"keys": [{"kty": "AKP", "kid": thumbprint(level, public), "alg": level, "pub": encode(public)}]})


def private_jwk(level, public, seed):
    return json.dumps({"kty": "AKP", "alg": level, "pub": encode(public), "priv": encode(seed)})


def seed_of(jwk, level):
    """The seed of a private JWK (RFC 9964 §4)."""
    key = json.loads(jwk)
    if (key["kty"], key["alg"]) != ("AKP", level):
        raise ValueError(f"a key of {key['kty']} {key['alg']}, not of AKP {level}")
    return decode(key["priv"])


def thumbprint(level, public):
    """RFC 7638 over the members that RFC 9964 §6 names."""
    return encode(hashlib.sha256(to_json({"alg": level, "kty": "AKP", "pub": encode(public)})).digest())


def to_json(value):
    return json.dumps(value, separators=(",", ":")).encode()


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
