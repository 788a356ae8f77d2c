"""pyca/cryptography: OpenSSL's ML-DSA, its PKCS#8 and SPKI. The token around the signature is put together by hand."""

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.backends.openssl import backend
from cryptography.hazmat.primitives import serialization as form_of

import compact
import pyca_certificates
import pyca_composite
from pyca_keys import PRIVATE, PUBLIC
from wire import Refused, serve


def make_key(level):
    if level in pyca_composite.KINDS:
        return pyca_composite.make_key(level)
    key = PRIVATE[level].generate()
    public = key.public_key()
    pem = key.private_bytes(form_of.Encoding.PEM, form_of.PrivateFormat.PKCS8, form_of.NoEncryption())
    return {
        "private jwk": compact.private_jwk(level, public.public_bytes_raw(), key.private_bytes_raw()),
        "private pem": pem.decode(),
        "jwks": compact.jwks(level, public.public_bytes_raw()),
        "public pem": public.public_bytes(form_of.Encoding.PEM, form_of.PublicFormat.SubjectPublicKeyInfo).decode(),
    }


def sign_token(level, form, key, payload, typ):
    if level in pyca_composite.KINDS:
        return pyca_composite.sign_token(level, key, payload, typ)
    key = load(level, form, key)
    return {"token": compact.sign(level, key.public_key().public_bytes_raw(), payload, typ, key.sign)}


def load(level, form, key):
    if form == "private jwk":
        return PRIVATE[level].from_seed_bytes(compact.seed_of(key, level))
    return of_type(PRIVATE[level], form_of.load_pem_private_key(key.encode(), password=None))


def load_key(level, form, key):
    try:
        load(level, form, key)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Refused(f"{type(error).__name__}: {error}")
    return {}


def check_token(token, level, form, key):
    if level in pyca_composite.KINDS:
        return pyca_composite.check_token(level, token, key)
    header, signing_input, signature, payload = compact.split(token)
    if form == "jwks":
        key = PUBLIC[level].from_public_bytes(compact.public_in(key, level, header["kid"]))
    else:
        key = of_type(PUBLIC[level], form_of.load_pem_public_key(key.encode()))
    try:
        key.verify(signature, signing_input)
    except InvalidSignature:
        raise Refused("InvalidSignature")
    return {"payload": payload}


def of_type(expected, key):
    if not isinstance(key, expected):
        raise TypeError(f"the PEM holds a {type(key).__name__}, not a {expected.__name__}")
    return key


forms = ["private jwk", "private pem", "jwks", "public pem"]
asks = {"make-key": make_key, "sign-token": sign_token, "check-token": check_token, "load-key": load_key}
serve(
    "cryptography", " ".join(backend.openssl_version_text().split()[:2]), asks | pyca_certificates.ASKS, writes=forms, reads=forms,
    judges=["seed", "pem"], composites=sorted(pyca_composite.KINDS),
)  # fmt: skip
