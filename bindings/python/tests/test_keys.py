"""Keys in PEM, DER and JWK: there and back, known answers, refusals in words."""

import json

import pytest

import sealstone
from sealstone import SigningKey, VerifyingKey

# RFC 9881, C.1.1: the private key of ML-DSA-44, as its seed.
RFC9881_SEED = """-----BEGIN PRIVATE KEY-----
MDQCAQAwCwYJYIZIAWUDBAMRBCKAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZ
GhscHR4f
-----END PRIVATE KEY-----
"""
# A key on P-256.
EC = {
    "kty": "EC",
    "crv": "P-256",
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
}


def test_private_keys_there_and_back(key):
    for written, read in [
        (key.to_pem(), SigningKey.from_pem),
        (key.to_pem().encode(), SigningKey.from_pem),
        (key.to_der(), SigningKey.from_der),
        (key.to_jwk(), SigningKey.from_jwk),
    ]:
        assert read(written).seed() == SigningKey.load(written).seed() == key.seed()
        with pytest.raises(sealstone.BadKey):
            VerifyingKey.load(written)
        with pytest.raises(sealstone.BadKey):
            read(written[:-2])


def test_public_keys_there_and_back(key):
    public = key.verifying_key
    for written, read in [
        (public.to_pem(), VerifyingKey.from_pem),
        (public.to_der(), VerifyingKey.from_der),
        (public.to_jwk(), VerifyingKey.from_jwk),
    ]:
        assert read(written) == VerifyingKey.load(written) == public
        with pytest.raises(sealstone.BadKey):
            SigningKey.load(written)
    assert set(json.loads(public.to_jwk())) == {"kty", "alg", "kid", "use", "pub"}


def test_known_answers():
    key = SigningKey.from_pem(RFC9881_SEED)
    assert key.level == "ML-DSA-44" and key.seed() == bytes(range(32)) and key.to_pem() == RFC9881_SEED
    # RFC 9964, Appendix A: the seed of zeros.
    key = SigningKey.from_seed("ML-DSA-44", bytes(32))
    assert key.verifying_key.thumbprint == key.kid == "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o"


def test_a_key_id_is_kept(key):
    named = key.with_kid("billing-7")
    assert named.kid == named.verifying_key.kid == "billing-7"
    assert named.seed() == key.seed()
    again = SigningKey.from_jwk(named.to_jwk())
    assert again.kid == again.verifying_key.kid == "billing-7"
    assert VerifyingKey.from_jwk(named.verifying_key.to_jwk()).kid == "billing-7"
    assert key.verifying_key.with_kid("x").thumbprint == key.kid


def test_what_is_no_key_is_refused_in_words(key):
    for bad, words in [
        ("", "there is nothing"),
        ("hello", "neither JSON, PEM nor DER"),
        (b"\xff\xfe{", "neither JSON, PEM nor DER"),
        ("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", "the block is empty"),
        ('{"kty":"AKP"}', "alg"),
    ]:
        with pytest.raises(sealstone.BadKey, match=words):
            VerifyingKey.load(bad)
    with pytest.raises(sealstone.UnknownAlgorithm, match="ES256"):
        VerifyingKey.load(json.dumps(EC | {"alg": "ES256"}))
    with pytest.raises(sealstone.BadKey, match="key set"):
        VerifyingKey.load(sealstone.JwkSet([key.verifying_key]).to_json())
    mixed = json.loads(key.to_jwk()) | {"pub": json.loads(sealstone.generate(key.level).to_jwk())["pub"]}
    with pytest.raises(sealstone.BadKey, match="does not belong to the private key"):
        SigningKey.from_jwk(json.dumps(mixed))
    with pytest.raises(TypeError):
        SigningKey.load(7)
