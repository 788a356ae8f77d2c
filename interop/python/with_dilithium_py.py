"""dilithium-py: FIPS 204 in plain Python, slow and exact. It also writes PKCS#8 with seed and expanded key together."""

import os

from dilithium_py.ml_dsa import ML_DSA_44, ML_DSA_65, ML_DSA_87, pkcs

import compact
from wire import Refused, serve

ENGINE = {"ML-DSA-44": ML_DSA_44, "ML-DSA-65": ML_DSA_65, "ML-DSA-87": ML_DSA_87}


def make_key(level, seed=None):
    engine = ENGINE[level]
    seed = compact.decode(seed) if seed else os.urandom(32)
    public, secret = engine.key_derive(seed)
    return {
        "private jwk": compact.private_jwk(level, public, seed),
        "private pem": pkcs.sk_to_pem(engine, seed=seed, form="seed").decode(),
        "private pem (both)": pkcs.sk_to_pem(engine, sk=secret, seed=seed, form="both").decode(),
        "private pem (expanded)": pkcs.sk_to_pem(engine, sk=secret, form="expanded").decode(),
        "jwks": compact.jwks(level, public),
        "public pem": pkcs.pk_to_pem(engine, public).decode(),
    }


def sign_token(level, form, key, payload, typ, deterministic=False):
    engine = ENGINE[level]
    if form == "private jwk":
        public, secret = engine.key_derive(compact.seed_of(key, level))
    else:
        found, secret, _, public = pkcs.sk_from_pem(key)
        expect(engine, found)
    sign = lambda signing_input: engine.sign(secret, signing_input, deterministic=deterministic)
    return {"token": compact.sign(level, public, payload, typ, sign)}


def check_token(token, level, form, key):
    engine = ENGINE[level]
    header, signing_input, signature, payload = compact.split(token)
    if form == "jwks":
        public = compact.public_in(key, level, header["kid"])
    else:
        found, public = pkcs.pk_from_pem(key)
        expect(engine, found)
    if not engine.verify(public, signing_input, signature):
        raise Refused("verify() is False")
    return {"payload": payload}


def load_key(level, form, key):
    try:
        if form == "private jwk":
            ENGINE[level].key_derive(compact.seed_of(key, level))
        else:
            expect(ENGINE[level], pkcs.sk_from_pem(key)[0])
    except Exception as error:  # of several kinds, some of its parsers
        raise Refused(f"{type(error).__name__}: {error}")
    return {}


def expect(engine, found):
    if found is not engine:
        raise TypeError("the PEM holds a key of another level")


forms = ["private jwk", "private pem", "private pem (both)", "private pem (expanded)", "jwks", "public pem"]
asks = {"make-key": make_key, "sign-token": sign_token, "check-token": check_token, "load-key": load_key}
serve("dilithium-py", "its own", asks, writes=forms, reads=forms, judges=["seed", "pem"], deterministic=True)
