"""The Python column of docs/from-jwt-pq.md: each call is made as it stands there, and does what its row says."""

import pathlib
import re
import time

import pytest

import sealstone
from sealstone import JwkSet, SigningKey, VerifyingKey, jwt

PAGE = pathlib.Path(__file__).parent / "programs" / "from-jwt-pq.md"


def spans():
    """The code of the last column of the table whose header ends with Python."""
    found, column = [], None
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            column = None
        elif "Python" in cells:
            column = cells.index("Python")
        elif column is not None:
            found += re.findall(r"`([^`]+)`", cells[column])
    return found


@pytest.fixture(scope="module")
def world():
    """What the page takes for given."""
    key = sealstone.generate("ML-DSA-65")
    claims = {"sub": "alice", "exp": int(time.time()) + 900}
    keys = [key.verifying_key]
    return {
        "sealstone": sealstone, "jwt": jwt, "JwkSet": JwkSet, "SigningKey": SigningKey, "VerifyingKey": VerifyingKey,
        "key": key, "public": key.verifying_key, "keys": keys, "set": JwkSet(keys), "text": JwkSet(keys).to_json(),
        "pem": key.to_pem(), "bytes": bytes(key.verifying_key), "data": b"data", "signature": key.sign(b"data"),
        "claims": claims, "token": jwt.sign(key, claims), "rules": jwt.Rules(),
    }  # fmt: skip


# What comes out of each call. A span that is not here must still be something that there is.
SAYS = {
    'sealstone.generate("ML-DSA-65")': lambda out, _: out.level == "ML-DSA-65" and isinstance(out, SigningKey),
    "key.verifying_key.to_pem()": lambda out, _: out.startswith("-----BEGIN PUBLIC KEY-----"),
    "key.to_pem()": lambda out, _: out.startswith("-----BEGIN PRIVATE KEY-----"),
    "sealstone.SigningKey.load(pem)": lambda out, world: out.seed() == world["key"].seed(),
    "SigningKey.load(pem)": lambda out, world: out.verifying_key == world["public"],
    'sealstone.VerifyingKey.from_bytes("ML-DSA-65", bytes)': lambda out, world: out == world["public"],
    "key.sign(data)": lambda out, world: world["public"].verify(world["data"], out) is None,
    "public.verify(data, signature)": lambda out, _: out is None,
    "public.thumbprint": lambda out, world: out == world["key"].kid,
    "jwt.sign(key, claims)": lambda out, world: jwt.verify(out, world["public"], world["rules"]) == world["claims"],
    "jwt.verify(token, key, rules)": lambda out, world: out == world["claims"],
    "public.to_jwk()": lambda out, world: '"priv"' not in out and VerifyingKey.load(out) == world["public"],
    "key.to_jwk()": lambda out, world: SigningKey.load(out).seed() == world["key"].seed(),
    "VerifyingKey.load": lambda out, world: out(world["public"].to_jwk()) == world["public"],
    "SigningKey.load": lambda out, world: out(world["key"].to_jwk()).seed() == world["key"].seed(),
    "SigningKey.from_expanded": lambda out, world: out("ML-DSA-65", world["key"].expanded()).verifying_key == world["public"],
    "sealstone.JwkSet(keys)": lambda out, world: out.kids == [world["public"].kid],
    "JwkSet.parse(text)": lambda out, world: out.kids == [world["public"].kid],
    "jwt.verify(token, set, rules)": lambda out, world: out == world["claims"],
    "JwkSet.parse": lambda out, world: out(world["text"]).kids == [world["public"].kid],
}


def test_the_column_is_there():
    assert len(spans()) >= 18 and len(set(SAYS) & set(spans())) >= 15, spans()


@pytest.mark.parametrize("span", sorted(set(spans())))
def test_a_call_of_the_column(span, world):
    # The key of a verification is the public one: the page calls each by what it is in its row.
    names = world | ({"key": world["public"]} if span == "jwt.verify(token, key, rules)" else {})
    out = eval(span, dict(names))
    assert span not in SAYS or SAYS[span](out, world), f"{span} gives {out!r}"
