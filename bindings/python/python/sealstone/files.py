"""Files signed as the command `sealstone sign` does, and verified as `sealstone verify` does: a detached signature, raw bytes,
beside the file. A file of any size is read once, in constant memory.

>>> import pathlib, sealstone, tempfile
>>> from sealstone import files
>>> letter = pathlib.Path(tempfile.mkdtemp(), "letter.txt")
>>> _ = letter.write_text("Meet me at noon.")
>>> key = sealstone.generate("ML-DSA-65")
>>> files.sign(letter, key).name
'letter.txt.sig'
>>> files.verify(letter, key.verifying_key)
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from sealstone import _whole
from sealstone._errors import BadSignature
from sealstone._native import SigningKey, VerifyingKey, signature_len

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["PRE_HASHES", "mu", "sign", "verify"]

#: The functions of HashML-DSA (FIPS 204, 5.4), as NIST calls them: the name in hashlib, and bytes of the digest of a SHAKE.
PRE_HASHES = {
    "SHA2-224": ("sha224", 0),
    "SHA2-256": ("sha256", 0),
    "SHA2-384": ("sha384", 0),
    "SHA2-512": ("sha512", 0),
    "SHA2-512/224": ("sha512_224", 0),
    "SHA2-512/256": ("sha512_256", 0),
    "SHA3-224": ("sha3_224", 0),
    "SHA3-256": ("sha3_256", 0),
    "SHA3-384": ("sha3_384", 0),
    "SHA3-512": ("sha3_512", 0),
    "SHAKE-128": ("shake_128", 32),
    "SHAKE-256": ("shake_256", 64),
}

#: The path of a file, or what is open to read bytes from, such as `sys.stdin.buffer`.
File: TypeAlias = str | os.PathLike[str] | BinaryIO

# Bytes that are read at a time.
_PIECE = 1 << 20


def mu(file: File, key: VerifyingKey, *, context: "Buffer | None" = None, pre_hash: str | None = None) -> bytes:
    """The representative mu of a file for a key, 64 bytes: what `sealstone sign --compute-mu` prints. A stream is read to its end.

    With `pre_hash` by a digest of the file: HashML-DSA, another scheme than pure ML-DSA. Raises OSError, WrongLength, and
    ValueError for an unknown function.
    """
    if pre_hash is None:
        hasher = key.mu_hasher(context=context)
        with _opened(file) as opened:
            while piece := opened.read(_PIECE):
                hasher.update(piece)
        return hasher.digest()
    if pre_hash not in PRE_HASHES:
        raise ValueError(f"pre_hash: expected one of {', '.join(PRE_HASHES)}, found {pre_hash!r}")
    name, length = PRE_HASHES[pre_hash]
    digest = hashlib.new(name)
    with _opened(file) as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
    # A SHAKE gives as many bytes as it is asked for; the others have one length.
    done = digest.digest(length) if length else digest.digest()  # type: ignore[call-arg]
    return key.prehashed_mu(pre_hash, done, context=context)


def sign(
    file: File,
    key: SigningKey,
    *,
    signature: str | os.PathLike[str] | None = None,
    context: "Buffer | None" = None,
    pre_hash: str | None = None,
    deterministic: bool = False,
    replace: bool = False,
) -> Path:
    """Signs a file, writes the signature and gives its path: FILE.sig, or `signature`, which a stream needs. It appears whole or
    not at all.

    `deterministic` signs without randomness: the same input gives the same signature, at the price of a defence.

    Raises FileExistsError if it is there and `replace` is not said, OSError, RngFailed, and as mu does.
    """
    path = _beside(file, signature)
    with _whole.written(path, replace=replace, option="replace") as written:
        representative = mu(file, key.verifying_key, context=context, pre_hash=pre_hash)
        signed = key.sign_mu_deterministic(representative) if deterministic else key.sign_mu(representative)
        Path(written).write_bytes(signed)
    return path


def verify(
    file: File,
    key: VerifyingKey,
    *,
    signature: str | os.PathLike[str] | None = None,
    context: "Buffer | None" = None,
    pre_hash: str | None = None,
) -> None:
    """Checks the signature of a file: FILE.sig, or `signature`. Returns nothing.

    Raises BadSignature, whatever of file, signature, key, context and function is another; OSError, and as mu does.
    """
    path = _beside(file, signature)
    expected = signature_len(key.level)
    with open(path, "rb") as opened:
        given = opened.read(expected + 1)
    if len(given) != expected:
        more = " or more" if len(given) > expected else ""
        raise BadSignature(f"{path}: expected {expected} bytes of an {key.level} signature, found {len(given)}{more}")
    key.verify_mu(mu(file, key, context=context, pre_hash=pre_hash), given)


@contextlib.contextmanager
def _opened(file: File) -> Iterator[BinaryIO]:
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb", buffering=0) as opened:
            yield opened
    else:
        yield file


def _beside(file: File, signature: str | os.PathLike[str] | None) -> Path:
    if signature is not None:
        return Path(signature)
    if not isinstance(file, (str, os.PathLike)):
        raise ValueError("signature: a stream has no name to put .sig behind")
    return Path(os.fspath(file) + ".sig")
