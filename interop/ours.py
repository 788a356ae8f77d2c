"""Sealstone as one more partner, driven through its command; every call of the command is in this file."""

import json
import os
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from base64 import b64decode, b64encode
from pathlib import Path

from partner import Broken, Refused

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60  # seconds one command may take


COMPOSITES = [
    "ML-DSA-44-ES256", "ML-DSA-65-ES256", "ML-DSA-87-ES384", "ML-DSA-44-Ed25519", "ML-DSA-65-Ed25519", "ML-DSA-87-Ed448",
]  # fmt: skip


# The composites of the LAMPS draft that have a composite of JOSE beside them, and so a key that our command makes.
COMPOSITE_CERTIFICATES = {
    "MLDSA44-ECDSA-P256-SHA256": "ML-DSA-44-ES256",
    "MLDSA65-ECDSA-P256-SHA512": "ML-DSA-65-ES256",
    "MLDSA87-ECDSA-P384-SHA512": "ML-DSA-87-ES384",
    "MLDSA44-Ed25519-SHA512": "ML-DSA-44-Ed25519",
    "MLDSA65-Ed25519-SHA512": "ML-DSA-65-Ed25519",
    "MLDSA87-Ed448-SHAKE256": "ML-DSA-87-Ed448",
}
# Those for which it makes none: it signs with a key that it is given.
BORROWED = [
    "MLDSA44-RSA2048-PSS-SHA256", "MLDSA44-RSA2048-PKCS15-SHA256", "MLDSA65-RSA3072-PSS-SHA512", "MLDSA65-RSA3072-PKCS15-SHA512",
    "MLDSA65-RSA4096-PSS-SHA512", "MLDSA65-RSA4096-PKCS15-SHA512", "MLDSA65-ECDSA-P384-SHA512", "MLDSA87-RSA3072-PSS-SHA512",
    "MLDSA87-RSA4096-PSS-SHA512", "MLDSA87-ECDSA-P521-SHA512",
]  # fmt: skip
VERBS = {
    "cert": ["make-certificate", "check-certificate", "issue"],
    "csr": ["make-request", "check-request"],
    "cms": ["make-recipient", "sign-message", "check-message", "seal-message", "open-message"],
}


class Sealstone:
    name = "Sealstone"
    ours = True
    engine = "its own"
    writes = ["private jwk", "private pem", "jwks", "public pem"]
    reads = [*writes, "private pem (both)"]
    judges = ["jwk", "pem"]
    asks = ["make-key", "sign-token", "check-token", "load-key"]

    def __init__(self, binary, work):
        self.binary, self._work = binary, work
        self.version = self.run("--version").split()[-1]
        has = lambda verb, option: option in self.run(*verb, "--help")
        self.missing = {}  # what this binary was built without, and why that is known
        self.composites = COMPOSITES if has(["jwt", "verify"], "--draft") else self._without("composite tokens", "jwt verify has no --draft")
        if self._knows("convert"):
            self.writes = [*self.writes, "private pem (both)", "private pem (expanded)"]
            self.asks = [*self.asks, "make-cose-key"]
        else:
            self._without("keys in other forms", "this sealstone has no command convert")
        for verb, asks in VERBS.items():
            if self._knows(verb):
                self.asks = [*self.asks, *asks]
            else:
                self._without(f"what `{verb}` does", f"this sealstone has no command {verb}")
        makes = "make-certificate" in self.asks
        self.certificates = [*COMPOSITE_CERTIFICATES, *BORROWED] if self.composites and makes else []
        self.borrows = BORROWED
        self.roots = ["ES384"] if makes else []

    @classmethod
    def find(cls, work):
        """$SEALSTONE, or what was built here last."""
        built = [ROOT / "target" / profile / "sealstone" for profile in ("release", "debug")]
        built = sorted((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime)
        binary = os.environ.get("SEALSTONE") or (built[-1] if built else None)
        if not binary or not Path(binary).is_file():
            raise SystemExit(
                f"error: there is no sealstone at {binary or ROOT / 'target'}\n"
                "hint: run cargo build, or set SEALSTONE to the path of the binary"
            )
        return cls(Path(binary).resolve(), work)

    def _knows(self, verb):
        try:
            self.run(verb, "--help")
            return True
        except Broken:
            return False

    def _without(self, what, why):
        self.missing[what] = why
        return []

    def ask(self, ask, **fields):
        """As a partner is asked."""
        return getattr(self, ask.replace("-", "_"))(**fields)

    def make_key(self, level):
        if level in COMPOSITES:
            return self._make_composite_key(level)
        pem = self.file("")
        self.run("key", "generate", "--alg", level, "--force", "--out", pem)
        jwk = self.run("key", "show", "--public", "--format", "jwk", pem)
        form = lambda name: self.run("convert", pem, "--pkcs8-form", name)
        forms = ["both", "expanded"] if level.startswith("ML-DSA-") and "private pem (both)" in self.writes else []
        more = {f"private pem ({name})": form(name) for name in forms}
        return more | {
            "private pem": pem.read_text(),
            "private jwk": self.run("key", "show", "--private", "--format", "jwk", pem),
            "public pem": self.run("key", "show", "--public", "--format", "pem", pem),
            "jwks": json.dumps({"keys": [json.loads(jwk)]}),
        }

    def _make_composite_key(self, alg):
        path = self.file("")
        self.run("key", "generate", "--draft", "--alg", alg, "--format", "jwk", "--force", "--out", path)
        private = json.loads(path.read_text())
        public = {name: value for name, value in private.items() if name != "priv"}
        kid = self.run("key", "thumbprint", "--draft", path).strip()
        return {"private jwk": json.dumps(private), "jwks": json.dumps({"keys": [public | {"kid": kid}]})}

    def sign_token(self, level, form, key, payload, typ):
        gate = ["--draft"] if level in COMPOSITES else []
        given = ["--key", self.file(key), "--typ", typ, "--claims", "-"]
        return self.run("jwt", "sign", *gate, *given, given=payload).strip()

    def check_token(self, token, level, form, key):
        option = "--jwks" if form == "jwks" else "--key"
        gate = ["--draft"] if level in COMPOSITES else []
        said = self.run("jwt", "verify", *gate, option, self.file(key), "--json", "-", given=token)
        return json.dumps(json.loads(said)["claims"])

    def load_key(self, level, form, key):
        """Whether it takes the file for a private key; one that is not is exit code 2, and the message names the fault."""
        try:
            said = self.run("key", "show", "--json", self.file(key))
        except Broken as why:
            raise Refused(why)
        if json.loads(said).get("kind") != "private":
            raise Broken(f"it found no private key: {said}")
        return {}

    def make_certificate(self, level, subject, key=None):
        key, gate = (self.file(key), ["--draft"]) if key else self._key_file(level)
        uses = ["--authority", "--key-usage", "digitalSignature,keyCertSign"]  # it signs messages, too
        made = self.run("cert", "new", *gate, *uses, "--key", key, "--subject", subject)
        return {"certificate": made, "private pem": key.read_text()}

    def check_certificate(self, certificate, issuer):
        """The chain, and then the name: what `cert show` says is not verified."""
        gate = ["--draft"] if self.certificates else []
        own = self.file(certificate)
        self.run("cert", "verify", *gate, "--trust", self.file(issuer), own)
        return {"subject": named(json.loads(self.run("cert", "show", "--json", own))[0])}

    def make_request(self, level, subject):
        key, gate = self._key_file(level)
        return {"request": self.run("csr", "new", *gate, "--key", key, "--subject", subject), "private pem": key.read_text()}

    def check_request(self, request):
        return {"subject": named(json.loads(self.run("csr", "show", "--json", self.file(request))))}

    def make_cose_key(self, level):
        """The public half, and the private key as COSE_Key."""
        pem, cose, public = self.file(""), self.file(""), self.file("")
        self.run("key", "generate", "--alg", level, "--force", "--out", pem)
        self.run("convert", pem, "--to", "cose", "--force", "--out", cose)
        self.run("convert", pem, "--public", "--to", "raw", "--force", "--out", public)
        return public.read_bytes(), cose.read_bytes()

    def public_of_cose_key(self, key):
        given, public = self.file(""), self.file("")
        given.write_bytes(key)
        try:
            self.run("convert", given, "--public", "--to", "raw", "--force", "--out", public)
        except Broken as why:
            raise Refused(why)
        return public.read_bytes()

    def issue(self, request, issuer, issuer_key):
        authority = ["--ca", self.file(issuer), "--key", self.file(issuer_key)]
        gate = ["--draft"] if self.certificates else []
        return {"certificate": self.run("cert", "issue", *gate, *authority, self.file(request))}

    def make_recipient(self, issuer, issuer_key, subject):
        key, public = self.file(""), self.file("")
        self.run("cms", "key", "--alg", "ML-KEM-768", "--force", "--out", key, "--public-out", public)
        authority = ["--ca", self.file(issuer), "--key", self.file(issuer_key)]
        return {"certificate": self.run("cert", "issue", *authority, "--subject", subject, public), "private pem": key.read_text()}

    def sign_message(self, content, certificate, key, form):
        how = ["--detached"] * ("detached" in form) + ["--no-attributes"] * ("without attributes" in form)
        signer = ["--signer", self.file(certificate), "--key", self.file(key)]
        return {"message": self.run("cms", "sign", *how, *signer, "--out", "-", self.bytes(content))}

    def check_message(self, message, certificate, content=None):
        given = ["--certificate", self.file(certificate), self.file(message)]
        if content:
            self.run("cms", "verify", "--content", self.bytes(content), *given)
            return {"content": content}
        return self._content("verify", *given)

    def seal_message(self, content, certificate, cipher):
        how = ["--cipher", cipher, "--to", self.file(certificate)]
        return {"message": self.run("cms", "encrypt", *how, "--out", "-", self.bytes(content))}

    def open_message(self, message, certificate, key):
        """Also what is not authenticated, since others send it: the gate is ours alone."""
        given = ["--certificate", self.file(certificate), "--key", self.file(key), self.file(message)]
        return self._content("decrypt", "--allow-unauthenticated", *given)

    def sign_tree(self, tree, key, certificate, hash):
        given = ["--key", self.file(key), "--cert", self.file(certificate), "--hash", hash]
        self.run("tree", "sign", "--store", "user-xattr", *given, tree)

    def check_tree(self, tree, certificate):
        self.run("tree", "verify", "--store", "user-xattr", "--cert", self.file(certificate), tree)

    def _content(self, verb, *given):
        out = self.file("")
        self.run("cms", verb, "--force", "--out", out, *given)
        return {"content": b64encode(out.read_bytes()).decode()}

    def _key_file(self, level):
        """A new key in PKCS#8, and what opens the gate where it is a composite."""
        gate = ["--draft"] if level in self.certificates else []
        path = self.file("")
        self.run("key", "generate", *gate, "--alg", COMPOSITE_CERTIFICATES.get(level, level), "--format", "pem", "--force", "--out", path)
        return path, gate

    def run(self, *arguments, given=""):
        """Standard output; exit code 1 is a refusal, any other but 0 a fault."""
        done = subprocess.run(
            [self.binary, *arguments], input=given, capture_output=True, text=True, timeout=PATIENCE, cwd=self._work
        )
        if done.returncode == 1:
            raise Refused(done.stderr.strip())
        if done.returncode:
            raise Broken(f"sealstone {' '.join(map(str, arguments[:2]))}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def bytes(self, content):
        """A new file of what stands in base64."""
        path = self.file("")
        path.write_bytes(b64decode(content))
        return path

    def file(self, text):
        """A new file, of which only this user can read."""
        handle, path = tempfile.mkstemp(dir=self._work)
        with open(handle, "w") as file:
            file.write(text)
        return Path(path)


def named(said):
    """The common name, where there is nothing else in the name."""
    return said["subject"].removeprefix("CN=")


class Server:
    """`sealstone serve` on a loopback port with a certificate that it makes itself."""

    def __init__(self, sealstone, algorithms, work, client_ca):
        self._sealstone = sealstone
        self.issuer = f"https://127.0.0.1:{free_port()}"
        self.ca = work / "data/tls-self-signed.pem"
        self._config, self._log = work / "sealstone.toml", work / "serve.log"
        self._config.write_text(
            f'data_dir = "{work}/data"\n'
            f'listen = "{urllib.parse.urlsplit(self.issuer).netloc}"\n'
            f'issuer = "{self.issuer}"\n'
            f'[tls]\nclient_ca = "{client_ca}"\n'
            f"[tokens]\nalgorithms = {json.dumps(algorithms)}\n"
            "[device]\ninterval_seconds = 1\n"  # who waits here is a test
            "[passwords]\nmemory_kib = 7168\npasses = 5\n"
            "[limits]\naddress_failures_per_minute = 0\n"  # all partners have one address
        )

    def add_client(self, level, method, *more, called=None):
        """Registers a client whose tokens are signed at `level` and which proves itself by `method`."""
        client_id = f"interop-{level.lower()}-{method}-{called or ''.join(more)}"
        said = self._sealstone.run(
            "client", "add", "--config", self._config, "--id", client_id, "--alg", level,
            "--auth-method", method, *more, "--json",
        )  # fmt: skip
        return {name: value for name, value in json.loads(said).items() if name in ("client_id", "client_secret")}

    def add_user(self, username, name, password):
        place = ["--config", self._config, "--name", name, "--password-stdin"]
        self._sealstone.run("user", "add", username, *place, given=password)

    def add_issuer(self, issuer, jwks, client_id):
        """Trusts an issuer, for the client (RFC 7523 §2.1)."""
        place = ["--config", self._config, "--jwks", self._sealstone.file(jwks), "--client", client_id]
        self._sealstone.run("issuer", "add", issuer, *place)

    def fetch_token(self, client):
        """client_credentials with client_secret_basic (RFC 6749 §4.4 and §2.3.1), with nobody's library."""
        pair = ":".join(urllib.parse.quote(client[name], safe="") for name in ("client_id", "client_secret"))
        headers = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        answer = self._fetch(self.metadata["token_endpoint"], b"grant_type=client_credentials", headers)
        return json.loads(answer)["access_token"]

    def fetch_jwks(self):
        return self._fetch(self.metadata["jwks_uri"])

    def _fetch(self, url, body=None, headers={}):
        tls = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=self.ca))
        direct = urllib.request.build_opener(tls, urllib.request.ProxyHandler({}))
        with direct.open(urllib.request.Request(url, body, headers), timeout=10) as answer:
            return answer.read().decode()

    def __enter__(self):
        with open(self._log, "w") as log:
            argv = [self._sealstone.binary, "serve", "--config", self._config]
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.metadata = self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait_until_ready(self):
        deadline, why = time.monotonic() + 30, "it ended"
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                return json.loads(self._fetch(f"{self.issuer}/.well-known/oauth-authorization-server"))
            except OSError as error:  # no certificate yet, or nobody listens yet
                why = error
                time.sleep(0.1)
        raise Broken(f"sealstone serve does not answer: {why}\n{self._log.read_text()[-2000:]}")

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def free_port():
    """A port that was free a moment ago: the issuer's name, which holds the port, must be known before the start."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
