"""Signed files, and the command that does the same."""

import os
import subprocess

import pytest

import sealstone
from sealstone import files

COMMAND = os.environ.get("SEALSTONE_COMMAND")


@pytest.fixture
def letter(tmp_path):
    path = tmp_path / "letter.bin"
    path.write_bytes(bytes(range(256)) * 10000)
    return path


def test_a_file_there_and_back(letter, key):
    signature = files.sign(letter, key, context=b"letters")
    assert signature == letter.with_name("letter.bin.sig") and signature.stat().st_size == sealstone.signature_len(key.level)
    assert signature.stat().st_mode & 0o777 == 0o644
    files.verify(letter, key.verifying_key, context=b"letters")
    key.verifying_key.verify(letter.read_bytes(), signature.read_bytes(), context=b"letters")
    with pytest.raises(sealstone.BadSignature):
        files.verify(letter, key.verifying_key)
    with open(letter, "ab") as opened:
        opened.write(b"!")
    with pytest.raises(sealstone.BadSignature):
        files.verify(letter, key.verifying_key, context=b"letters")


def test_a_signature_is_not_replaced_by_accident(letter, key):
    first = files.sign(letter, key).read_bytes()
    with pytest.raises(FileExistsError, match="replace=True"):
        files.sign(letter, key)
    assert letter.with_name("letter.bin.sig").read_bytes() == first
    files.sign(letter, key, replace=True)
    assert letter.with_name("letter.bin.sig").read_bytes() != first
    assert sorted(path.name for path in letter.parent.iterdir()) == ["letter.bin", "letter.bin.sig"]


def test_a_stream(letter, key, tmp_path):
    with open(letter, "rb") as stream:
        assert files.sign(stream, key, signature=tmp_path / "s", context=b"c") == tmp_path / "s"
    files.verify(letter, key.verifying_key, signature=tmp_path / "s", context=b"c")
    with open(letter, "rb") as stream:
        files.verify(stream, key.verifying_key, signature=tmp_path / "s", context=b"c")
        # Read to its end, it is another message.
        with pytest.raises(sealstone.BadSignature):
            files.verify(stream, key.verifying_key, signature=tmp_path / "s", context=b"c")
    with open(letter, "rb") as stream, pytest.raises(ValueError, match="no name"):
        files.sign(stream, key)
    with open(letter, encoding="latin-1") as stream, pytest.raises(TypeError):
        files.sign(stream, key, signature=tmp_path / "text")
    assert not (tmp_path / "text").exists()


def test_without_randomness(letter, key, tmp_path):
    first, second = (files.sign(letter, key, signature=tmp_path / name, deterministic=True).read_bytes() for name in "ab")
    assert first == second == key.sign_deterministic(letter.read_bytes())


def test_a_signature_of_another_length_is_named(letter, key):
    other = letter.with_name("other.sig")
    other.write_bytes(bytes(100000))
    with pytest.raises(sealstone.BadSignature, match="or more"):
        files.verify(letter, key.verifying_key, signature=other)
    other.write_bytes(b"")
    with pytest.raises(sealstone.BadSignature, match="found 0"):
        files.verify(letter, key.verifying_key, signature=other)
    with pytest.raises(FileNotFoundError):
        files.verify(letter, key.verifying_key)
    with pytest.raises(FileNotFoundError):
        files.sign(letter.with_name("absent"), key)


@pytest.mark.parametrize("function", files.PRE_HASHES)
def test_every_pre_hash(letter, function):
    key = sealstone.generate("ML-DSA-44")
    files.sign(letter, key, pre_hash=function)
    files.verify(letter, key.verifying_key, pre_hash=function)
    with pytest.raises(sealstone.BadSignature):
        files.verify(letter, key.verifying_key)


def test_an_unknown_pre_hash(letter, key):
    with pytest.raises(ValueError, match="SHA3-512"):
        files.sign(letter, key, pre_hash="MD5")


@pytest.mark.skipif(COMMAND is None, reason="SEALSTONE_COMMAND names no command")
@pytest.mark.parametrize("options", [{}, {"context": b"firmware"}, {"pre_hash": "SHA3-512"}])
def test_the_command_and_the_module_agree(letter, key, tmp_path, options):
    flags = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), value)]
    (tmp_path / "key.pem").write_text(key.to_pem())
    os.chmod(tmp_path / "key.pem", 0o600)
    (tmp_path / "key.pub.pem").write_text(key.verifying_key.to_pem())
    files.sign(letter, key, **options)
    subprocess.run([COMMAND, "verify", "--key", tmp_path / "key.pub.pem", *flags, letter], check=True, stdout=subprocess.DEVNULL)
    letter.with_name("letter.bin.sig").unlink()
    subprocess.run([COMMAND, "sign", "--key", tmp_path / "key.pem", *flags, letter], check=True, stdout=subprocess.DEVNULL)
    files.verify(letter, key.verifying_key, **options)
    # A stream, to the last byte the same where nothing is random.
    with open(letter, "rb") as stream:
        subprocess.run(
            [COMMAND, "sign", "--key", tmp_path / "key.pem", *flags, "--deterministic", "--out", tmp_path / "theirs", "-"],
            check=True, stdout=subprocess.DEVNULL, stdin=stream,
        )  # fmt: skip
    with open(letter, "rb") as stream:
        files.sign(stream, key, signature=tmp_path / "ours", deterministic=True, **options)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
