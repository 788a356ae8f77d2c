"""How clients prove who they are: assertions and certificates that others make, at a running server."""

import json
import subprocess
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

from base64url import decode
import live
from partner import Broken

PATIENCE = 60  # seconds for one certificate


class Certificates:
    """An authority, what it certifies, and certificates of nobody but themselves; all by openssl."""

    def __init__(self, work):
        self._folder = work / "certificates"
        self._folder.mkdir()
        ca = self.self_signed("ca", "ec:prime256v1", "CN=interop authority", "basicConstraints=critical,CA:TRUE")
        self.authority, self._authority_key = ca["certificate"], ca["certificate_key"]

    def self_signed(self, name, kind, subject, extension="basicConstraints=CA:FALSE"):
        certificate, key = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        make_key(kind, key)
        openssl("req", "-x509", "-new", "-key", key, "-subj", slashed(subject), "-addext", extension, "-days", "30",
                "-out", certificate)  # fmt: skip
        return {"certificate": str(certificate), "certificate_key": str(key)}

    def certified(self, name, kind, subject):
        certificate, key, request = (self._folder / f"{name}.{end}" for end in ("pem", "key", "csr"))
        extensions = self._folder / f"{name}.ext"
        extensions.write_text("basicConstraints=CA:FALSE\nextendedKeyUsage=clientAuth\n")
        make_key(kind, key)
        openssl("req", "-new", "-key", key, "-subj", slashed(subject), "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", self._authority_key, "-set_serial",
                "17", "-extfile", extensions, "-days", "30", "-out", certificate)  # fmt: skip
        return {"certificate": str(certificate), "certificate_key": str(key)}


def register(server, level, sealstone, work, certificates):
    """One client for each way, with what its library needs to go it: (method, what it is called, account, secrets)."""
    ways = [account(server, level, "client_secret_jwt", "HS256", {})]
    for alg in ("ES256", level):
        keys = sealstone.make_key(alg)
        path = work / f"{level}-{alg}.jwks"
        path.write_text(keys["jwks"])
        secret = {"alg": alg, "key": keys["private jwk"]}
        ways.append(account(server, level, "private_key_jwt", alg, secret, "--jwks", path))
    bound = "--tls-client-certificate-bound-access-tokens"
    for kind, name in (("ec:prime256v1", "ECDSA"), ("rsa:2048", "RSA")):
        subject = f"O=Interop,CN={name} of {level}"
        own = certificates.certified(f"{level}-{name}", kind, subject)
        dn = ",".join(reversed(subject.split(",")))  # RFC 4514 begins with the last part
        ways.append(account(server, level, "tls_client_auth", name, own, "--tls-client-auth-subject-dn", dn, bound))
        own = certificates.self_signed(f"{level}-own-{name}", kind, subject)
        pin = ("--certificate", own["certificate"])
        ways.append(account(server, level, "self_signed_tls_client_auth", name, own, *pin, bound))
    return ways


def account(server, level, method, called, secret, *options):
    return method, called, server.add_client(level, method, *options, called=called), secret


def flows(report, level, client, running, sealstone, ways):
    """Each way that the library knows: a token, introspection, revocation, and the same with a proof that is wrong."""
    known = [way for way in ways if client_knows(client, way)]
    for method, called, given, secret in known:
        step = lambda subject: report.case(client, f"client, {method}, {called}", subject, level)
        door = {"issuer": running.issuer, "ca": str(running.ca), "method": method, "document": live.DOCUMENTS[0]}
        with step("client_credentials") as passed:
            client.ask("discover", **door, **given, **secret)
            token = client.ask("fetch-token")["response"]["access_token"]
            live.expect(json.loads(decode(token.split(".")[0])), alg=level)
            if "certificate" in secret:
                cnf = {"x5t#S256": thumbprint(secret["certificate"])}
                live.expect(json.loads(decode(token.split(".")[1])), cnf=cnf)
        if not passed.passed:
            continue
        with step("introspection"):
            more = {"cnf": cnf} if "certificate" in secret else {}
            live.expect(live.introspect(client, token), active=True, client_id=given["client_id"], **more)
        with step("introspection after revocation"):
            client.ask("revoke", token=token)
            live.expect(live.introspect(client, token), active=False)
        with step("somebody else's proof"):
            client.ask("discover", **(door | given | foreign(sealstone, ways, method, secret)))
            live.must_refuse(client, "fetch-token", because="invalid_client")


def client_knows(client, way):
    method, called, _, _ = way
    return method in client.methods and (method != "private_key_jwt" or called in client.signs)


def foreign(sealstone, ways, method, secret):
    """What another client holds, or what is nobody's."""
    if method == "client_secret_jwt":
        return {"client_secret": "w" * 43}
    if "certificate" in secret:
        others = [theirs for _, name, _, theirs in ways if "certificate" in theirs and theirs != secret]
        return next(theirs for theirs in others if theirs["certificate"] != secret["certificate"])
    fresh = json.loads(sealstone.make_key(secret["alg"])["private jwk"])
    named = fresh | {"kid": json.loads(secret["key"])["kid"]}  # as if it were the right one
    return secret | {"key": json.dumps(named)}


def thumbprint(path):
    pem = Path(path).read_text()
    der = decode(pem.split("-----")[2].replace("\n", "").replace("+", "-").replace("/", "_").rstrip("="))
    return urlsafe_b64encode(sha256(der).digest()).rstrip(b"=").decode()


def slashed(subject):
    """`openssl req -subj` wants slashes, the most general part first."""
    return "".join(f"/{part}" for part in subject.split(","))


def make_key(kind, path):
    algorithm, size = kind.split(":")
    option = f"ec_paramgen_curve:{size}" if algorithm == "ec" else f"rsa_keygen_bits:{size}"
    openssl("genpkey", "-algorithm", algorithm, "-pkeyopt", option, "-out", path)


def openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise Broken(f"openssl {arguments[0]}: {done.stderr.strip()}")
