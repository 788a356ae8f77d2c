"""What the documentation shows is run: docstrings, and the programs of docs/python.md. And everything has a type."""

import doctest
import inspect
import os
import pathlib
import subprocess
import sys
import types

import pytest

import sealstone
from sealstone import _errors, _native, files, jws, jwt, tree

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@pytest.mark.parametrize("module", [sealstone, jwt, jws, files, tree])
def test_the_examples_of_a_module(module):
    tried = doctest.testmod(module, raise_on_error=False)
    assert tried.failed == 0 and tried.attempted > 0


def test_the_examples_of_the_native_half():
    runner = doctest.DocTestRunner()
    names, tried = vars(sealstone).copy(), 0
    for name in _native.__all__:
        thing = getattr(_native, name)
        for holder, text in [(name, thing.__doc__)] + [
            (f"{name}.{member}", getattr(thing, member).__doc__) for member in dir(thing) if not member.startswith("_")
        ]:
            example = doctest.DocTestParser().get_doctest(text or "", dict(names), holder, None, 0)
            runner.run(example)
            tried += len(example.examples)
    assert runner.failures == 0 and tried >= 15


def test_everything_public_is_documented():
    for module in (sealstone, jwt, jws, files, tree):
        for name in module.__all__:
            thing = getattr(module, name)
            if not (inspect.isclass(thing) or callable(thing)):
                continue
            assert thing.__doc__, f"{module.__name__}.{name}"
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                for member, what in vars(thing).items():
                    # What a dataclass holds is said in its own text.
                    if not member.startswith("_") and not isinstance(what, types.MemberDescriptorType):
                        assert getattr(thing, member).__doc__, f"{name}.{member}"


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.name)
def test_the_programs_of_the_manual(program, tmp_path):
    done = subprocess.run([sys.executable, "-I", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_there_are_programs():
    assert len(list(PROGRAMS.glob("*.py"))) >= 4


def test_every_name_has_a_type():
    """mypy's stubtest: the stubs against what is there, names and parameters, in both directions."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "sealstone", "--concise"],
        capture_output=True, text=True, cwd=pathlib.Path(sys.prefix),
        env=os.environ | {"MYPY_CACHE_DIR": os.devnull},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_that_uses_the_types(tmp_path):
    good = tmp_path / "good.py"
    good.write_text(
        "import sealstone\nfrom sealstone import files, jws, jwt, tree\n"
        'key: sealstone.SigningKey = sealstone.generate("ML-DSA-65")\n'
        "signature: bytes = key.sign(bytearray(b'm'), context=memoryview(b'c'))\n"
        "verdicts: list[bool] = sealstone.verify_batch([(key.verifying_key, b'm', signature)])\n"
        "claims: dict[str, object] = jwt.verify(jwt.sign(key, {}), key.verifying_key, jwt.Rules(audience=jwt.ANY))\n"
        "payload: bytes = jws.verify(jws.sign(key, b'x'), sealstone.JwkSet([key.verifying_key])).payload\n"
        "files.verify('letter', key.verifying_key)\n"
        "files.sign(open('letter', 'rb'), key, signature='letter.sig', deterministic=True)\n"
        "entries: list[tree.Entry] = tree.sign('usr', key, certificate=b'', store='manifest', rules=tree.Rules(min_size=1))\n"
        "found = tree.verdicts('usr', [key.verifying_key, 'PEM', bytearray(b'DER')], store='user-xattr')\n"
        "reasons: list[str | None] = [entry.reason for entry in found]\n"
        "try: tree.verify('usr', key.verifying_key, manifest='usr.manifest')\n"
        "except sealstone.BadTree as refused: paths: list[str] = [entry.path for entry in refused.bad]\n"
    )
    bad = tmp_path / "bad.py"
    bad.write_text(
        "import sealstone\n"
        'key = sealstone.generate("ML-DSA-65")\n'
        'key.sign("text")\n'
        "key.verifying_key.verify(b'm', None)\n"
        "key.level = 'other'\n"
        "sealstone.nothing\n"
        "sealstone.tree.sign('usr', key, store='other')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "--no-color-output"]
    done = subprocess.run([*command, good], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([*command, bad], capture_output=True, text=True)
    assert [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line] == ["3", "4", "5", "6", "7"], done.stdout


def test_the_package_itself_is_strict():
    folder = pathlib.Path(_errors.__file__).parent
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "-p", "sealstone"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=pathlib.Path(sys.prefix))
    assert (folder / "py.typed").exists() and done.returncode == 0, done.stdout
