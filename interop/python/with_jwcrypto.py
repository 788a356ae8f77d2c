"""jwcrypto: a complete JOSE library. Tokens go through its JWT and JWS doors, keys through JWK and PEM."""

import json

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.backends.openssl import backend
from jwcrypto import jwk, jws, jwt
from jwcrypto.common import JWException

from wire import Refused, serve


def make_key(level):
    key = jwk.JWK.generate(kty="AKP", alg=level)
    key.update(kid=key.thumbprint())
    public = jwk.JWK.from_json(key.export_public())
    keys = jwk.JWKSet()
    keys.add(public)
    return {
        "private jwk": key.export_private(),
        "private pem": key.export_to_pem(private_key=True, password=None).decode(),
        "jwks": keys.export(private_keys=False),
        "public pem": key.export_to_pem().decode(),
    }


def sign_token(level, form, key, payload, typ):
    key = load(form, key)
    header = {"alg": level, "kid": key.thumbprint()} | ({"typ": typ} if typ else {})
    token = jws.JWS(payload)
    token.allowed_algs = [level]
    token.add_signature(key, level, json.dumps(header))
    return {"token": token.serialize(compact=True)}


def check_token(token, level, form, key):
    keys = jwk.JWKSet.from_json(key) if form == "jwks" else load(form, key)
    try:
        if "typ" in jws.JWS.from_jose_token(token).jose_header:
            return {"payload": jwt.JWT(jwt=token, key=keys, algs=[level]).claims}
        opened = jws.JWS()
        opened.allowed_algs = [level]
        opened.deserialize(token, keys)
        return {"payload": opened.payload.decode()}
    except JWException as error:
        raise Refused(f"{type(error).__name__}: {error}")


def load_key(level, form, key):
    """Loads it, and signs with it: jwcrypto looks at a JWK's members when it uses them."""
    try:
        sign_token(level, form, key, "interop", None)
    except (JWException, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Refused(f"{type(error).__name__}: {error}")
    return {}


def load(form, key):
    return jwk.JWK.from_json(key) if form == "private jwk" else jwk.JWK.from_pem(key.encode())


forms = ["private jwk", "private pem", "jwks", "public pem"]
asks = {"make-key": make_key, "sign-token": sign_token, "check-token": check_token, "load-key": load_key}
serve("jwcrypto", " ".join(backend.openssl_version_text().split()[:2]), asks, writes=forms, reads=forms, judges=["jwk", "pem"])
