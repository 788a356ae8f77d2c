"""Signatures of files as Linux IMA keeps them: one side signs, the other verifies. What is signed (struct ima_file_id of Linux) and
the value of the attribute are put together here, by nobody's library."""

import hashlib
import os
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path

from partner import Broken, Refused

FILE, VERITY = 3, 6  # EVM_IMA_XATTR_DIGSIG, IMA_VERITY_DIGSIG
HASHES = {"sha256": 4, "sha512": 6}  # include/uapi/linux/hash_info.h
HEADER = 9
CONTENT = b"interop: a file"
USER_IMA = "user.ima"


def exchange(report, levels, sealstone, partner, work):
    """Both ways; `partner` signs and verifies bytes."""
    if not {"sign-bytes", "check-bytes"} <= {*partner.asks} or "make-certificate" not in sealstone.asks:
        return
    try:
        place = folder(work)
    except OSError as why:
        report.skip(f"IMA with {partner.name}", f"no folder here keeps attributes of files as long as signatures: {why}")
        return
    with place as tree:
        for level in levels:
            for name in HASHES:
                signed = f"IMA, {len(file_id(FILE, name))} bytes ({name})"
                with report.case(partner, "Sealstone to partner", signed, level):
                    ours_by_theirs(sealstone, partner, level, name, Path(tree))
                with report.case(partner, "partner to Sealstone", signed, level):
                    theirs_by_ours(sealstone, partner, level, name, Path(tree))


def ours_by_theirs(sealstone, partner, level, name, tree):
    made = sealstone.ask("make-certificate", level=level, subject="CN=interop files")
    file = written(tree)
    sealstone.sign_tree(tree, made["private pem"], made["certificate"], name)
    value = os.getxattr(file, USER_IMA)
    header, signature = value[:HEADER], value[HEADER:]
    if header != head(made["certificate"], name, signature, partner):
        raise Broken(f"another header: {header.hex()}")
    good = {"certificate": made["certificate"], "data": text(file_id(FILE, name)), "signature": text(signature)}
    partner.ask("check-bytes", **good)
    for wrong in [
        {"data": text(file_id(VERITY, name))},
        {"data": text(hashlib.new(name, CONTENT).digest())},
        {"signature": text(flipped(signature))},
    ]:
        refused(lambda: partner.ask("check-bytes", **good | wrong))


def theirs_by_ours(sealstone, partner, level, name, tree):
    made = partner.ask("make-certificate", level=level, subject="CN=interop files")
    file = written(tree)
    sign = lambda data: b64decode(partner.ask("sign-bytes", key=made["private pem"], data=text(data))["signature"])

    def check(signature):
        os.setxattr(file, USER_IMA, head(made["certificate"], name, signature, partner) + signature)
        sealstone.check_tree(tree, made["certificate"])

    good = sign(file_id(FILE, name))
    check(good)
    for wrong in [flipped(good), sign(file_id(VERITY, name)), sign(hashlib.new(name, CONTENT).digest())]:
        refused(lambda: check(wrong))
    check(good)
    file.write_bytes(CONTENT.upper())
    refused(lambda: sealstone.check_tree(tree, made["certificate"]))


def file_id(kind, name):
    """What is signed."""
    return bytes([kind, HASHES[name]]) + hashlib.new(name, CONTENT).digest()


def head(certificate, name, signature, partner):
    """What stands before the signature: type, version, hash function, the end of the subject key identifier, length."""
    key_id = bytes.fromhex(partner.ask("key-identifier", certificate=certificate)["identifier"])[-4:]
    return bytes([FILE, 3, HASHES[name]]) + key_id + len(signature).to_bytes(2, "big")


def written(tree):
    file = tree / "file"
    file.unlink(missing_ok=True)
    file.write_bytes(CONTENT)
    return file


def folder(work):
    """Where attributes of 4636 bytes are kept: ext4 keeps 4040."""
    why = OSError("none")
    for place in [work, "/dev/shm"]:
        try:
            with tempfile.NamedTemporaryFile(dir=place) as probe:
                os.setxattr(probe.name, USER_IMA, bytes(4636))
            return tempfile.TemporaryDirectory(dir=place, prefix="sealstone-ima-")
        except OSError as error:
            why = error
    raise why


def flipped(signature):
    return signature[:100] + bytes([signature[100] ^ 1]) + signature[101:]


def refused(ask):
    try:
        ask()
    except Refused:
        return
    raise Broken("what was changed, or is of something else, is taken")


def text(data):
    return b64encode(data).decode()
