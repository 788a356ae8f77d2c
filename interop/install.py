"""Brings the partners here, each from the registry of its language, pinned by the lock file beside it."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from partner import gist

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PYTHON, NODE, GO, RUST = HERE / "python", HERE / "node", HERE / "go", HERE / "rust"
GO_JOSE, JAVA, OPENSSL = HERE / "go-jose", HERE / "java", HERE / "openssl"
GO_TOOLCHAIN = "go1.27.4"  # go-jose's ML-DSA is that of Go's own library, which has it from 1.27 on
PATIENCE = 300  # seconds for one language
LONG_PATIENCE = 1800  # for one that is known to take minutes

# name: what it does, its language, its program
PARTNERS = {
    "jwcrypto": ("tokens", "python", "with_jwcrypto.py"),
    "pyca/cryptography": ("tokens", "python", "with_pyca.py"),
    "dilithium-py": ("tokens", "python", "with_dilithium_py.py"),
    "jose": ("tokens", "node", "with_jose.mjs"),
    "@noble/post-quantum": ("tokens", "node", "with_noble.mjs"),
    "filippo.io/mldsa": ("tokens", "go", "bin/filippo"),
    "circl": ("tokens", "go", "bin/circl"),
    "go-jose": ("tokens", "go-jose", None),
    "BouncyCastle": ("tokens", "java", None),
    "openssl": ("tokens", "openssl", None),
    "openid-client": ("flows", "node", "with_openid_client.mjs"),
    "oauth4webapi": ("flows", "node", "with_oauth4webapi.mjs"),
    "authlib": ("flows", "python", "with_authlib.py"),
    "openidconnect": ("flows", "rust", None),
    "paho-mqtt": ("messages", "python", "with_paho.py"),
    "cbor2": ("messages", "python", "with_cbor2.py"),
    "go-cose": ("messages", "go", "bin/gocose"),
}


class Missing(Exception):
    """Why a partner cannot run on this machine."""


@dataclass
class Command:
    argv: list
    folder: Path
    environment: dict


def everything(only=None, long=False):
    """For each partner, or for those that do `only` this, what it does and how to start it: a Command, or Missing. What takes
    minutes to build is built if `long` says so, and used if it is there."""
    wanted = {name: what for name, what in PARTNERS.items() if only in (None, what[0])}
    with ThreadPoolExecutor() as pool:
        languages = {language for _, language, _ in wanted.values()}
        waits = {language: (long,) if language in LONG else () for language in languages}
        prepared = {language: pool.submit(LANGUAGES[language], *waits[language]) for language in languages}
    return {name: (kind, command(prepared[language], program)) for name, (kind, language, program) in wanted.items()}


def command(prepared, program):
    if prepared.exception():
        if isinstance(prepared.exception(), Missing):
            return prepared.exception()
        raise prepared.exception()
    base = prepared.result()
    argv = [*base.argv, program] if program and base.argv else base.argv or [base.folder / program]
    return Command(argv, base.folder, base.environment)


def python():
    interpreter = PYTHON / ".venv/bin/python"
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}

    def install():
        shutil.rmtree(PYTHON / ".venv", ignore_errors=True)
        run([sys.executable, "-m", "venv", ".venv"], PYTHON, "on Debian: apt install python3-venv")
        pip = [interpreter, "-m", "pip", "install", "--disable-pip-version-check", "--only-binary=:all:", "--require-hashes"]
        run([*pip, "-qq", "--requirement", "requirements.txt"], PYTHON)

    once(install, interpreter, PYTHON / "requirements.txt", sys.version)
    return Command([interpreter], PYTHON, environment)


def node():
    # Where its package has it: Debian's npm makes no link to it in `.bin`.
    kind = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    runtime = NODE / f"node_modules/node-linux-{kind}/bin/node"

    def install():
        run(["npm", "ci", "--loglevel=error"], NODE)
        if not runtime.exists():
            raise Missing("the npm packages of Node have no build for this machine")

    once(install, runtime, NODE / "package-lock.json")
    return Command([runtime, "--no-warnings"], NODE, dict(os.environ))


def own_sign1():
    """Our library as a partner: no command of ours has COSE_Sign1 as it is."""
    run(["cargo", "build", "-q", "--locked", "-p", "sealstone-jose", "--example", "sign1"], ROOT)
    return Command([ROOT / "target/debug/examples/sign1"], ROOT, dict(os.environ))


def go():
    run(["go", "build", "-o", "bin/", "./filippo", "./circl", "./gocose"], GO)
    return Command([], GO, dict(os.environ))


def go_jose():
    run(["go", "build", "-o", "partner", "."], GO_JOSE, environment={"GOTOOLCHAIN": GO_TOOLCHAIN})
    return Command([GO_JOSE / "partner"], GO_JOSE, dict(os.environ))


def java():
    run(["./build"], JAVA)
    classes = [JAVA / "target/classes", *sorted((JAVA / "target/libraries").glob("*.jar"))]
    # One process among many: it needs no second thread to compile or to collect.
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", os.pathsep.join(map(str, classes))]
    return Command(["java", *options, "Partner"], JAVA, dict(os.environ))


def openssl(long):
    if not long and not (OPENSSL / "target/made").exists():
        raise Missing("it takes some minutes to build: ./dev interop --require-all does, and later runs use it")
    run(["./build"], OPENSSL, patience=LONG_PATIENCE)
    return Command([sys.executable, OPENSSL / "with_openssl.py"], OPENSSL, dict(os.environ))


def rust():
    run(["cargo", "build", "-q", "--locked"], RUST)
    return Command([RUST / "target/debug/partner"], RUST, dict(os.environ))


LANGUAGES = {"python": python, "node": node, "go": go, "go-jose": go_jose, "rust": rust, "java": java, "openssl": openssl}
LONG = ["openssl"]


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


def run(argv, folder, hint=None, environment={}, patience=PATIENCE):
    """Runs a step of an installation; what goes wrong is a reason to skip, told in a line."""
    step = " ".join(Path(word).name for word in map(str, argv[:4]))
    try:
        done = subprocess.run(
            argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience,
            env=os.environ | environment,
        )  # fmt: skip
    except FileNotFoundError:
        raise Missing(f"{argv[0]} is not installed")
    except subprocess.TimeoutExpired:
        raise Missing(f"`{step}` took more than {patience} s")
    if done.returncode:
        reason = gist(done.stderr + done.stdout) or f"exit code {done.returncode}"
        raise Missing(f"`{step}` failed: {reason}" + (f" ({hint})" if hint else ""))
