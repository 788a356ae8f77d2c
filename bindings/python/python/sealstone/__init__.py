"""ML-DSA (FIPS 204): signatures that a quantum computer does not forge.

>>> import sealstone
>>> key = sealstone.generate("ML-DSA-65")
>>> signature = key.sign(b"Meet me at noon.")
>>> key.verifying_key.verify(b"Meet me at noon.", signature)
>>> key.verifying_key.verify(b"Meet me at one.", signature)
Traceback (most recent call last):
    ...
sealstone.BadSignature: the signature does not verify

Keys are read and written in PEM, DER and JWK; `sealstone.jwt` and `sealstone.jws` sign and verify tokens, `sealstone.files`
files of any size, `sealstone.tree` whole trees as Linux checks them. What is bytes may be bytes, bytearray or memoryview. Signing, verifying and making keys run without the
interpreter's lock; keys can be used by any number of threads.
"""

from sealstone import files, jws, jwt, tree
from sealstone._errors import (
    AlgorithmMismatch,
    BadCertificate,
    BadClaims,
    BadKey,
    BadManifest,
    BadSignature,
    BadToken,
    BadTree,
    ClaimRefused,
    Error,
    Expired,
    FaultDetected,
    NoSeed,
    NotYetValid,
    RefusedTree,
    RngFailed,
    UnknownAlgorithm,
    UnknownKey,
    WrongLength,
)
from sealstone._native import (
    JwkSet,
    MuHasher,
    SigningKey,
    VerifyingKey,
    __version__,
    expanded_key_len,
    generate,
    public_key_len,
    self_test,
    sign_batch,
    signature_len,
    verify_batch,
)

#: The parameter sets of FIPS 204, weakest first: categories 2, 3 and 5.
LEVELS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")

for _error in list(globals().values()):
    if isinstance(_error, type) and issubclass(_error, Error):
        # Tracebacks and documentation call them as their users do.
        _error.__module__ = "sealstone"
del _error

__all__ = [
    "LEVELS",
    "AlgorithmMismatch",
    "BadCertificate",
    "BadClaims",
    "BadKey",
    "BadManifest",
    "BadSignature",
    "BadToken",
    "BadTree",
    "ClaimRefused",
    "Error",
    "Expired",
    "FaultDetected",
    "JwkSet",
    "MuHasher",
    "NoSeed",
    "NotYetValid",
    "RefusedTree",
    "RngFailed",
    "SigningKey",
    "UnknownAlgorithm",
    "UnknownKey",
    "VerifyingKey",
    "WrongLength",
    "__version__",
    "expanded_key_len",
    "files",
    "generate",
    "jws",
    "jwt",
    "public_key_len",
    "self_test",
    "sign_batch",
    "signature_len",
    "tree",
    "verify_batch",
]
