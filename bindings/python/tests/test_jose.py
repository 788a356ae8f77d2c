"""JWS, JWT and key sets: there and back, and each rule broken."""

import base64
import json
import time

import pytest

import sealstone
from sealstone import JwkSet, jws, jwt

CLAIMS = {"iss": "https://id.example", "aud": "orders", "iat": 1800000000, "exp": 1800000300, "näme": [1, None, 2.5]}
NOW = 1800000010


def rules(**changed):
    return jwt.Rules(**({"issuer": "https://id.example", "audience": "orders"} | changed))


def test_a_token_there_and_back(key):
    token = jwt.sign(key, CLAIMS)
    assert jwt.verify(token, key.verifying_key, rules(), now=NOW) == CLAIMS
    header = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
    assert header == {"alg": key.level, "typ": "JWT", "kid": key.kid}
    with pytest.raises(sealstone.BadSignature):
        jwt.verify(token, sealstone.generate(key.level).verifying_key, rules(), now=NOW)


@pytest.mark.parametrize(
    ("changed", "now", "error"),
    [
        ({}, 1800000300, sealstone.Expired),
        ({"leeway": 1}, 1800000300, None),
        ({}, 1799999999, sealstone.NotYetValid),
        ({"max_age": 9}, NOW, sealstone.Expired),
        ({"max_age": 10}, NOW, None),
        ({"issuer": "https://other.example"}, NOW, sealstone.ClaimRefused),
        ({"issuer": None}, NOW, sealstone.ClaimRefused),
        ({"issuer": jwt.ANY}, NOW, None),
        ({"audience": None}, NOW, sealstone.ClaimRefused),
        ({"audience": jwt.ANY}, NOW, None),
        ({"typ": "at+jwt"}, NOW, sealstone.ClaimRefused),
        ({"typ": jwt.ANY}, NOW, None),
        ({"typ": "JWT"}, NOW, None),
        ({"required": ["sub"]}, NOW, sealstone.ClaimRefused),
        ({"required": ["iat"]}, NOW, None),
    ],
)
def test_each_rule(changed, now, error):
    key = sealstone.generate("ML-DSA-44")
    token = jwt.sign(key, CLAIMS)
    if error is None:
        assert jwt.verify(token, key.verifying_key, rules(**changed), now=now) == CLAIMS
    else:
        with pytest.raises(error):
            jwt.verify(token, key.verifying_key, rules(**changed), now=now)


def test_expiry_is_required_and_time_is_now():
    key = sealstone.generate("ML-DSA-44")
    token = jwt.sign(key, {})
    with pytest.raises(sealstone.ClaimRefused, match="`exp` is missing"):
        jwt.verify(token, key.verifying_key, jwt.Rules())
    assert jwt.verify(token, key.verifying_key, jwt.Rules(without_expiry=True)) == {}
    fresh = jwt.sign(key, {"exp": int(time.time()) + 60}, typ="at+jwt", kid="mine")
    assert jwt.verify(fresh, key.verifying_key, jwt.Rules(typ="at+jwt"))["exp"] > 0
    with pytest.raises(sealstone.Expired):
        jwt.verify(jwt.sign(key, {"exp": int(time.time()) - 1}), key.verifying_key, jwt.Rules())


def test_a_set_chooses_by_kid(key):
    other = sealstone.generate(key.level)
    keys = JwkSet.parse(JwkSet([other.verifying_key, key.verifying_key]).to_json())
    assert len(keys) == 2 and keys.kids == [other.kid, key.kid]
    assert jwt.verify(jwt.sign(key, CLAIMS), keys, rules(), now=NOW) == CLAIMS
    with pytest.raises(sealstone.UnknownKey):
        jwt.verify(jwt.sign(key, CLAIMS), JwkSet([other.verifying_key]), rules(), now=NOW)
    with pytest.raises(sealstone.UnknownKey):
        jwt.verify(jwt.sign(key, CLAIMS, kid="unknown"), keys, rules(), now=NOW)
    with pytest.raises(sealstone.BadKey, match="two keys"):
        JwkSet([key.verifying_key, key.verifying_key])
    with pytest.raises(sealstone.BadKey, match="private member"):
        JwkSet.parse('{"keys":[' + key.to_jwk() + "]}")
    with pytest.raises(sealstone.BadKey):
        JwkSet.parse("{}")


def test_any_payload(key):
    token = jws.sign(key, bytearray(b"any\0thing"), typ="x", cty="text/plain", kid="mine")
    verified = jws.verify(token, key.verifying_key)
    assert verified.payload == b"any\0thing"
    assert verified.header == {"alg": key.level, "typ": "x", "cty": "text/plain", "kid": "mine"}
    with pytest.raises(sealstone.UnknownKey):
        jws.verify(token, JwkSet([key.verifying_key]))
    head, payload, signature = token.split(".")
    with pytest.raises(sealstone.BadSignature):
        jws.verify(f"{head}.{payload[:-2]}AA.{signature}", key.verifying_key)
    with pytest.raises(sealstone.BadToken):
        jws.sign(key, b"")


def test_what_is_no_token_is_refused():
    key = sealstone.generate("ML-DSA-44")
    for bad in ["", "a.b.c", "a.b", "x" * 70000, "{}", jws.sign(key, b"x") + "="]:
        with pytest.raises((sealstone.BadToken, sealstone.BadSignature)):
            jws.verify(bad, key.verifying_key)
    # alg none (RFC 7519, 6.1) and another level
    with pytest.raises(sealstone.UnknownAlgorithm):
        jws.verify("eyJhbGciOiJub25lIn0.e30.AA", key.verifying_key)
    with pytest.raises(sealstone.AlgorithmMismatch):
        jws.verify(jws.sign(sealstone.generate("ML-DSA-65"), b"x"), key.verifying_key)
    with pytest.raises(TypeError):
        jws.verify(b"a.b.c", key.verifying_key)
    with pytest.raises(TypeError, match="VerifyingKey or a JwkSet"):
        jws.verify("a.b.c", key)


def test_claims_must_be_json(key):
    for bad, error in [({"a": b"bytes"}, TypeError), ({"a": float("nan")}, ValueError), ([1], (TypeError, ValueError))]:
        with pytest.raises(error):
            jwt.sign(key, bad)
    with pytest.raises(TypeError):
        jwt.Rules(required="sub")
