"""cbor2 for the structures of COSE (RFC 9052) and pyca/cryptography for ML-DSA: COSE_Sign1 by the RFCs alone."""

from base64 import b64decode, b64encode

import cbor2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.backends.openssl import backend

from bad_sign1 import messages as bad_sign1_messages
from wire import Refused, serve
from pyca_keys import PRIVATE, PUBLIC

ALGORITHMS = {"ML-DSA-44": -48, "ML-DSA-65": -49, "ML-DSA-87": -50}  # RFC 9964
ALG, CONTENT_TYPE, KID, CLAIMS = 1, 3, 4, 15
IAT, CTI = 6, 7
SIGN1 = 18
KTY, KEY_ALG, PUB, PRIV, AKP = 1, 3, -1, -2, 7  # COSE_Key (RFC 9964 §3)


def make_key(level):
    key = PRIVATE[level].generate()
    return {"seed": key.private_bytes_raw().hex(), "public": key.public_key().public_bytes_raw().hex()}


def seal(level, seed, key_id, topic, payload, content_type, time, epoch, sequence):
    number = epoch.to_bytes(4, "big") + sequence.to_bytes(4, "big")
    header = {ALG: ALGORITHMS[level], CONTENT_TYPE: content_type, KID: key_id.to_bytes(2, "big"), CLAIMS: {IAT: time, CTI: number}}
    protected = cbor2.dumps(header, canonical=True)
    key = PRIVATE[level].from_seed_bytes(bytes.fromhex(seed))
    signature = key.sign(covered(protected, topic, b64decode(payload)))
    return {"envelope": text(cbor2.dumps(cbor2.CBORTag(SIGN1, [protected, {}, b64decode(payload), signature]), canonical=True))}


def open_(level, public, topic, envelope):
    tagged = cbor2.loads(b64decode(envelope))
    if not isinstance(tagged, cbor2.CBORTag) or tagged.tag != SIGN1:
        raise Refused("no COSE_Sign1")
    protected, unprotected, payload, signature = tagged.value
    header = cbor2.loads(protected)
    if header[ALG] != ALGORITHMS[level] or unprotected:
        raise Refused("another algorithm")
    try:
        PUBLIC[level].from_public_bytes(bytes.fromhex(public)).verify(signature, covered(protected, topic, payload))
    except InvalidSignature:
        raise Refused("InvalidSignature")
    number = header[CLAIMS][CTI]
    return {
        "payload": text(payload), "key_id": int.from_bytes(header[KID], "big"), "content_type": header.get(CONTENT_TYPE, ""),
        "number": f"{int.from_bytes(number[:4], 'big')}.{int.from_bytes(number[4:], 'big')}",
    }


def sign1(level, seed, content, aad, untagged=False, detached=False):
    content = bytes.fromhex(content)
    protected = cbor2.dumps({ALG: ALGORITHMS[level], CONTENT_TYPE: "text/plain"}, canonical=True)
    key = PRIVATE[level].from_seed_bytes(bytes.fromhex(seed))
    signature = key.sign(cbor2.dumps(["Signature1", protected, bytes.fromhex(aad), content], canonical=True))
    parts = [protected, {KID: b"a key"}, None if detached else content, signature]
    return {"message": cbor2.dumps(parts if untagged else cbor2.CBORTag(SIGN1, parts), canonical=True).hex()}


def open1(level, public, message, aad, content=None):
    """As one writes it who has a library of CBOR and the RFC: what is refused beyond that, cbor2 refuses."""
    try:
        message = cbor2.loads(bytes.fromhex(message))
        parts = message.value if isinstance(message, cbor2.CBORTag) and message.tag == SIGN1 else message
        protected, unprotected, payload, signature = parts
        header = cbor2.loads(protected) if protected else {}
    except (cbor2.CBORDecodeError, TypeError, ValueError) as why:
        raise Refused(str(why))
    if header.get(ALG) != ALGORITHMS[level] or (payload is None) == (content is None):
        raise Refused("another algorithm, or no content")
    content = payload if content is None else bytes.fromhex(content)
    covered = cbor2.dumps(["Signature1", protected, bytes.fromhex(aad), content], canonical=True)
    try:
        PUBLIC[level].from_public_bytes(bytes.fromhex(public)).verify(signature, covered)
    except (InvalidSignature, ValueError) as why:
        raise Refused(type(why).__name__)
    return {"content": content.hex()}


def bad_sign1(level, seed, content):
    key = PRIVATE[level].from_seed_bytes(bytes.fromhex(seed))
    other = ALGORITHMS["ML-DSA-65" if level == "ML-DSA-44" else "ML-DSA-44"]
    bad = bad_sign1_messages(key.sign, ALGORITHMS[level], other, bytes.fromhex(content))
    return {name: message.hex() for name, message in bad.items()}


def make_cose_key(level):
    key = PRIVATE[level].generate()
    public = key.public_key().public_bytes_raw()
    parts = {KTY: AKP, KEY_ALG: ALGORITHMS[level], PUB: public, PRIV: key.private_bytes_raw()}
    return {"key": text(cbor2.dumps(parts, canonical=True)), "public": text(public)}


def read_cose_key(level, key):
    """The public half, where the seed gives the same."""
    parts = cbor2.loads(b64decode(key))
    if (parts[KTY], parts[KEY_ALG]) != (AKP, ALGORITHMS[level]):
        raise Refused("a key of another kind")
    if PRIVATE[level].from_seed_bytes(parts[PRIV]).public_key().public_bytes_raw() != parts[PUB]:
        raise Refused("the seed is of another key")
    return {"public": text(parts[PUB])}


def covered(protected, topic, payload):
    """Sig_structure (RFC 9052 §4.4); the topic is external_aad."""
    return cbor2.dumps(["Signature1", protected, topic.encode(), payload], canonical=True)


def text(data):
    return b64encode(data).decode()


engine = " ".join(backend.openssl_version_text().split()[:2])
keys = {"make-cose-key": make_cose_key, "read-cose-key": read_cose_key}
sign1s = {"sign1": sign1, "open1": open1, "bad-sign1": bad_sign1}
serve("cbor2", engine, keys | sign1s | {"make-key": make_key, "seal": seal, "open": open_})
