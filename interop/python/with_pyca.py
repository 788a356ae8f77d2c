"""pyca/cryptography: OpenSSL's ML-DSA, its PKCS#8 and SPKI. The token around the signature is put together by hand."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.backends.openssl import backend
from cryptography.hazmat.primitives import serialization as form_of

import compact
from pyca_keys import PRIVATE, PUBLIC
from wire import Refused, serve

def make_key(level):
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
    if form == "private jwk":
        key = PRIVATE[level].from_seed_bytes(compact.seed_of(key, level))
    else:
        key = of_type(PRIVATE[level], form_of.load_pem_private_key(key.encode(), password=None))
    return {"token": compact.sign(level, key.public_key().public_bytes_raw(), payload, typ, key.sign)}


def check_token(token, level, form, key):
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
asks = {"make-key": make_key, "sign-token": sign_token, "check-token": check_token}
serve("cryptography", " ".join(backend.openssl_version_text().split()[:2]), asks, writes=forms, reads=forms)
