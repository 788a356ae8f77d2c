"""Brings the partners here, each from the registry of its language, pinned by the lock file beside it."""

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from partner import gist

HERE = Path(__file__).resolve().parent
PYTHON, NODE, GO, RUST = HERE / "python", HERE / "node", HERE / "go", HERE / "rust"
PATIENCE = 300  # seconds for one language

# name: what it does, its language, its program
PARTNERS = {
    "jwcrypto": ("tokens", "python", "with_jwcrypto.py"),
    "pyca/cryptography": ("tokens", "python", "with_pyca.py"),
    "dilithium-py": ("tokens", "python", "with_dilithium_py.py"),
    "jose": ("tokens", "node", "with_jose.mjs"),
    "filippo.io/mldsa": ("tokens", "go", None),
    "openid-client": ("flows", "node", "with_openid_client.mjs"),
    "oauth4webapi": ("flows", "node", "with_oauth4webapi.mjs"),
    "authlib": ("flows", "python", "with_authlib.py"),
    "openidconnect": ("flows", "rust", None),
    "paho-mqtt": ("messages", "python", "with_paho.py"),
    "cbor2": ("messages", "python", "with_cbor2.py"),
}


class Missing(Exception):
    """Why a partner cannot run on this machine."""


@dataclass
class Command:
    argv: list
    folder: Path
    environment: dict


def everything(only=None):
    """For each partner, or for those that do `only` this, what it does and how to start it: a Command, or Missing."""
    wanted = {name: what for name, what in PARTNERS.items() if only in (None, what[0])}
    with ThreadPoolExecutor() as pool:
        languages = {language for _, language, _ in wanted.values()}
        prepared = {language: pool.submit(LANGUAGES[language]) for language in languages}
    return {name: (kind, command(prepared[language], program)) for name, (kind, language, program) in wanted.items()}


def command(prepared, program):
    if prepared.exception():
        if isinstance(prepared.exception(), Missing):
            return prepared.exception()
        raise prepared.exception()
    base = prepared.result()
    return Command(base.argv + [program] if program else base.argv, base.folder, base.environment)


def python():
    interpreter = PYTHON / ".venv/bin/python"
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}

    def install():
        shutil.rmtree(PYTHON / ".venv", ignore_errors=True)
        run([sys.executable, "-m", "venv", ".venv"], PYTHON, "on Debian: apt install python3-venv")
        pip = [interpreter, "-m", "pip", "install", "--disable-pip-version-check", "--only-binary=:all:"]
        run([*pip, "-qq", "--requirement", "requirements.txt"], PYTHON)

    once(install, interpreter, PYTHON / "requirements.txt", sys.version)
    return Command([interpreter], PYTHON, environment)


def node():
    runtime = NODE / "node_modules/.bin/node"

    def install():
        run(["npm", "ci", "--loglevel=error"], NODE)
        if not runtime.exists():
            raise Missing("the npm packages of Node have no build for this machine")

    once(install, runtime, NODE / "package-lock.json")
    return Command([runtime, "--no-warnings"], NODE, dict(os.environ))


def go():
    run(["go", "build", "-o", "partner", "."], GO)
    return Command([GO / "partner"], GO, dict(os.environ))


def rust():
    run(["cargo", "build", "-q", "--locked"], RUST)
    return Command([RUST / "target/debug/partner"], RUST, dict(os.environ))


LANGUAGES = {"python": python, "node": node, "go": go, "rust": rust}


def once(install, proof, lock, *more):
    """Installs unless `proof` is there and was installed from this very lock file."""
    stamp = HERE / ".installed" / lock.name
    wanted = hashlib.sha256(lock.read_bytes() + "".join(more).encode()).hexdigest()
    if proof.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    install()
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(wanted)


def run(argv, folder, hint=None):
    """Runs a step of an installation; what goes wrong is a reason to skip, told in a line."""
    step = " ".join(Path(word).name for word in map(str, argv[:4]))
    try:
        done = subprocess.run(
            argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
        )
    except FileNotFoundError:
        raise Missing(f"{argv[0]} is not installed")
    except subprocess.TimeoutExpired:
        raise Missing(f"`{step}` took more than {PATIENCE} s")
    if done.returncode:
        reason = gist(done.stderr + done.stdout) or f"exit code {done.returncode}"
        raise Missing(f"`{step}` failed: {reason}" + (f" ({hint})" if hint else ""))
