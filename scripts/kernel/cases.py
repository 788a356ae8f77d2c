"""The table: which files the kernel has to run, and which not. A case is a file with a value of `security.ima`, on one file
system, under one of three policies; what is expected is written down here before any kernel is asked."""

import dataclasses

import forge

LEVELS = ["44", "65", "87"]
# The signature and its header in an attribute: what a file system has to hold.
VALUES = {forge.CURVE: 112, "44": 2429, "65": 3318, "87": 4636}
RUNS, REFUSED = "runs", "refused"

# What becomes of the files of a tree that `sealstone tree sign` signs in the guest: one is altered and one added afterwards.
TREE = {"good": RUNS, "tampered": REFUSED, "added": REFUSED}
# A file's owner says which rule is for it, so that one boot has them all.
OWNERS = {"imasig": 1001, "sigv3": 1003, "verity": 1006}
POLICY = """\
appraise func=BPRM_CHECK fowner=1001 appraise_type=imasig
appraise func=BPRM_CHECK fowner=1003 appraise_type=sigv3
appraise func=BPRM_CHECK fowner=1006 digest_type=verity appraise_type=sigv3
"""
# The largest value of security.ima that each file system holds, and what a larger one is told. ext4 keeps values in one block, less
# its header (32), an entry (20) and an end (4); btrfs in one node, less its header (101), an item's (25 and 30) and the name (12);
# f2fs in one node of 4K beside what is free in the inode.
TOO_LARGE = {
    "ext4": (4040, "ENOSPC"),
    "ext4-1k": (968, "ENOSPC"),
    "ext4-ea": (65536, None),
    "xfs": (65536, None),
    "btrfs": (16216, "ENOSPC"),
    "btrfs-4k": (3928, "ENOSPC"),
    "f2fs": (4241, "E2BIG"),
    "tmpfs": (65536, None),
}


@dataclasses.dataclass
class Case:
    """One row. `alter` changes the file after it was signed; `verity` enables fs-verity on it."""

    name: str
    level: str
    place: str
    expected: str
    value: bytes | None
    policy: str = "imasig"
    alter: bool = False
    verity: bool = False
    note: str = ""


class Keys:
    """Of one level. The kernel is given all of them but `absent`."""

    def __init__(self, tools, level):
        self.own = forge.Key(tools, level, "own")
        self.other = forge.Key(tools, level, "other")
        self.absent = forge.Key(tools, level, "absent")
        self.answers = {self.own: "ok", self.other: "ok"}
        if level == forge.CURVE:
            return
        self.expired = forge.Key(tools, level, "expired", "--not-before", "2020-01-01", "--valid-for", "1d")
        self.nameless = forge.Key(tools, level, "nameless")
        self.nameless.certificate_without_identifier()
        self.forged = forge.Key(tools, level, "forged")
        self.forged.break_certificate()
        # What the kernel has to say when it is given them.
        self.answers |= {self.expired: "ok", self.nameless: "ok", self.forged: "EBADMSG"}


def every(keys, content):
    """All of them: `keys` by level, `content` the program."""
    for level in LEVELS:
        others = [keys[other].own for other in LEVELS if other != level]
        yield from of_level(level, keys[level], others, content)
    yield from of_curve(keys[forge.CURVE], content)
    yield from of_places(keys, content)


def of_level(level, keys, others, content):
    """ML-DSA, on the file system that every distribution has, and where that cannot hold the signature on one that can."""
    place = "ext4" if VALUES[level] <= TOO_LARGE["ext4"][0] else "ext4-ea"
    own = keys.own
    value = forge.good(own, content)
    digest = forge.digest("sha256", content)
    message = forge.file_id("file", "sha256", digest)
    signature = value[9:]

    def case(name, expected, value, **more):
        return Case(name, level, place, expected, value, **more)

    def header(signature, kind="file", version=3, hash_="sha256", key_id=own.id, length=None):
        return forge.record(kind, version, hash_, key_id, signature, length)

    yield case("good", RUNS, value)
    yield case("good, sigv3 asked for", RUNS, value, policy="sigv3")
    yield case("good, with SHA-384", RUNS, forge.good(own, content, "sha384"))
    yield case("good, with SHA-512", RUNS, forge.good(own, content, "sha512"))
    yield case("tampered", REFUSED, value, alter=True)
    yield case("unsigned", REFUSED, None)
    yield case("another file's signature", REFUSED, forge.good(own, content + b"\n"))
    yield case("digest alone", REFUSED, bytes([4, 4]) + digest)

    yield case("other key, under this key's id", REFUSED, header(keys.other.sign(message)))
    yield case("other key that is not loaded", REFUSED, forge.good(keys.absent, content))
    yield case("id of no key", REFUSED, header(signature, key_id=bytes([own.id[0] ^ 1]) + own.id[1:]))
    for other in others:
        yield case(f"id of a key of level {other.level}", REFUSED, header(signature, key_id=other.id))

    for version in 1, 2, 4:
        yield case(f"version {version} header", REFUSED, header(signature, version=version))
    yield case("version 2, the digest signed", REFUSED, header(own.sign(digest), version=2))
    yield case("wrong type: attributes", REFUSED, header(signature, kind="attributes"))
    yield case("wrong type: fs-verity", REFUSED, header(signature, kind="verity"))
    for kind in "attributes", "verity":
        signed = own.sign(forge.file_id(kind, "sha256", digest))
        yield case(f"signed as {kind}, type of a file", REFUSED, header(signed))
    yield case("wrong hash id: SHA-384 in the header", REFUSED, header(signature, hash_="sha384"))
    signed = own.sign(forge.file_id("file", "sha384", digest))
    yield case("wrong hash id: SHA-384 in what is signed", REFUSED, header(signed))
    yield case("hash id that the kernel has not", "EACCES", header(signature, hash_="ripemd160"), note="refused when it is set")
    yield case(
        "hash id beyond all", RUNS, header(signature, hash_="number 255"), note="the kernel takes its own hash, which was signed"
    )

    yield case("signature truncated", REFUSED, header(signature[:-1], length=len(signature)))
    yield case("signature truncated, length too", REFUSED, header(signature[:-1]))
    yield case("signature and a byte more", REFUSED, header(signature + b"\0"))
    yield case("header alone", REFUSED, header(b""))
    size = len(signature)
    for where, at in ("first", 0), ("middle", size // 2), ("last", size - 1):
        changed = signature[:at] + bytes([signature[at] ^ 1]) + signature[at + 1 :]
        yield case(f"one bit changed, {where} byte", REFUSED, header(changed))
    yield case("signature with a context", REFUSED, header(own.sign(message, "--context", "ima")))
    yield case("signature by HashML-DSA", REFUSED, header(own.sign(message, "--pre-hash", "SHA2-256")))
    yield case("the digest signed", REFUSED, header(own.sign(digest)))
    yield case("the file signed", REFUSED, header(own.sign(content)))

    yield case("expired certificate", RUNS, forge.good(keys.expired, content), note="the kernel looks at no date")
    yield case("certificate without an identifier", REFUSED, forge.good(keys.nameless, content), note="nobody finds the key")
    yield case("certificate altered", REFUSED, forge.good(keys.forged, content), note="its key is not taken")

    if place == "ext4":
        verity = dict(policy="verity", verity=True)
        value = forge.good(own, content, kind="verity")
        yield case("fs-verity: good", RUNS, value, **verity)
        yield case("fs-verity: signed as a file", REFUSED, forge.good(own, content), **verity)
        yield case("fs-verity: of another file", REFUSED, forge.good(own, content + b"\n", kind="verity"), **verity)
        yield case("fs-verity: the file has none", REFUSED, value, policy="verity")


def of_curve(keys, content):
    """ECDSA over P-384 with SHA-384, in both versions: what trees have today."""
    own = keys.own
    digest = forge.digest("sha384", content)
    # Its signature is of SHA-384 of what is given: of the file in version 2, and of ima_file_id in version 3.
    second = forge.record("file", 2, "sha384", own.id, own.sign(content))
    third = forge.good(own, content, "sha384")

    def case(name, expected, value, **more):
        return Case(name, forge.CURVE, "ext4", expected, value, **more)

    yield case("version 2: good", RUNS, second)
    yield case("version 2: tampered", REFUSED, second, alter=True)
    yield case("version 2, sigv3 asked for", REFUSED, second, policy="sigv3")
    yield case("version 2: other key, under this key's id", REFUSED, second[:3] + own.id + keys_tail(keys.other, content))
    yield case("version 2: other key that is not loaded", REFUSED, forge.record("file", 2, "sha384", keys.absent.id, keys.absent.sign(content)))
    yield case("version 3: good", RUNS, third)
    yield case("version 3, sigv3 asked for", RUNS, third, policy="sigv3")
    yield case("version 3: tampered", REFUSED, third, alter=True)
    yield case("version 3: other key that is not loaded", REFUSED, forge.good(keys.absent, content, "sha384"))
    yield case("version 2 signature, version 3 header", REFUSED, second[:1] + b"\3" + second[2:])
    yield case("version 3 signature, version 2 header", REFUSED, third[:1] + b"\2" + third[2:])
    signed = own.sign(forge.file_id("verity", "sha384", digest))
    yield case("version 3: signed as verity, type of a file", REFUSED, forge.record("file", 3, "sha384", own.id, signed))
    yield case("unsigned", REFUSED, None)


def keys_tail(key, content):
    """A record from its length on."""
    return forge.record("file", 2, "sha384", key.id, key.sign(content))[7:]


def of_places(keys, content):
    """Each level on each file system: held whole, or refused with the number that the file system has for it."""
    for level in [forge.CURVE, *LEVELS]:
        value = forge.good(keys[level].own, content, "sha384" if level == forge.CURVE else "sha256")
        for place, (most, error) in TOO_LARGE.items():
            if len(value) > most:
                yield Case("good, where it does not fit", level, place, error, value)
                continue
            yield Case("good", level, place, RUNS, value)
            yield Case("tampered", level, place, REFUSED, value, alter=True)
            yield Case("unsigned", level, place, REFUSED, None)


def trees():
    """Where `sealstone tree sign` is asked to sign a tree, and its exit code: 3 where the file system cannot hold signatures."""
    for level in [forge.CURVE, *LEVELS]:
        for place, (most, _) in TOO_LARGE.items():
            yield level, place, "0" if VALUES[level] <= most else "3"
