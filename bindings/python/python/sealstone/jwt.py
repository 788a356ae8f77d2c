"""JSON Web Tokens (RFC 7519), signed with ML-DSA (RFC 9964).

>>> import sealstone
>>> from sealstone import jwt
>>> key = sealstone.generate("ML-DSA-65")
>>> token = jwt.sign(key, {"iss": "https://id.example", "aud": "orders", "exp": 1800000300})
>>> rules = jwt.Rules(issuer="https://id.example", audience="orders", leeway=5)
>>> jwt.verify(token, key.verifying_key, rules, now=1800000000)["aud"]
'orders'

The algorithm comes from the key, never from the token. What the rules do not name a token must not bring.
"""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from sealstone._native import JwkSet, SigningKey, VerifyingKey, jwt_sign, jwt_verify

__all__ = ["ANY", "Rules", "sign", "verify"]


class _Any(Enum):
    ANY = "any"

    def __repr__(self) -> str:
        return "sealstone.jwt.ANY"


#: In rules: anything, or nothing.
ANY: Final = _Any.ANY


class Rules:
    """What a token must say (RFC 8725, 3). It never changes: make it once, use it in any number of threads.

    issuer: `iss` must be this; None: absent; ANY: anything.
    audience: `aud` must be or contain this; None: absent; ANY: anything.
    typ: the type must be this; None: absent or JWT; ANY: anything.
    leeway: seconds by which clocks may differ.
    max_age: seconds since `iat`, which is then required.
    required: claims that must be there, beside `exp`.
    without_expiry: a token without `exp` is accepted.

    >>> Rules(issuer="https://id.example", audience=ANY, leeway=5)
    Rules(issuer='https://id.example', audience=sealstone.jwt.ANY, typ=None, leeway=5)
    >>> Rules(leeway=-1)
    Traceback (most recent call last):
        ...
    ValueError: leeway: expected seconds, 0 or more, found -1
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        *,
        issuer: str | _Any | None = None,
        audience: str | _Any | None = None,
        typ: str | _Any | None = None,
        leeway: int = 0,
        max_age: int | None = None,
        required: Iterable[str] = (),
        without_expiry: bool = False,
    ) -> None:
        for name, seconds in (("leeway", leeway), ("max_age", max_age)):
            if seconds is not None and seconds < 0:
                raise ValueError(f"{name}: expected seconds, 0 or more, found {seconds}")
        if isinstance(required, str):
            raise TypeError("required: expected names of claims, found one text")
        self._native = _Native(
            any_issuer=issuer is ANY,
            issuer=None if issuer is ANY else issuer,
            any_audience=audience is ANY,
            audience=None if audience is ANY else audience,
            any_typ=typ is ANY,
            typ=None if typ is ANY else typ,
            leeway=leeway,
            max_age=max_age,
            required=list(required),
            without_expiry=without_expiry,
        )

    def __repr__(self) -> str:
        rules = self._native
        named: dict[str, object] = {
            "issuer": ANY if rules.any_issuer else rules.issuer,
            "audience": ANY if rules.any_audience else rules.audience,
            "typ": ANY if rules.any_typ else rules.typ,
            "leeway": rules.leeway,
        }
        if rules.max_age is not None:
            named["max_age"] = rules.max_age
        if rules.required:
            named["required"] = rules.required
        if rules.without_expiry:
            named["without_expiry"] = True
        return f"Rules({', '.join(f'{name}={value!r}' for name, value in named.items())})"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Native:
    any_issuer: bool
    issuer: str | None
    any_audience: bool
    audience: str | None
    any_typ: bool
    typ: str | None
    leeway: int
    max_age: int | None
    required: list[str]
    without_expiry: bool


def sign(key: SigningKey, claims: Mapping[str, Any], *, typ: str = "JWT", kid: str | None = None) -> str:
    """Signs claims into a token. `kid` defaults to that of the key, which is its thumbprint if it has no other.

    Raises BadToken for a token of more than 65536 bytes, NoSeed, TypeError and ValueError for what is not JSON.
    """
    text = json.dumps(dict(claims), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return jwt_sign(key, text, typ, kid)


def verify(token: str, key: VerifyingKey | JwkSet, rules: Rules, *, now: float | None = None) -> dict[str, Any]:
    """Checks the signature of a token, then its claims, and gives the claims.

    In a set the token's `kid` chooses the key. `now` is in seconds since 1970; None is the time of this machine.

    Raises BadToken, AlgorithmMismatch, UnknownAlgorithm, UnknownKey, BadSignature, ClaimRefused, Expired, NotYetValid.
    """
    second = int(time.time() if now is None else now)
    claims: dict[str, Any] = json.loads(jwt_verify(token, key, rules._native, second)[0])
    return claims
