"""Signed file trees, as the command `sealstone tree` has them: every file gets a signature that Linux (7.2, Integrity Measurement
Architecture) checks before it runs the file, in the attribute `security.ima`, or in a manifest beside the tree.

>>> import pathlib, sealstone, tempfile
>>> from sealstone import tree
>>> image = pathlib.Path(tempfile.mkdtemp(), "image")
>>> (image / "bin").mkdir(parents=True)
>>> _ = (image / "bin" / "run").write_text("#!/bin/sh")
>>> key = sealstone.generate("ML-DSA-65")
>>> tree.sign(image, key, store="manifest")
[<sealstone.tree.Entry "bin/run" listed>]
>>> manifest = image.with_name("image.manifest")
>>> len(tree.verify(image, key.verifying_key, manifest=manifest))
1
>>> _ = (image / "bin" / "run").write_text("#!/bin/rc")
>>> [(entry.path, entry.reason) for entry in tree.verdicts(image, key.verifying_key, manifest=manifest)]
[('bin/run', 'content-differs')]

No symbolic link is followed in the tree, a file of several names is signed once, and another file system that is mounted in it is
left out unless the rules say so. Files are read and signed by as many threads as there are processors, without the interpreter's
lock.
"""

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from sealstone import _whole
from sealstone._errors import BadTree
from sealstone._native import (
    Entries,
    Entry,
    SigningKey,
    VerifyingKey,
    tree_apply,
    tree_extract,
    tree_sign,
    tree_verify,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

    # A certificate in PEM or DER, or a public key; or several of them. The certificates of a PEM text are all trusted.
    _Trusted: TypeAlias = VerifyingKey | str | Buffer | Sequence[VerifyingKey | str | Buffer]

__all__ = ["STORES", "Entries", "Entry", "Rules", "apply", "extract", "sign", "verdicts", "verify"]

#: Attributes that keep signatures: "xattr" is the kernel's, which root writes; "user-xattr" has the same bytes, and the owner of a
#: file writes it.
STORES: Final = {"xattr": "security.ima", "user-xattr": "user.ima"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which files of a tree are meant. By default every regular file.

    exclude: leaves out what matches, as a line of .gitignore says it.
    include: takes only what matches one of these.
    only_executable: takes only files that somebody may execute.
    min_size: takes only files of so many bytes at least.
    cross_mounts: walks other file systems that are mounted in the tree, too.
    """

    exclude: Sequence[str] = ()
    include: Sequence[str] = ()
    only_executable: bool = False
    min_size: int = 0
    cross_mounts: bool = False

    def __post_init__(self) -> None:
        for name in ("exclude", "include"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name}: expected lines, found one text")
        if self.min_size < 0:
            raise ValueError(f"min_size: expected bytes, 0 or more, found {self.min_size}")


def sign(
    directory: str | os.PathLike[str],
    key: SigningKey,
    *,
    certificate: "str | Buffer | None" = None,
    store: Literal["xattr", "user-xattr", "manifest"] = "xattr",
    manifest: str | os.PathLike[str] | None = None,
    keep_signatures: bool = False,
    rules: Rules = Rules(),
    hash: Literal["sha256", "sha384", "sha512"] = "sha256",
    replace: bool = False,
    force: bool = False,
    dry_run: bool = False,
    tested: bool = False,
    jobs: int | None = None,
) -> list[Entry]:
    """Signs every file that the rules take, and gives what became of each.

    What this key signed already is kept, so the same call finishes what was interrupted. A signature names its key by the
    certificate's subject key identifier: a kernel finds it by no other name.

    certificate: that of the key, in PEM or DER. Without it the name is the SHA-1 of the key's bits.
    store: the attribute, or "manifest" for a signed list alone: DIRECTORY.manifest, or `manifest`.
    manifest: the list is also written beside an attribute. It appears whole or not at all.
    keep_signatures: the list has each file's signature, too, for `apply`.
    replace: overwrites signatures of other keys.
    force: replaces a manifest that is there.
    dry_run: writes nothing: "would-sign" is what would be signed.
    tested: signs although this kernel would refuse the files: it has a policy, and no ML-DSA.
    jobs: threads; None: as many as there are processors.

    Raises BadTree if a file is not signed; RefusedTree, OSError, FileExistsError, NoSeed, BadCertificate, ValueError before
    anything is written.
    """
    attribute = None if store == "manifest" else _attribute(store)
    place = None if dry_run else _place(directory, manifest, needed=store == "manifest")
    if keep_signatures and place is None and not dry_run:
        raise ValueError("keep_signatures: no manifest is written to keep them in")
    with contextlib.ExitStack() as stack:
        written = None if place is None else stack.enter_context(_whole.written(place, replace=force, option="force"))
        how = _How(attribute, written, _label(directory), keep_signatures, hash, replace, dry_run, tested)
        return _all(tree_sign(directory, key, certificate, int(time.time()), _Selection.of(rules, jobs), how))


def verify(
    directory: str | os.PathLike[str],
    trusted: "_Trusted",
    *,
    store: Literal["xattr", "user-xattr"] = "xattr",
    manifest: str | os.PathLike[str] | None = None,
    rules: Rules | None = None,
    allow_unsigned: Sequence[str] = (),
    jobs: int | None = None,
) -> list[Entry]:
    """Checks every file that the rules take: what it gives are entries of which none is bad.

    trusted: a certificate in PEM or DER, or a public key; or a sequence of them. All certificates of a PEM text are trusted as they
        stand: no chain is followed.
    store: the attribute in which signatures are.
    manifest: a signed list to verify by, whose rules are then those of the tree.
    allow_unsigned: files that may be unsigned, or not in the manifest, as lines of .gitignore.

    Raises BadTree, which has all entries, if a file is not good; and as verdicts does.
    """
    return _all(
        verdicts(
            directory, trusted, store=store, manifest=manifest, rules=rules, allow_unsigned=allow_unsigned, jobs=jobs
        )
    )


def verdicts(
    directory: str | os.PathLike[str],
    trusted: "_Trusted",
    *,
    store: Literal["xattr", "user-xattr"] = "xattr",
    manifest: str | os.PathLike[str] | None = None,
    rules: Rules | None = None,
    allow_unsigned: Sequence[str] = (),
    jobs: int | None = None,
) -> Entries:
    """The same one by one, in the order of the tree, in bounded memory for any number of files: a bad file is an entry, and raises
    nothing.

    Raises BadSignature, BadManifest and UnknownKey for a manifest that nobody whom you trust made; BadCertificate, OSError,
    ValueError.
    """
    if manifest is not None and rules is not None:
        raise ValueError("rules: a manifest has its own")
    if isinstance(allow_unsigned, str):
        raise TypeError("allow_unsigned: expected lines, found one text")
    selection = _Selection.of(rules or Rules(), jobs)
    by = _By(_attribute(store), manifest, list(allow_unsigned))
    return tree_verify(directory, _each(trusted), int(time.time()), selection, by)


def extract(
    directory: str | os.PathLike[str],
    *,
    manifest: str | os.PathLike[str] | None = None,
    store: Literal["xattr", "user-xattr"] = "xattr",
    rules: Rules = Rules(),
    skip_unsigned: bool = False,
    force: bool = False,
    jobs: int | None = None,
) -> list[Entry]:
    """Copies the signatures of a tree into a manifest, DIRECTORY.manifest, which passes through archives that lose attributes. The
    list itself is not signed: `apply` checks each signature in it.

    skip_unsigned: leaves files without a signature out, instead of raising.
    force: replaces a manifest that is there.

    Raises BadTree if a file has no signature, and writes nothing then; FileExistsError, OSError, ValueError.
    """
    place = _place(directory, manifest, needed=True)
    assert place is not None
    selection = _Selection.of(rules, jobs)
    with _whole.written(place, replace=force, option="force") as written:
        now = int(time.time())
        label = _label(directory)
        return _all(tree_extract(directory, written, label, now, selection, _attribute(store), skip_unsigned))


def apply(
    manifest: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    trusted: "_Trusted",
    *,
    store: Literal["xattr", "user-xattr"] = "xattr",
    replace: bool = False,
    jobs: int | None = None,
) -> list[Entry]:
    """Writes the signatures of a manifest to the files of a tree: each only where it is a trusted key's over the file as it is. A
    file that has a good signature by the same key keeps that one.

    replace: overwrites signatures of other keys, and what nobody can read.

    Raises BadTree if one was not written; BadManifest, BadCertificate, OSError.
    """
    selection = _Selection.of(Rules(), jobs)
    now = int(time.time())
    return _all(tree_apply(manifest, directory, _each(trusted), now, selection, _attribute(store), replace))


def _all(entries: Entries) -> list[Entry]:
    with contextlib.closing(entries):
        gathered = list(entries)
    if any(entry.bad for entry in gathered):
        raise BadTree(gathered)
    return gathered


def _attribute(store: str) -> str:
    if store not in STORES:
        raise ValueError(f"store: expected one of {', '.join(STORES)}, found {store!r}")
    return STORES[store]


def _each(trusted: "_Trusted") -> "list[VerifyingKey | str | Buffer]":
    if isinstance(trusted, Sequence) and not isinstance(trusted, (str, bytes, bytearray, memoryview)):
        return list(trusted)
    return [trusted]


def _label(directory: str | os.PathLike[str]) -> bytes:
    return os.fsencode(Path(directory).name or "/")


def _place(
    directory: str | os.PathLike[str], manifest: str | os.PathLike[str] | None, *, needed: bool
) -> Path | None:
    """Where a manifest goes: beside the tree, never in it, for it would be part of what it describes."""
    if manifest is None:
        if not needed:
            return None
        if not Path(directory).name:
            raise ValueError(f"{directory} has no name to call a manifest by: manifest=FILE names it")
        manifest = os.fspath(directory).rstrip("/") + ".manifest"
    place = Path(manifest)
    if place.parent.resolve().is_relative_to(Path(directory).resolve()):
        raise ValueError(f"{place} would lie in the tree that it describes: manifest=FILE names a place outside")
    return place


@dataclass(frozen=True, slots=True)
class _How:
    attribute: str | None
    manifest: str | None
    label: bytes
    keep_signatures: bool
    hash: str
    replace: bool
    dry_run: bool
    tested: bool


@dataclass(frozen=True, slots=True)
class _By:
    attribute: str
    manifest: str | os.PathLike[str] | None
    allow_unsigned: list[str]


@dataclass(frozen=True, slots=True)
class _Selection:
    exclude: list[str]
    include: list[str]
    only_executable: bool
    min_size: int
    cross_mounts: bool
    jobs: int | None

    @staticmethod
    def of(rules: Rules, jobs: int | None) -> "_Selection":
        if jobs is not None and not 1 <= jobs <= 64:
            raise ValueError(f"jobs: expected 1 to 64 threads, found {jobs}")
        exclude, include = list(rules.exclude), list(rules.include)
        return _Selection(exclude, include, rules.only_executable, rules.min_size, rules.cross_mounts, jobs)
