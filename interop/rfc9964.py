"""The examples of RFC 9964, Appendix A.1: an all-zero seed, a deterministic signature, so every byte is known.

They are not kept here: a partner that signs deterministically writes them again, and the digests below say whether
it wrote the very bytes of the RFC.
"""

import hashlib
import json

from base64url import encode

PAYLOAD = "It\u2019s a dangerous business, Frodo, going out your door."

# level: the key's thumbprint (RFC 9964 §6), SHA-256 of the compact JWS
EXAMPLES = {
    "ML-DSA-44": (
        "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o",
        "2ae7b395a71470a610a0d8b6443fd4784d93ba2b7d0a752da58264eb0fd338e8",
    ),
    "ML-DSA-65": (
        "Suiu29qbfuaBaR4Ats-c6XQBePB_OpAxAwcTR_0KXVM",
        "bb1a49c32f37f5f750e73fcc6fd7cbd8cf683e8b0270b1420c02e2e63e66bc01",
    ),
    "ML-DSA-87": (
        "tRn1JNIkgMsABVQBlXeDHxAIcclh-2IX0UdDEzPt5XU",
        "7102258ffe720c7430bf087b3283867b559d7479d1142162369fec672e1804aa",
    ),
}


def examples(report, partners):
    """Each deterministic partner writes each example, every partner verifies it."""
    for level, (thumbprint, digest) in EXAMPLES.items():
        written = {}
        for maker in filter(lambda partner: partner.deterministic, partners):
            with report.case(maker, "writes", "RFC 9964 example", level):
                keys = maker.make_key(level, seed=encode(bytes(32)))
                token = maker.sign_token(level, "private jwk", keys["private jwk"], PAYLOAD, None, deterministic=True)
                same(json.loads(keys["jwks"])["keys"][0]["kid"], thumbprint)
                same(hashlib.sha256(token.encode()).hexdigest(), digest)
                written = {"token": token, "form": "jwks", "key": keys["jwks"]}
        for verifier in partners if written else []:
            with report.case(verifier, "verifies", "RFC 9964 example", level):
                same(verifier.check_token(level=level, **written), PAYLOAD)


def same(found, expected):
    if found != expected:
        raise AssertionError(f"found {found}, expected {expected}")
