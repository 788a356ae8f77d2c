"""OpenSSL's command, built from the crate openssl-src: keys, certificates, requests and CMS, each through files. The token
around a signature is put together by hand."""

import os
import subprocess
import sys
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))

import compact
from wire import Refused, serve

OPENSSL = Path(__file__).resolve().parent / "target/apps/openssl"
WORK = tempfile.TemporaryDirectory(prefix="sealstone-openssl-")
NOTHING = Path(WORK.name) / "openssl.cnf"
NOTHING.write_text("")
AUTHORITY = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,digitalSignature,keyCertSign", "subjectKeyIdentifier=hash"]
LEAF = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,{usage}\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
# Roots of other kinds: how the key is made, and how it signs.
PSS = ["-sigopt", "rsa_padding_mode:pss", "-sigopt"]
RSA = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
ROOTS = {
    "ES384": (["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], ["-sha384"]),
    "RS256": (RSA, ["-sha256"]),
    "PS256": (RSA, ["-sha256", *PSS[:2]]),
    "PS256, longest salt": (RSA, ["-sha256", *PSS, "rsa_pss_saltlen:max"]),
}
PUBLIC_LENGTH = {"ML-DSA-44": 1312, "ML-DSA-65": 1952, "ML-DSA-87": 2592}
PKCS8 = {"private pem": "seed-only", "private pem (both)": "seed-priv", "private pem (expanded)": "priv-only"}


class Failed(Exception):
    """What the command said on its way out."""


def make_key(level):
    keys = {}
    with Folder() as folder:
        seed = os.urandom(32).hex()
        for form, name in PKCS8.items():
            openssl(
                "genpkey", "-algorithm", level, "-pkeyopt", f"hexseed:{seed}", "-provparam", f"ml-dsa.output_formats={name}",
                "-out", folder / "key",
            )  # fmt: skip
            keys[form] = (folder / "key").read_text()
        keys["public pem"] = openssl("pkey", "-in", folder / "key", "-pubout").decode()
    return keys


def load_key(level, form, key):
    """Loads it, and signs with it: OpenSSL may leave a part unread until it is used."""
    with Folder() as folder:
        try:
            openssl("pkeyutl", "-sign", "-rawin", "-inkey", folder.put("key", key), "-in", folder.put("data", "interop"))
        except Failed as error:
            raise Refused(error)
    return {}


def sign_token(level, form, key, payload, typ):
    with Folder() as folder:
        own = folder.put("key", key)
        public = openssl("pkey", "-in", own, "-pubout", "-outform", "DER")[-PUBLIC_LENGTH[level] :]
        signer = lambda data: openssl("pkeyutl", "-sign", "-rawin", "-inkey", own, "-in", folder.put("data", data))
        return {"token": compact.sign(level, public, payload, typ, signer)}


def check_token(token, level, form, key):
    _, signing_input, signature, payload = compact.split(token)
    with Folder() as folder:
        given = ["-pubin", "-inkey", folder.put("key", key), "-in", folder.put("data", signing_input)]
        judged("pkeyutl", "-verify", "-rawin", *given, "-sigfile", folder.put("signature", signature))
    return {"payload": payload}


def make_certificate(level, subject):
    with Folder() as folder:
        key, how = ROOTS.get(level, (["-algorithm", level], []))
        openssl("genpkey", *key, "-out", folder / "key")
        extensions = [word for extension in AUTHORITY for word in ("-addext", extension)]
        made = openssl("req", "-x509", "-new", "-key", folder / "key", "-subj", slashed(subject), "-days", "30", *how, *extensions)
        return {"certificate": made.decode(), "private pem": (folder / "key").read_text()}


def check_certificate(certificate, issuer):
    with Folder() as folder:
        found, root = folder.put("certificate", certificate), folder.put("issuer", issuer)
        judged("verify", "-check_ss_sig", "-x509_strict", "-partial_chain", "-trusted", root, found)
        return {"subject": named(openssl("x509", "-in", found, "-noout", "-subject", "-nameopt", "multiline"))}


def make_request(level, subject):
    with Folder() as folder:
        openssl("genpkey", "-algorithm", level, "-out", folder / "key")
        made = openssl("req", "-new", "-key", folder / "key", "-subj", slashed(subject))
        return {"request": made.decode(), "private pem": (folder / "key").read_text()}


def check_request(request):
    with Folder() as folder:
        found = folder.put("request", request)
        judged("req", "-in", found, "-verify", "-noout")
        return {"subject": named(openssl("req", "-in", found, "-noout", "-subject", "-nameopt", "multiline"))}


def issue(request, issuer, issuer_key):
    with Folder() as folder:
        found = folder.put("request", request)
        judged("req", "-in", found, "-verify", "-noout")
        how = signs(folder.put("of", issuer))
        return {"certificate": certified(folder, issuer, issuer_key, "digitalSignature", "-req", "-in", found, *how)}


def signs(certificate):
    """How the key of a self-signed certificate signs: as it signed that. ML-DSA knows by itself, ECDSA and PKCS#1 are told the hash."""
    said = openssl("x509", "-in", certificate, "-noout", "-text").decode()
    for name, (_, how) in ROOTS.items():
        mark = {"ES384": "ecdsa-with-SHA384", "RS256": "sha256WithRSAEncryption", "PS256": "Salt Length: 0x20"}.get(name, "Salt Length: 0xDE")
        if mark in said:
            return how
    return []


def make_recipient(issuer, issuer_key, subject):
    """A certificate for ML-KEM-768, which cannot sign a request."""
    with Folder() as folder:
        openssl("genpkey", "-algorithm", "ML-KEM-768", "-out", folder / "key")
        openssl("pkey", "-in", folder / "key", "-pubout", "-out", folder / "public")
        given = ["-new", "-force_pubkey", folder / "public", "-subj", slashed(subject)]
        certificate = certified(folder, issuer, issuer_key, "keyEncipherment", *given)
        return {"certificate": certificate, "private pem": (folder / "key").read_text()}


def certified(folder, issuer, issuer_key, usage, *given):
    by = ["-CA", folder.put("issuer", issuer), "-CAkey", folder.put("issuer_key", issuer_key), "-days", "30"]
    extensions = ["-extfile", folder.put("extensions", LEAF.format(usage=usage))]
    return openssl("x509", *given, *by, *extensions).decode()


def sign_message(content, certificate, key, form):
    with Folder() as folder:
        place = [] if "detached" in form else ["-nodetach"]
        attributes = ["-noattr"] if "without attributes" in form else []
        signer = ["-signer", folder.put("certificate", certificate), "-inkey", folder.put("key", key), "-md", "sha512"]
        given = ["-binary", "-in", folder.put("content", b64decode(content))]
        return {"message": openssl("cms", "-sign", *given, *signer, *place, *attributes, "-outform", "PEM").decode()}


def check_message(message, certificate, content=None):
    with Folder() as folder:
        given = ["-binary", "-inform", "PEM", "-in", folder.put("message", message)]
        given += ["-content", folder.put("content", b64decode(content))] if content else []
        # The signer's certificate is given and trusted as it is: what is asked is whether the signature is good.
        signer = ["-nointern", "-certfile", folder.put("certificate", certificate), "-noverify"]
        judged("cms", "-verify", *given, *signer, "-out", folder / "found")
        return {"content": text((folder / "found").read_bytes())}


def seal_message(content, certificate, cipher):
    with Folder() as folder:
        given = ["-binary", "-in", folder.put("content", b64decode(content))]
        recipient = ["-recip", folder.put("certificate", certificate)]
        return {"message": openssl("cms", "-encrypt", *given, f"-{cipher.lower()}", *recipient, "-outform", "PEM").decode()}


def open_message(message, certificate, key):
    with Folder() as folder:
        given = ["-inform", "PEM", "-in", folder.put("message", message), "-binary", "-out", folder / "found"]
        judged("cms", "-decrypt", *given, "-recip", folder.put("certificate", certificate), "-inkey", folder.put("key", key))
        return {"content": text((folder / "found").read_bytes())}


def sign_bytes(key, data):
    with Folder() as folder:
        given = ["-inkey", folder.put("key", key), "-in", folder.put("data", b64decode(data))]
        return {"signature": text(openssl("pkeyutl", "-sign", "-rawin", *given))}


def check_bytes(certificate, data, signature):
    with Folder() as folder:
        given = ["-certin", "-inkey", folder.put("certificate", certificate), "-in", folder.put("data", b64decode(data))]
        return judged("pkeyutl", "-verify", "-rawin", *given, "-sigfile", folder.put("signature", b64decode(signature)))


def key_identifier(certificate):
    with Folder() as folder:
        said = openssl("x509", "-in", folder.put("certificate", certificate), "-noout", "-ext", "subjectKeyIdentifier").decode()
        return {"identifier": said.split()[-1].replace(":", "")}


class Folder:
    """Files of one request."""

    def __enter__(self):
        self._place = tempfile.TemporaryDirectory(dir=WORK.name)
        return self

    def __exit__(self, *_):
        self._place.cleanup()

    def __truediv__(self, name):
        return Path(self._place.name) / name

    def put(self, name, what):
        path = self / name
        path.write_bytes(what if isinstance(what, bytes) else what.encode())
        return path


def judged(*arguments):
    """A command that says by its exit code whether something is good."""
    try:
        openssl(*arguments)
    except Failed as error:
        raise Refused(error)
    return {}


def openssl(*arguments):
    done = subprocess.run([OPENSSL, *map(str, arguments)], capture_output=True, env=os.environ | {"OPENSSL_CONF": str(NOTHING)})
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        # Where its queue of errors speaks, the reason is in the fifth place.
        said = [": ".join(filter(None, line.split(":")[3:6])) if line.count(":") > 5 else line for line in lines]
        raise Failed(" / ".join(filter(None, said)) or f"exit code {done.returncode}")
    return done.stdout


def named(subject):
    """The common name of a subject on several lines."""
    return next(line.split("=", 1)[1].strip() for line in subject.decode().splitlines() if "commonName" in line)


def slashed(subject):
    return f"/{subject}"


def text(data):
    return b64encode(data).decode()


asks = {
    "make-key": make_key, "load-key": load_key, "sign-token": sign_token, "check-token": check_token,
    "make-certificate": make_certificate, "check-certificate": check_certificate, "make-request": make_request,
    "check-request": check_request, "issue": issue, "make-recipient": make_recipient, "sign-message": sign_message,
    "check-message": check_message, "seal-message": seal_message, "open-message": open_message,
    "sign-bytes": sign_bytes, "check-bytes": check_bytes, "key-identifier": key_identifier,
}  # fmt: skip
version = openssl("version").decode().split()[1]
serve("openssl", "its own", asks, version=version, writes=[*PKCS8, "public pem"], reads=[*PKCS8, "public pem"], judges=["pem"], roots=[*ROOTS])
