"""Keys and signatures: whole, in pieces, by mu, many at once; buffers; what is refused."""

import copy
import pickle
import resource

import pytest

import sealstone
from sealstone import SigningKey, VerifyingKey

MESSAGE = b"I sealed this"


def test_sign_and_verify(key):
    public = key.verifying_key
    signature = key.sign(MESSAGE, context=b"letters")
    assert len(signature) == sealstone.signature_len(key.level)
    assert public.verify(MESSAGE, signature, context=b"letters") is None
    for message, context, altered in [
        (b"I sealed that", b"letters", signature),
        (MESSAGE, b"other", signature),
        (MESSAGE, None, signature),
        (MESSAGE, b"letters", signature[:-1]),
        (MESSAGE, b"letters", b""),
        (MESSAGE, b"letters", signature[:100] + bytes([signature[100] ^ 1]) + signature[101:]),
    ]:
        with pytest.raises(sealstone.BadSignature, match="^the signature does not verify$"):
            public.verify(message, altered, context=context)
    with pytest.raises(sealstone.BadSignature):
        sealstone.generate(key.level).verifying_key.verify(MESSAGE, signature, context=b"letters")


def test_hedged_signatures_differ_and_deterministic_ones_do_not(key):
    assert key.sign(MESSAGE) != key.sign(MESSAGE)
    assert key.sign_deterministic(MESSAGE) == key.sign_deterministic(MESSAGE)
    mu = key.verifying_key.mu(MESSAGE)
    assert key.sign_mu(mu) != key.sign_mu(mu)
    assert key.sign_mu_deterministic(mu) == key.sign_deterministic(MESSAGE)
    key.verifying_key.verify(MESSAGE, key.sign_mu(mu))
    key.verifying_key.verify_mu(mu, key.sign(MESSAGE))


def test_pieces_make_the_whole(key):
    message = bytes(range(256)) * 1000
    hasher = key.verifying_key.mu_hasher(context=b"c")
    for start in range(0, len(message), 777):
        hasher.update(message[start : start + 777])
    fork = hasher.copy()
    fork.update(b"more")
    assert hasher.digest() == hasher.digest() == key.verifying_key.mu(message, context=b"c")
    assert fork.digest() == key.verifying_key.mu(message + b"more", context=b"c")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: memoryview(bytearray(b))])
def test_every_kind_of_bytes_is_the_same_message(key, kind):
    # More than one piece, and not a whole number of them.
    message = bytes(range(251)) * 1000
    assert key.verifying_key.mu(kind(message), context=kind(b"c")) == key.verifying_key.mu(message, context=b"c")
    signature = key.sign(kind(message))
    key.verifying_key.verify(kind(message), kind(signature))
    again = SigningKey.from_seed(key.level, kind(key.seed()))
    assert again.verifying_key == key.verifying_key


def test_a_view_with_gaps_is_what_it_shows(key):
    message = bytes(range(200))
    assert key.verifying_key.mu(memoryview(message)[::3]) == key.verifying_key.mu(message[::3])


@pytest.mark.parametrize("bad", ["text", 7, None, [1, 2], memoryview(bytes(8)).cast("I")])
def test_what_is_no_bytes_is_a_type_error(bad):
    key = sealstone.generate("ML-DSA-44")
    with pytest.raises(TypeError, match="message: expected bytes, bytearray or memoryview, found "):
        key.sign(bad)


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_a_large_message_is_not_copied(kind):
    message = kind(128 << 20)
    key = sealstone.generate("ML-DSA-44")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    key.verifying_key.mu(message)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 16 << 10, f"memory grew by {grown} KiB under a message of {len(message) >> 10}"


def test_expanded_keys_sign_and_have_no_seed(key):
    expanded = SigningKey.from_expanded(key.level, key.expanded())
    assert expanded.sign_deterministic(MESSAGE) == key.sign_deterministic(MESSAGE)
    assert len(key.expanded()) == sealstone.expanded_key_len(key.level)
    for refused in [
        expanded.seed, expanded.to_pem, expanded.to_der, expanded.to_jwk, expanded.check, lambda: expanded.with_kid("a"),
        lambda: sealstone.jwt.sign(expanded, {}),
    ]:
        with pytest.raises(sealstone.NoSeed):
            refused()
    altered = bytearray(key.expanded())
    altered[-1] ^= 1
    with pytest.raises(sealstone.BadKey):
        SigningKey.from_expanded(key.level, altered)


def test_wrong_lengths_are_said_in_words(key):
    with pytest.raises(sealstone.WrongLength, match="^seed: expected 32 bytes, found 31$"):
        SigningKey.from_seed(key.level, bytes(31))
    with pytest.raises(sealstone.WrongLength, match="^mu: expected 64 bytes, found 65$"):
        key.sign_mu(bytes(65))
    with pytest.raises(sealstone.WrongLength):
        VerifyingKey.from_bytes(key.level, bytes(key.verifying_key)[:-1])
    with pytest.raises(sealstone.WrongLength, match="255"):
        key.sign(MESSAGE, context=bytes(256))
    key.verifying_key.verify(MESSAGE, key.sign(MESSAGE, context=bytes(255)), context=bytes(255))
    with pytest.raises(sealstone.UnknownAlgorithm, match="ML-DSA-66"):
        sealstone.generate("ML-DSA-66")


def test_batches_of_all_levels():
    keys = [sealstone.generate(level) for level in sealstone.LEVELS] * 7
    jobs = [(key, b"message %d" % number) for number, key in enumerate(keys)]
    signatures = sealstone.sign_batch(jobs, context=b"batch")
    checks = [[key.verifying_key, message, signature] for (key, message), signature in zip(jobs, signatures)]
    for public, message, signature in checks:
        public.verify(message, signature, context=b"batch")
    checks[3][1] = b"another"
    checks[5][2] = b"short"
    checks[9][0] = sealstone.generate("ML-DSA-44").verifying_key
    verdicts = sealstone.verify_batch([tuple(check) for check in checks], context=b"batch")
    assert verdicts == [number not in (3, 5, 9) for number in range(len(checks))]
    assert sealstone.sign_batch([]) == [] and sealstone.verify_batch([]) == []
    with pytest.raises(TypeError):
        sealstone.sign_batch([(keys[0], "text")])


def test_prehashed_mu_is_another_scheme(key):
    import hashlib

    digest = hashlib.sha512(MESSAGE).digest()
    mu = key.verifying_key.prehashed_mu("SHA2-512", digest, context=b"c")
    key.verifying_key.verify_mu(mu, key.sign_mu(mu))
    with pytest.raises(sealstone.BadSignature):
        key.verifying_key.verify(digest, key.sign_mu(mu), context=b"c")
    with pytest.raises(sealstone.WrongLength):
        key.verifying_key.prehashed_mu("SHA2-512", digest[:-1])
    with pytest.raises(sealstone.UnknownAlgorithm):
        key.verifying_key.prehashed_mu("MD5", digest)


def test_nothing_shows_a_secret(key):
    seed, kid = key.seed(), key.kid
    for shown in [repr(key), str(key), f"{key}"]:
        assert shown == f'<sealstone.SigningKey {key.level} kid="{kid}">'
        assert seed.hex() not in shown
    assert not hasattr(key, "__dict__")
    with pytest.raises(AttributeError):
        key.secret = 1


def test_a_private_key_is_not_pickled_nor_copied(key):
    for refused in [lambda: pickle.dumps(key), lambda: copy.copy(key), lambda: copy.deepcopy({"key": key})]:
        with pytest.raises(TypeError, match="to_pem, to_der or to_jwk"):
            refused()
    public = key.verifying_key.with_kid("billing")
    again = pickle.loads(pickle.dumps(public))
    assert again == public and again.kid == "billing" and hash(again) == hash(key.verifying_key)


def test_keys_are_equal_by_value(key):
    assert key.verifying_key == VerifyingKey.from_bytes(key.level, bytes(key.verifying_key))
    assert key.verifying_key != sealstone.generate(key.level).verifying_key
    assert key.verifying_key != 1
    key.check()


def test_errors_are_one_family():
    errors = [getattr(sealstone, name) for name in sealstone.__all__]
    errors = [error for error in errors if isinstance(error, type) and issubclass(error, Exception)]
    assert len(errors) == 19 and all(issubclass(error, sealstone.Error) for error in errors)
    assert all(error.__module__ == "sealstone" and error.__doc__ for error in errors)
    sealstone.self_test()
