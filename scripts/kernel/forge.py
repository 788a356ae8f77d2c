"""Keys, certificates and values of `security.ima`: good ones, and such as a kernel must refuse.

The signatures and keys are made by `sealstone`, the value of a good record by the crate's example `record`. The bytes are put
together here a second time, from the kernel's headers, so that one can be compared with the other and broken in any place."""

import base64
import hashlib
import re
import struct
import subprocess

# enum hash_algo of include/uapi/linux/hash_info.h. No kernel of ours has RIPEMD-160, and none has a 255th.
HASHES = {"ripemd160": 3, "sha256": 4, "sha384": 5, "sha512": 6, "number 255": 255}
# enum evm_ima_xattr_type of security/integrity/integrity.h.
KINDS = {"digest": 4, "file": 3, "attributes": 5, "verity": 6}
CURVE = "P-384"
ALGORITHMS = {"44": "ML-DSA-44", "65": "ML-DSA-65", "87": "ML-DSA-87", CURVE: "ES384"}
# RFC 9881 §2, RFC 5758 §3.2: how a certificate names what signed it.
SIGNED_BY = {
    "44": bytes.fromhex("300b0609608648016503040311"),
    "65": bytes.fromhex("300b0609608648016503040312"),
    "87": bytes.fromhex("300b0609608648016503040313"),
    CURVE: bytes.fromhex("300a06082a8648ce3d040303"),
}


class Tools:
    """The commands of ours that are used, and the folder in which everything is made."""

    def __init__(self, sealstone, record, folder):
        self.sealstone, self.record, self.folder = sealstone, record, folder
        self.count = 0

    def run(self, *command):
        done = subprocess.run([str(word) for word in command], capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(map(str, command))}\n{done.stderr.decode()}")
        return done.stdout

    def path(self, name):
        self.count += 1
        return self.folder / f"{self.count}-{name}"


class Key:
    """A key and its certificate, as `sealstone` makes them."""

    def __init__(self, tools, level, name, *options):
        self.tools, self.level, self.name = tools, level, name
        self.private, self.certificate = tools.path(f"{name}.pem"), tools.path(f"{name}.der")
        self.public = tools.path(f"{name}.pub.pem")
        tools.run(tools.sealstone, "key", "generate", "--alg", ALGORITHMS[level], "--out", self.private, "--public-out", self.public)
        self.certify(*options)

    def certify(self, *options):
        subject = f"CN=Files {self.name} {self.level}"
        tools = self.tools
        tools.run(tools.sealstone, "cert", "new", "--ima", "--key", self.private, "--subject", subject, "--out", self.certificate, *options)
        # RFC 5280 §4.2.1.2: the extension's value is an OCTET STRING in an OCTET STRING.
        found = re.search(rb"\x06\x03\x55\x1d\x0e\x04.\x04(.)", self.certificate.read_bytes(), re.DOTALL)
        if not found:
            raise SystemExit(f"error: {self.certificate} has no subject key identifier")
        identifier = self.certificate.read_bytes()[found.end() : found.end() + found[1][0]]
        self.id = identifier[-4:]

    def sign(self, message, *options):
        """A signature as it stands in a record and in a certificate: ML-DSA's own bytes, or the two numbers of ECDSA in DER."""
        file, out = self.tools.path("message"), self.tools.path("signature")
        file.write_bytes(message)
        self.tools.run(self.tools.sealstone, "sign", "--key", self.private, "--out", out, *options, file)
        signature = out.read_bytes()
        if self.level != CURVE:
            return signature
        half = len(signature) // 2
        return der(0x30, number(signature[:half]), number(signature[half:]))

    def key_info(self):
        """SubjectPublicKeyInfo."""
        return base64.b64decode("".join(self.public.read_text().splitlines()[1:-1]))

    def certificate_without_identifier(self):
        """What `sealstone cert` refuses to make: nothing says by which number the key is found. The number is SHA-1's, then,
        RFC 5280 §4.2.1.2 (1), as evmctl computes it."""
        name = der(0x30, der(0x31, der(0x30, bytes.fromhex("0603550403"), der(0x0C, self.name.encode()))))
        validity = der(0x30, der(0x17, b"260101000000Z"), der(0x17, b"480101000000Z"))
        usage = der(0xA3, der(0x30, der(0x30, bytes.fromhex("0603551d0f"), b"\x01\x01\xff", der(0x04, b"\x03\x02\x07\x80"))))
        body = [der(0xA0, b"\x02\x01\x02"), b"\x02\x01\x07", SIGNED_BY[self.level], name, validity, name, self.key_info(), usage]
        body = der(0x30, *body)
        self.certificate.write_bytes(der(0x30, body, SIGNED_BY[self.level], der(0x03, b"\0", self.sign(body))))
        # The BIT STRING of the key ends its structure, and none of ML-DSA's keys is shorter than 256 bytes.
        bits = self.key_info().split(b"\x03\x82", 1)[1][3:]
        self.id = hashlib.sha1(bits).digest()[-4:]

    def break_certificate(self):
        """Changes the last bit of the certificate's own signature."""
        bytes_ = bytearray(self.certificate.read_bytes())
        bytes_[-1] ^= 1
        self.certificate.write_bytes(bytes_)


def der(tag, *parts):
    content = b"".join(parts)
    if len(content) < 128:
        return bytes([tag, len(content)]) + content
    size = (len(content).bit_length() + 7) // 8
    length = bytes([0x80 | size]) + len(content).to_bytes(size, "big")
    return bytes([tag]) + length + content


def number(big_endian):
    value = int.from_bytes(big_endian, "big")
    return der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def digest(hash_, content):
    return hashlib.new(hash_, content).digest()


def verity_digest(content):
    """fs-verity's digest of a file of one block (Documentation/filesystems/fsverity.rst: the root is that block's hash)."""
    assert 0 < len(content) <= 4096
    root = hashlib.sha256(content.ljust(4096, b"\0")).digest()
    descriptor = struct.pack("<BBBBIQ64s32s144s", 1, 1, 12, 0, 0, len(content), root, b"", b"")
    return hashlib.sha256(descriptor).digest()


def file_id(kind, hash_, digest_):
    """struct ima_file_id, as much of it as is used."""
    return bytes([KINDS[kind], HASHES[hash_]]) + digest_


def record(kind, version, hash_, key_id, signature, length=None):
    """struct signature_v2_hdr behind the byte of the kind."""
    length = len(signature) if length is None else length
    return struct.pack(">BBB4sH", KINDS[kind], version, HASHES[hash_], key_id, length) + signature


def good(key, content, hash_="sha256", kind="file"):
    """By the crate."""
    computed = verity_digest(content) if kind == "verity" else digest(hash_, content)
    arguments = [kind, hash_, computed.hex()]
    message = key.tools.run(key.tools.record, "id", *arguments)
    signature = key.sign(message)
    file = key.tools.path("signature")
    file.write_bytes(signature)
    made = key.tools.run(key.tools.record, "of", *arguments, key.id.hex(), file)
    if message != file_id(kind, hash_, computed) or made != record(kind, 3, hash_, key.id, signature):
        raise SystemExit("error: the crate's bytes are not those of the kernel's headers")
    return made
