"""cbor2 for the structures of COSE (RFC 9052) and pyca/cryptography for ML-DSA: COSE_Sign1 by the RFCs alone."""

from base64 import b64decode, b64encode

import cbor2
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.backends.openssl import backend

from wire import Refused, serve
from pyca_keys import PRIVATE, PUBLIC

ALGORITHMS = {"ML-DSA-44": -48, "ML-DSA-65": -49, "ML-DSA-87": -50}  # RFC 9964
ALG, CONTENT_TYPE, KID, CLAIMS = 1, 3, 4, 15
IAT, CTI = 6, 7
SIGN1 = 18
KTY, KEY_ALG, PUB, PRIV, AKP = 1, 3, -1, -2, 7  # COSE_Key (RFC 9964 §3)


def make_key(level):
    key = PRIVATE[level].generate()
    return {"seed": text(key.private_bytes_raw()), "public": text(key.public_key().public_bytes_raw())}


def seal(level, seed, key_id, topic, payload, content_type, time, epoch, sequence):
    number = epoch.to_bytes(4, "big") + sequence.to_bytes(4, "big")
    header = {ALG: ALGORITHMS[level], CONTENT_TYPE: content_type, KID: key_id.to_bytes(2, "big"), CLAIMS: {IAT: time, CTI: number}}
    protected = cbor2.dumps(header, canonical=True)
    key = PRIVATE[level].from_seed_bytes(b64decode(seed))
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
        PUBLIC[level].from_public_bytes(b64decode(public)).verify(signature, covered(protected, topic, payload))
    except InvalidSignature:
        raise Refused("InvalidSignature")
    number = header[CLAIMS][CTI]
    return {
        "payload": text(payload), "key_id": int.from_bytes(header[KID], "big"), "content_type": header.get(CONTENT_TYPE, ""),
        "number": f"{int.from_bytes(number[:4], 'big')}.{int.from_bytes(number[4:], 'big')}",
    }


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
serve("cbor2", engine, keys | {"make-key": make_key, "seal": seal, "open": open_})
