"""draft-ietf-jose-pq-composite-sigs-04 by its text, over pyca/cryptography: two signatures over M', one after the other."""

import hashlib
import os
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form_of
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519

import compact
from pyca_keys import PRIVATE, PUBLIC
from wire import Refused

PREFIX = b"CompositeAlgorithmSignatures2025"
SEED = 32
LENGTHS = {"ML-DSA-44": (1312, 2420), "ML-DSA-65": (1952, 3309), "ML-DSA-87": (2592, 4627)}  # of public key, of signature


@dataclass
class Edwards:
    private: Any
    public: Any

    def make(self):
        return self.private.generate().private_bytes_raw()

    def public_of(self, own):
        return self.private.from_private_bytes(own).public_key().public_bytes_raw()

    def sign(self, own, message):
        return self.private.from_private_bytes(own).sign(message)

    def verify(self, public, signature, message):
        self.public.from_public_bytes(public).verify(signature, message)


@dataclass
class Ecdsa:
    """The private key is an ECPrivateKey without its public key (RFC 5915): what stands around d is always the same."""

    curve: Any
    hash: Any
    before: bytes
    after: bytes

    def make(self):
        d = ec.generate_private_key(self.curve).private_numbers().private_value
        return self.before + d.to_bytes(self.curve.key_size // 8, "big") + self.after

    def _key(self, own):
        if not (own.startswith(self.before) and own.endswith(self.after)):
            raise ValueError("not the ECPrivateKey of the draft")
        return ec.derive_private_key(int.from_bytes(own[len(self.before) : -len(self.after)], "big"), self.curve)

    def public_of(self, own):
        point = form_of.PublicFormat.UncompressedPoint
        return self._key(own).public_key().public_bytes(form_of.Encoding.X962, point)

    def sign(self, own, message):
        return self._key(own).sign(message, ec.ECDSA(self.hash))

    def verify(self, public, signature, message):
        ec.EllipticCurvePublicKey.from_encoded_point(self.curve, public).verify(signature, message, ec.ECDSA(self.hash))


P256 = Ecdsa(ec.SECP256R1(), hashes.SHA256(), bytes.fromhex("30310201010420"), bytes.fromhex("a00a06082a8648ce3d030107"))
P384 = Ecdsa(ec.SECP384R1(), hashes.SHA384(), bytes.fromhex("303e0201010430"), bytes.fromhex("a00706052b81040022"))
ED25519 = Edwards(ed25519.Ed25519PrivateKey, ed25519.Ed25519PublicKey)
ED448 = Edwards(ed448.Ed448PrivateKey, ed448.Ed448PublicKey)
sha256 = lambda data: hashlib.sha256(data).digest()
sha512 = lambda data: hashlib.sha512(data).digest()
shake256 = lambda data: hashlib.shake_256(data).digest(64)
KINDS = {
    "ML-DSA-44-ES256": ("ML-DSA-44", b"COMPSIG-MLDSA44-ECDSA-P256-SHA256", sha256, P256),
    "ML-DSA-65-ES256": ("ML-DSA-65", b"COMPSIG-MLDSA65-ECDSA-P256-SHA512", sha512, P256),
    "ML-DSA-87-ES384": ("ML-DSA-87", b"COMPSIG-MLDSA87-ECDSA-P384-SHA512", sha512, P384),
    "ML-DSA-44-Ed25519": ("ML-DSA-44", b"COMPSIG-MLDSA44-Ed25519-SHA512", sha512, ED25519),
    "ML-DSA-65-Ed25519": ("ML-DSA-65", b"COMPSIG-MLDSA65-Ed25519-SHA512", sha512, ED25519),
    "ML-DSA-87-Ed448": ("ML-DSA-87", b"COMPSIG-MLDSA87-Ed448-SHAKE256", shake256, ED448),
}


def make_key(alg):
    level, _, _, traditional = KINDS[alg]
    seed, own = os.urandom(SEED), traditional.make()
    public = PRIVATE[level].from_seed_bytes(seed).public_key().public_bytes_raw() + traditional.public_of(own)
    return {"private jwk": compact.private_jwk(alg, public, seed + own), "jwks": compact.jwks(alg, public)}


def sign_token(alg, key, payload, typ):
    level, label, hashed, traditional = KINDS[alg]
    private = compact.seed_of(key, alg)
    first, own = PRIVATE[level].from_seed_bytes(private[:SEED]), private[SEED:]
    public = first.public_key().public_bytes_raw() + traditional.public_of(own)

    def sign(signing_input):
        message = represent(label, hashed, signing_input)
        return first.sign(message, label) + traditional.sign(own, message)

    return {"token": compact.sign(alg, public, payload, typ, sign)}


def check_token(alg, token, jwks):
    """Both halves are always looked at, and both must be good."""
    level, label, hashed, traditional = KINDS[alg]
    header, signing_input, signature, payload = compact.split(token)
    public = compact.public_in(jwks, alg, header["kid"])
    message = represent(label, hashed, signing_input)
    public_length, length = LENGTHS[level]
    first = lambda: PUBLIC[level].from_public_bytes(public[:public_length]).verify(signature[:length], message, label)
    second = lambda: traditional.verify(public[public_length:], signature[length:], message)
    if not all([good(first), good(second)]):
        raise Refused("InvalidSignature")
    return {"payload": payload}


def good(verify):
    try:
        verify()
        return True
    except InvalidSignature:
        return False


def represent(label, hashed, signing_input):
    """M' = Prefix || Label || 0x00 || PH(signing input); the zero is the length of an empty application context."""
    return PREFIX + label + b"\0" + hashed(signing_input)
