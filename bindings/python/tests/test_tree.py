"""Signed file trees, and the command that does the same."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import sealstone
from sealstone import tree

COMMAND = os.environ.get("SEALSTONE_COMMAND")
command = pytest.mark.skipif(COMMAND is None, reason="SEALSTONE_COMMAND names no command")


@pytest.fixture
def image(tmp_path):
    """Where users may write attributes: not in every temporary folder."""
    root = tmp_path / "image"
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "usr" / "bin" / "run").write_bytes(b"#!/bin/sh\n")
    (root / "usr" / "bin" / "run").chmod(0o755)
    os.link(root / "usr" / "bin" / "run", root / "usr" / "bin" / "walk")
    (root / "empty").touch()
    (root / "large").write_bytes(bytes(300_000))
    (root / os.fsdecode(b"not\xffutf8")).write_text("x")
    os.symlink("usr/bin", root / "bin")
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture
def attributes(image, key):
    try:
        os.setxattr(image / "empty", "user.ima", bytes(9 + sealstone.signature_len(key.level)))
        os.removexattr(image / "empty", "user.ima")
    except OSError as why:
        # ext4 takes none of ML-DSA-87: nothing is begun then.
        with pytest.raises(sealstone.RefusedTree, match="image: .*; hint: "):
            tree.sign(image, key, store="user-xattr")
        assert not any(path.name.startswith(".sealstone") for path in image.iterdir())
        pytest.skip(f"{image} does not keep them: {why}")
    return image


def words(entries):
    return {entry.path: entry.status if entry.status != "bad" else entry.reason for entry in entries}


MEANT = ["empty", "large", os.fsdecode(b"not\xffutf8"), "usr/bin/run", "usr/bin/walk"]


def test_by_attributes(attributes, key):
    would = words(tree.sign(attributes, key, store="user-xattr", dry_run=True))
    assert would["large"] == would["usr/bin/run"] == "would-sign" and not os.listxattr(attributes / "large")
    signed = tree.sign(attributes, key, store="user-xattr")
    assert words(signed) == {
        "bin": "skipped", "empty": "signed", "large": "signed", MEANT[2]: "signed", "pipe": "skipped",
        "usr/bin/run": "signed", "usr/bin/walk": "skipped",
    }  # fmt: skip
    assert {entry.path: entry.reason for entry in signed if entry.status == "skipped"} == {
        "bin": "symbolic link", "pipe": "named pipe", "usr/bin/walk": "hard link",
    }  # fmt: skip
    value = os.getxattr(attributes / "large", "user.ima")
    assert value[:3] == b"\x03\x03\x04" and len(value) == 9 + sealstone.signature_len(key.level)
    found = tree.verify(attributes, key.verifying_key, store="user-xattr")
    assert {entry.key_id for entry in found if entry.status == "good"} == {f"id:{value[3:7].hex()}"}
    assert sum(entry.bytes for entry in found) == 300_000 + 10 + 1
    again = tree.sign(attributes, key, store="user-xattr")
    assert {entry.status for entry in again} == {"kept", "skipped"}


def test_what_is_not_good_is_raised_and_named(attributes, key):
    tree.sign(attributes, key, store="user-xattr", rules=tree.Rules(exclude=["empty"]))
    (attributes / "large").write_bytes(b"another")
    other = sealstone.generate("ML-DSA-44")
    tree.sign(attributes, other, store="user-xattr", replace=True, rules=tree.Rules(include=["/usr/"]))
    with pytest.raises(sealstone.BadTree, match="3 of 4 files are not good") as caught:
        tree.verify(attributes, key.verifying_key, store="user-xattr")
    assert words(caught.value.bad) == {"empty": "unsigned", "large": "does-not-verify", "usr/bin/run": "unknown-key"}
    assert len(caught.value.entries) == 7
    verdicts = tree.verdicts(attributes, [key.verifying_key, other.verifying_key], store="user-xattr", allow_unsigned=["e*"])
    found = words(verdicts)
    assert found["empty"] == "allowed-unsigned" and found["usr/bin/run"] == "good" and found["large"] == "does-not-verify"
    # Another key's signature stays, and that too is raised.
    with pytest.raises(sealstone.BadTree) as caught:
        tree.sign(attributes, key, store="user-xattr")
    assert words(caught.value.bad) == {"usr/bin/run": "other-key"}


def test_by_a_manifest(image, key):
    assert words(tree.sign(image, key, store="manifest")) == dict.fromkeys(MEANT, "listed") | {
        "bin": "skipped", "pipe": "skipped",
    }  # fmt: skip
    manifest = image.with_name("image.manifest")
    assert manifest.stat().st_mode & 0o777 == 0o644
    tree.verify(image, key.verifying_key, manifest=manifest)
    (image / "new").touch()
    (image / "empty").unlink()
    (image / "usr" / "bin" / "run").chmod(0o4755)
    found = words(tree.verdicts(image, key.verifying_key, manifest=manifest))
    assert {path: word for path, word in found.items() if word not in ("good", "skipped")} == {
        "empty": "missing", "new": "unlisted", "usr/bin/run": "mode-differs", "usr/bin/walk": "mode-differs",
    }  # fmt: skip


def test_a_manifest_that_nobody_trusted_made(image, key):
    tree.sign(image, key, store="manifest")
    manifest = image.with_name("image.manifest")
    with pytest.raises(sealstone.UnknownKey):
        tree.verdicts(image, sealstone.generate(key.level).verifying_key, manifest=manifest)
    text = manifest.read_bytes()
    manifest.write_bytes(text.replace(b" 0755 ", b" 4755 "))
    with pytest.raises(sealstone.BadSignature):
        tree.verdicts(image, key.verifying_key, manifest=manifest)
    manifest.write_bytes(text.replace(b"manifest 1", b"manifest 2"))
    with pytest.raises(sealstone.BadManifest, match="line 1"):
        tree.verdicts(image, key.verifying_key, manifest=manifest)
    with pytest.raises(ValueError, match="a manifest has its own"):
        tree.verdicts(image, key.verifying_key, manifest=manifest, rules=tree.Rules())


def test_a_manifest_appears_whole_or_not_at_all(image, key):
    manifest = image.with_name("image.manifest")
    tree.sign(image, key, store="manifest", dry_run=True)
    assert not manifest.exists()
    with pytest.raises(ValueError, match="would lie in the tree"):
        tree.sign(image, key, store="manifest", manifest=image / "usr" / "list")
    with pytest.raises(ValueError, match="keep_signatures"):
        tree.sign(image, key, store="xattr", keep_signatures=True)
    tree.sign(image, key, store="manifest")
    first = manifest.read_bytes()
    with pytest.raises(FileExistsError, match="force=True"):
        tree.sign(image, key, store="manifest")
    assert manifest.read_bytes() == first
    tree.sign(image, key, store="manifest", force=True)
    assert manifest.read_bytes() != first
    assert sorted(path.name for path in image.parent.iterdir()) == ["image", "image.manifest"]


def test_signatures_travel(attributes, key, tmp_path):
    tree.sign(attributes, key, store="manifest", keep_signatures=True)
    manifest = attributes.with_name("image.manifest")
    copy = tmp_path / "copy"
    shutil.copytree(attributes, copy, symlinks=True, ignore=shutil.ignore_patterns("pipe"))
    applied = tree.apply(manifest, copy, key.verifying_key, store="user-xattr")
    assert words(applied) == dict.fromkeys(MEANT, "applied")
    assert words(tree.apply(manifest, copy, key.verifying_key, store="user-xattr")) == dict.fromkeys(MEANT, "kept")
    tree.verify(copy, key.verifying_key, store="user-xattr")
    other, theirs = sealstone.generate("ML-DSA-44"), tmp_path / "theirs"
    tree.sign(copy, other, store="manifest", manifest=theirs, keep_signatures=True)
    with pytest.raises(sealstone.BadTree) as caught:
        tree.apply(theirs, copy, other.verifying_key, store="user-xattr")
    assert set(words(caught.value.bad).values()) == {"other-key"}
    tree.verify(copy, key.verifying_key, store="user-xattr")
    tree.apply(theirs, copy, other.verifying_key, store="user-xattr", replace=True)
    tree.apply(manifest, copy, key.verifying_key, store="user-xattr", replace=True)
    back = tmp_path / "back"
    assert {entry.status for entry in tree.extract(copy, manifest=back, store="user-xattr")} <= {"extracted", "skipped"}
    (copy / "large").write_text("another")
    with pytest.raises(sealstone.BadTree) as caught:
        tree.apply(back, copy, key.verifying_key, store="user-xattr")
    assert words(caught.value.bad) == {"large": "does-not-verify"}
    (copy / "new").touch()
    with pytest.raises(sealstone.BadTree) as caught:
        tree.extract(copy, manifest=back, store="user-xattr", force=True)
    assert words(caught.value.bad) == {"new": "unsigned"}
    tree.extract(copy, manifest=back, store="user-xattr", force=True, skip_unsigned=True)


def test_a_disk_without_room_is_refused_before_its_first_file(tmp_path):
    disk, place = tmp_path / "disk", tmp_path / "place"
    place.mkdir()
    with disk.open("wb") as file:
        file.truncate(8 << 20)
    made = "PATH=$PATH:/usr/sbin:/sbin; mkfs.ext4 -q -F -b 4096 -m 0 disk && mount -o loop disk place"
    if subprocess.run(["sh", "-c", made], cwd=tmp_path, capture_output=True).returncode != 0:
        pytest.skip("only root mounts, and mkfs.ext4 has to be there")
    try:
        image = place / "image"
        image.mkdir()
        for number in range(100):
            (image / str(number)).touch()
        with contextlib.suppress(OSError), (place / "filler").open("wb") as filler:
            while True:
                filler.write(bytes(1 << 16))
        os.truncate(place / "filler", (place / "filler").stat().st_size - 50 * 4096)
        os.sync()
        key = sealstone.generate("ML-DSA-65")
        with pytest.raises(sealstone.RefusedTree, match="signing 100 files takes up to 409600 bytes of ext4, .*; hint: make room"):
            tree.sign(image, key, store="user-xattr")
        assert not any(os.listxattr(path) for path in image.iterdir())
        (place / "filler").unlink()
        os.sync()
        assert {entry.status for entry in tree.sign(image, key, store="user-xattr")} == {"signed"}
    finally:
        subprocess.run(["umount", place], check=True)


def test_rules(image, key):
    rules = tree.Rules(exclude=["*utf8", "/usr/bin/walk"], only_executable=False, min_size=5)
    found = words(tree.sign(image, key, store="manifest", rules=rules))
    assert [path for path, word in found.items() if word == "listed"] == ["large", "usr/bin/run"]
    # Those of the manifest are those that count.
    assert len(tree.verify(image, key.verifying_key, manifest=image.with_name("image.manifest"))) == 7
    for wrong in ({"exclude": "text"}, {"include": "text"}):
        with pytest.raises(TypeError, match="expected lines"):
            tree.Rules(**wrong)
    with pytest.raises(ValueError, match="min_size"):
        tree.Rules(min_size=-1)
    with pytest.raises(ValueError, match="is no rule"):
        tree.sign(image, key, store="manifest", force=True, rules=tree.Rules(exclude=["a\nb"]))
    with pytest.raises(ValueError, match="1 to 64"):
        tree.sign(image, key, store="manifest", force=True, jobs=65)


def test_what_cannot_be_is_raised_before_anything_is_done(image, key, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        tree.sign(tmp_path / "absent", key, store="manifest")
    assert caught.value.filename == str(tmp_path / "absent")
    with pytest.raises(NotADirectoryError):
        tree.verdicts(image / "large", key.verifying_key)
    with pytest.raises(ValueError, match="expected one of xattr, user-xattr, found 'other'"):
        tree.verdicts(image, key.verifying_key, store="other")
    with pytest.raises(ValueError, match='found "sha1"'):
        tree.sign(image, key, store="manifest", hash="sha1")
    with pytest.raises(sealstone.BadCertificate):
        tree.verdicts(image, b"no certificate")
    with pytest.raises(TypeError, match="trusted"):
        tree.verdicts(image, [7])
    with pytest.raises(sealstone.NoSeed):
        expanded = sealstone.SigningKey.from_expanded(key.level, key.expanded())
        tree.sign(image, expanded, store="manifest")
    if os.getuid() != 0:
        with pytest.raises(sealstone.RefusedTree, match="security.ima needs root"):
            tree.sign(image, key, store="xattr")
    assert sorted(path.name for path in image.parent.iterdir()) == ["image"]


def test_other_threads_run_while_a_tree_is_read(image, key):
    """Held still by a large file, the thread of Python goes on."""
    with open(image / "large", "wb") as opened:
        opened.truncate(1 << 30)
    turns, done = 0, threading.Event()

    def sign():
        tree.sign(image, key, store="manifest", jobs=1)
        done.set()

    worker = threading.Thread(target=sign)
    worker.start()
    while not done.is_set():
        turns += 1
        time.sleep(0.001)
    worker.join()
    assert turns > 20


def test_whoever_leaves_ends_the_work(image, key):
    """More files than there is room for in front of whoever takes them."""
    many = image / "many"
    many.mkdir()
    for number in range(30_000):
        (many / str(number)).touch()
    tree.sign(image, key, store="manifest")
    with contextlib.closing(tree.verdicts(image, key.verifying_key, manifest=image.with_name("image.manifest"))) as entries:
        for count, _ in enumerate(entries):
            if count == 10:
                break
    assert list(entries) == []
    before = threading.active_count()
    tree.verdicts(image, key.verifying_key, manifest=image.with_name("image.manifest"))
    deadline = time.monotonic() + 20
    while len(os.listdir("/proc/self/task")) > before + 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(os.listdir("/proc/self/task")) <= before + 4


def test_whoever_leaves_waits_for_what_is_at_hand_alone(attributes, key):
    """The last file would be read for minutes, and the work is not there yet."""
    tree.sign(attributes, key, store="user-xattr")
    for number in range(3000):
        (attributes / f"x{number}").touch()
    (attributes / "z").touch()
    os.truncate(attributes / "z", 1 << 38)
    os.setxattr(attributes / "z", "user.ima", os.getxattr(attributes / "large", "user.ima"))

    def late(*_):
        raise TimeoutError("close() went on")

    before = signal.signal(signal.SIGALRM, late)
    try:
        entries = tree.verdicts(attributes, key.verifying_key, store="user-xattr", jobs=1)
        assert next(entries).path == "bin"
        signal.alarm(30)
        entries.close()
        assert list(entries) == []
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_is_heard(image, key, tmp_path):
    """The first ends the work, once the file at hand is read; the second does not wait for that."""
    os.truncate(image / "large", 1 << 38)
    (tmp_path / "key.pem").write_text(key.to_pem())
    program = (
        "import os, sealstone, signal, sys; from sealstone import tree\n"
        # Started in the background of a shell, it would hear nothing.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "key = sealstone.SigningKey.load(open(sys.argv[2]).read())\n"
        "print('begun', flush=True)\n"
        "try: tree.sign(sys.argv[1], key, store='manifest')\n"
        "except KeyboardInterrupt: os._exit(7)\n"
    )
    with subprocess.Popen([sys.executable, "-I", "-c", program, image, tmp_path / "key.pem"], stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout.readline() == b"begun\n"
            for _ in range(2):
                time.sleep(1)
                assert running.poll() is None
                running.send_signal(signal.SIGINT)
            assert running.wait(20) == 7
        finally:
            running.kill()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image", "key.pem"]


@command
def test_the_command_and_the_module_agree(attributes, key, tmp_path):
    """Certificates name keys, and what one signed the other verifies."""
    here = {"cwd": tmp_path, "check": True, "stdout": subprocess.DEVNULL}
    (tmp_path / "key.pem").write_text(key.to_pem())
    os.chmod(tmp_path / "key.pem", 0o600)
    subprocess.run([COMMAND, "cert", "new", "--ima", "--key", "key.pem", "--subject", "CN=files", "--out", "key.crt"], **here)
    certificate = (tmp_path / "key.crt").read_bytes()
    with pytest.raises(sealstone.BadCertificate, match="another key"):
        tree.sign(attributes, sealstone.generate(key.level), certificate=certificate, store="user-xattr")

    tree.sign(attributes, key, certificate=certificate, store="user-xattr", manifest=tmp_path / "list", keep_signatures=True)
    subprocess.run([COMMAND, "tree", "verify", "--cert", "key.crt", "--store", "user-xattr", attributes], **here)
    subprocess.run([COMMAND, "tree", "verify", "--cert", "key.crt", "--manifest", "list", attributes], **here)
    subprocess.run([COMMAND, "tree", "apply", "list", attributes, "--cert", "key.crt", "--store", "user-xattr"], **here)

    signed = ["--key", "key.pem", "--cert", "key.crt", "--keep-signatures", "--store", "manifest", "--manifest", "theirs"]
    subprocess.run([COMMAND, "tree", "sign", *signed, attributes], **here)
    tree.verify(attributes, certificate, manifest=tmp_path / "theirs")
    tree.apply(tmp_path / "theirs", attributes, certificate, store="user-xattr")
    found = tree.verify(attributes, [certificate, key.verifying_key], store="user-xattr")
    report = subprocess.run(
        [COMMAND, "tree", "verify", "--cert", "key.crt", "--store", "user-xattr", "--json", attributes],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    # Word for word, but for a name that is no UTF-8.
    assert [entry.status for entry in found] == [line.split('"status":"')[1].split('"')[0] for line in report[:-1]]

    # Signed for fs-verity, which nothing here has enabled: good, and no kernel takes it.
    signed = ["--key", "key.pem", "--cert", "key.crt", "--digest", "future-verity", "--store", "user-xattr"]
    subprocess.run([COMMAND, "tree", "sign", *signed, attributes], **here)
    found = tree.verify(attributes, certificate, store="user-xattr")
    assert {(entry.status, entry.reason) for entry in found if entry.status != "skipped"} == {("good", "no-verity")}


@command
def test_old_and_new_key_side_by_side(attributes, key, tmp_path):
    certificates = b""
    for name, one in (("old", key), ("new", sealstone.generate(key.level))):
        (tmp_path / f"{name}.pem").write_text(one.to_pem())
        os.chmod(tmp_path / f"{name}.pem", 0o600)
        made = subprocess.run(
            [COMMAND, "cert", "new", "--ima", "--format", "pem", "--key", f"{name}.pem", "--subject", f"CN={name}"],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
        rules = tree.Rules() if name == "old" else tree.Rules(include=["/usr/"])
        tree.sign(attributes, one, certificate=made.stdout, store="user-xattr", rules=rules, replace=True)
        certificates += made.stdout
    # All certificates of one text.
    assert len({entry.key_id for entry in tree.verify(attributes, certificates, store="user-xattr")} - {None}) == 2
    with pytest.raises(sealstone.BadTree) as caught:
        tree.verify(attributes, made.stdout, store="user-xattr")
    assert set(words(caught.value.bad).values()) == {"unknown-key"}
