"""COSE_Sign1 that nobody should take, each with a signature that is good for what stands in it: CBOR by hand, since no library
would write it."""

import struct

INT, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG = range(7)
ALG, CRIT, KID = 1, 2, 4
BREAK = b"\xff"


def messages(sign, alg, other, content):
    """By name. `sign` signs; `alg` is what fits the key, and `other` is the next level's."""
    protected = items({ALG: integer(alg)})

    def signed(header=protected, unprotected=items({}), payload=string(content), within=content, covered=None):
        covered = header if covered is None else covered
        to_be_signed = array([text("Signature1"), string(covered), string(b""), string(within)])
        return [string(header), unprotected, payload, string(sign(to_be_signed))]

    tagged = lambda parts: head(TAG, 18) + array(parts)
    long_array = head(TAG, 18) + b"\x98\x04"
    indefinite = lambda kind, parts: bytes([kind << 5 | 31]) + b"".join(parts) + BREAK
    twice = head(MAP, 2) + (integer(ALG) + integer(alg)) * 2
    kid = string(b"a key")
    critical = lambda labels, more: items({ALG: integer(alg), CRIT: array(labels), **more})
    one = signed()
    return {
        "alg of another level": tagged(signed(items({ALG: integer(other)}))),
        "no alg": tagged(signed(b"")),
        "alg unprotected, protected empty": tagged(signed(b"", items({ALG: integer(alg)}))),
        "alg unprotected, protected an empty map": tagged(signed(b"\xa0", items({ALG: integer(alg)}), covered=b"")),
        "alg protected, and another unprotected": tagged(signed(unprotected=items({ALG: integer(other)}))),
        "alg twice": tagged(signed(twice)),
        "kid twice, unprotected": tagged(signed(unprotected=head(MAP, 2) + (integer(KID) + kid) * 2)),
        "kid in both headers": tagged(signed(items({ALG: integer(alg), KID: kid}), items({KID: kid}))),
        "crit names what nobody knows": tagged(signed(critical([integer(1000)], {1000: integer(1)}))),
        "crit empty": tagged(signed(critical([], {}))),
        "crit names what is not there": tagged(signed(critical([integer(KID)], {}))),
        "crit unprotected": tagged(signed(unprotected=items({CRIT: array([integer(ALG)])}))),
        "array of indefinite length": head(TAG, 18) + indefinite(ARRAY, one),
        "header of indefinite length": tagged(signed(indefinite(MAP, [integer(ALG), integer(alg)]))),
        "content of indefinite length": tagged(signed(payload=indefinite(BYTES, [string(content)]))),
        "length not in its shortest form": long_array + b"".join(one),
        "a byte behind": tagged(one) + b"\x00",
        "content a text": tagged(signed(payload=text(content.decode()))),
        "five items": tagged([*one, string(b"")]),
        "tag 98, COSE_Sign": head(TAG, 98) + array(one),
        "tag 18 twice": head(TAG, 18) + tagged(one),
        "signature a byte short": tagged([*one[:3], string(sign(b"")[:-1])]),
        "signature of no bytes": tagged([*one[:3], string(b"")]),
    }


def head(kind, number):
    for info, code, end in [(None, None, 24), (24, ">B", 1 << 8), (25, ">H", 1 << 16), (26, ">I", 1 << 32)]:
        if number < end:
            return bytes([kind << 5 | (number if info is None else info)]) + (struct.pack(code, number) if code else b"")
    raise ValueError(number)


def integer(value):
    return head(INT, value) if value >= 0 else head(NEGATIVE, -1 - value)


def string(data):
    return head(BYTES, len(data)) + data


def text(words):
    data = words.encode() if isinstance(words, str) else words
    return head(TEXT, len(data)) + data


def array(parts):
    return head(ARRAY, len(parts)) + b"".join(parts)


def items(members):
    return head(MAP, len(members)) + b"".join(integer(label) + value for label, value in members.items())
