"""What can go wrong. The words of each say what, where, expected and found, and never a secret."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sealstone._native import Entry


class Error(Exception):
    """Anything that this package raises, but for wrong types (TypeError) and files (OSError)."""


class WrongLength(Error, ValueError):
    """Bytes have another length than the one they must have; a context is longer than 255 bytes."""


class BadKey(Error, ValueError):
    """A key is malformed, contradicts itself, or must not be used so."""


class NoSeed(BadKey):
    """The key is there only in expanded form; what was asked needs its seed."""


class UnknownAlgorithm(Error, ValueError):
    """The algorithm, curve, key type or level is not known here, or not one of ML-DSA."""


class BadSignature(Error):
    """The signature is not one of this key over this message and context. All forgeries look alike."""


class BadClaims(Error, ValueError):
    """Claims to be signed are no JSON object, or one with a member twice."""


class BadToken(Error, ValueError):
    """The token is malformed, or its header asks for what is refused."""


class AlgorithmMismatch(BadToken):
    """The token names another algorithm than its key's. The key decides (RFC 8725, 3.1)."""


class UnknownKey(Error, LookupError):
    """No key of the set has the token's kid; or it has none, and not exactly one key has its algorithm."""


class ClaimRefused(Error):
    """A claim, or the token's typ, is not what the rules want."""


class Expired(ClaimRefused):
    """The token's time is over (RFC 7519, 4.1.4), or it is older than the rules allow."""


class NotYetValid(ClaimRefused):
    """The token's time has not come (RFC 7519, 4.1.5), or it was issued in the future."""


class RngFailed(Error):
    """The operating system gave no randomness, or the cryptographic library failed. Nothing was made or signed."""


class FaultDetected(Error):
    """The machine computed wrongly. Nothing was released."""


class BadCertificate(Error, ValueError):
    """A certificate is malformed, or cannot stand for a key that signs files: it has no subject key identifier, is not valid now,
    or is for another use or another key."""


class BadManifest(Error, ValueError):
    """The manifest of a tree is malformed or unsigned."""


class RefusedTree(Error):
    """Nothing was begun, because it would not work out: the words say why and what to do."""


class BadTree(Error):
    """Some files of a tree are not signed, or not good. `entries` has what became of every file, `bad` those that are not."""

    def __init__(self, entries: "list[Entry]") -> None:
        self.entries = entries
        self.bad = [entry for entry in entries if entry.bad]
        meant = sum(entry.status != "skipped" for entry in entries)
        first = f"; the first is {self.bad[0].path!r}: {self.bad[0].message}" if self.bad else ""
        super().__init__(f"{len(self.bad)} of {meant} files are not good{first}")

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return (Error, (str(self),))
