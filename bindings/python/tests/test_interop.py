"""Implementations that others wrote, both ways, at each level: pyca/cryptography (OpenSSL) and jwcrypto."""

import json
import time

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization as form_of
from cryptography.hazmat.primitives.asymmetric import mldsa
from jwcrypto import jwk, jwt as their_jwt
from jwcrypto.common import JWException

import sealstone
from sealstone import SigningKey, VerifyingKey, jwt

PRIVATE = {level: getattr(mldsa, f"{level.replace('-', '')}PrivateKey") for level in sealstone.LEVELS}
PUBLIC = {level: getattr(mldsa, f"{level.replace('-', '')}PublicKey") for level in sealstone.LEVELS}


def test_pyca_verifies_what_we_sign(key):
    theirs = PUBLIC[key.level].from_public_bytes(bytes(key.verifying_key))
    theirs.verify(key.sign(b"m"), b"m")
    theirs.verify(key.sign(b"m", context=b"c"), b"m", b"c")
    theirs.verify_mu(key.sign_mu(key.verifying_key.mu(b"m")), key.verifying_key.mu(b"m"))
    for signature in sealstone.sign_batch([(key, b"m")] * 9):
        theirs.verify(signature, b"m")
    with pytest.raises(InvalidSignature):
        theirs.verify(key.sign(b"m"), b"n")


def test_we_verify_what_pyca_signs(level):
    theirs = PRIVATE[level].generate()
    public = VerifyingKey.from_bytes(level, theirs.public_key().public_bytes_raw())
    public.verify(b"m", theirs.sign(b"m"))
    public.verify(b"m", theirs.sign(b"m", b"c"), context=b"c")
    public.verify_mu(public.mu(b"m"), theirs.sign_mu(public.mu(b"m")))
    assert sealstone.verify_batch([(public, b"m", theirs.sign(b"m"))] * 9) == [True] * 9
    with pytest.raises(sealstone.BadSignature):
        public.verify(b"n", theirs.sign(b"m"))


def test_pyca_reads_our_keys_and_we_theirs(key):
    private = form_of.load_pem_private_key(key.to_pem().encode(), password=None)
    assert isinstance(private, PRIVATE[key.level]) and private.private_bytes_raw() == key.seed()
    assert form_of.load_der_private_key(key.to_der(), password=None).private_bytes_raw() == key.seed()
    public = form_of.load_pem_public_key(key.verifying_key.to_pem().encode())
    assert isinstance(public, PUBLIC[key.level]) and public.public_bytes_raw() == bytes(key.verifying_key)
    theirs = PRIVATE[key.level].generate()
    for encoding in (form_of.Encoding.PEM, form_of.Encoding.DER):
        written = theirs.private_bytes(encoding, form_of.PrivateFormat.PKCS8, form_of.NoEncryption())
        assert SigningKey.load(written).seed() == theirs.private_bytes_raw()
        written = theirs.public_key().public_bytes(encoding, form_of.PublicFormat.SubjectPublicKeyInfo)
        assert bytes(VerifyingKey.load(written)) == theirs.public_key().public_bytes_raw()


def test_one_seed_is_one_key(key):
    theirs = PRIVATE[key.level].from_seed_bytes(key.seed())
    assert theirs.public_key().public_bytes_raw() == bytes(key.verifying_key)


def test_jwcrypto_verifies_our_tokens(key):
    token = jwt.sign(key, {"iss": "us", "exp": int(time.time()) + 60})
    theirs = jwk.JWK.from_json(key.verifying_key.to_jwk())
    assert json.loads(their_jwt.JWT(jwt=token, key=theirs, algs=[key.level]).claims)["iss"] == "us"
    keys = jwk.JWKSet.from_json(sealstone.JwkSet([key.verifying_key]).to_json())
    assert json.loads(their_jwt.JWT(jwt=token, key=keys, algs=[key.level]).claims)["iss"] == "us"
    other = jwk.JWK.from_json(sealstone.generate(key.level).verifying_key.to_jwk())
    with pytest.raises(JWException):
        their_jwt.JWT(jwt=token, key=other, algs=[key.level])


def test_we_verify_the_tokens_of_jwcrypto(level):
    theirs = jwk.JWK.generate(kty="AKP", alg=level)
    token = their_jwt.JWT(header={"alg": level, "typ": "JWT"}, claims={"iss": "them", "exp": int(time.time()) + 60})
    token.make_signed_token(theirs)
    public = VerifyingKey.from_jwk(theirs.export_public())
    assert jwt.verify(token.serialize(), public, jwt.Rules(issuer="them"))["iss"] == "them"
    with pytest.raises(sealstone.BadSignature):
        jwt.verify(token.serialize(), sealstone.generate(level).verifying_key, jwt.Rules(issuer="them"))


def test_jwcrypto_signs_with_our_key_and_we_with_theirs(key):
    theirs = jwk.JWK.from_json(key.to_jwk())
    assert theirs.thumbprint() == key.verifying_key.thumbprint
    token = their_jwt.JWT(header={"alg": key.level, "typ": "JWT"}, claims={"iss": "them", "exp": int(time.time()) + 60})
    token.make_signed_token(theirs)
    jwt.verify(token.serialize(), key.verifying_key, jwt.Rules(issuer="them"))
    made = jwk.JWK.generate(kty="AKP", alg=key.level)
    ours = SigningKey.from_jwk(made.export_private())
    assert ours.verifying_key.thumbprint == made.thumbprint()
    their_jwt.JWT(jwt=jwt.sign(ours, {"exp": int(time.time()) + 60}), key=made, algs=[key.level])
