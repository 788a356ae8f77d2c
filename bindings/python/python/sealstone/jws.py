"""JSON Web Signatures (RFC 7515), compact, with any payload, signed with ML-DSA (RFC 9964).

>>> import sealstone
>>> from sealstone import jws
>>> key = sealstone.generate("ML-DSA-44")
>>> token = jws.sign(key, b"any bytes", cty="text/plain")
>>> verified = jws.verify(token, key.verifying_key)
>>> verified.payload, verified.header["cty"]
(b'any bytes', 'text/plain')
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sealstone._native import JwkSet, SigningKey, VerifyingKey, jws_sign, jws_verify

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Verified", "sign", "verify"]


@dataclass(frozen=True, slots=True)
class Verified:
    """A payload and the protected header, both as they were signed."""

    payload: bytes
    header: dict[str, Any]


def sign(
    key: SigningKey, payload: "Buffer", *, typ: str | None = None, cty: str | None = None, kid: str | None = None
) -> str:
    """Signs a payload of at least one byte into a compact token of at most 65536 bytes.

    `kid` defaults to that of the key, which is its thumbprint if it has no other. Raises BadToken, NoSeed.
    """
    return jws_sign(key, payload, typ, cty, kid)


def verify(token: str, key: VerifyingKey | JwkSet) -> Verified:
    """Checks a token with one key, or with that of a set which its `kid` names.

    Raises BadToken, AlgorithmMismatch, UnknownAlgorithm, UnknownKey, BadSignature.
    """
    payload, header = jws_verify(token, key)
    return Verified(payload, json.loads(header))
