"""COSE_Key (RFC 9052 §7, RFC 9964 §3) among others: CBOR of another library, the public half by another ML-DSA."""

from base64 import b64decode, b64encode

from partner import Broken, Refused


def exchange(report, levels, sealstone, cose):
    for level in levels:
        with report.case(cose, "Sealstone to partner", "COSE_Key, private", level):
            public, key = sealstone.make_cose_key(level)
            same(cose.ask("read-cose-key", level=level, key=text(key))["public"], text(public))
            refused(lambda: cose.ask("read-cose-key", level=level, key=text(changed(key, public))))
        with report.case(cose, "partner to Sealstone", "COSE_Key, private", level):
            made = cose.ask("make-cose-key", level=level)
            key, public = b64decode(made["key"]), b64decode(made["public"])
            same(sealstone.public_of_cose_key(key), public)
            refused(lambda: sealstone.public_of_cose_key(changed(key, public)))


def changed(key, public):
    """With a bit of the public half changed, which the seed then does not give."""
    place = key.index(public) + len(public) // 2
    return key[:place] + bytes([key[place] ^ 1]) + key[place + 1 :]


def refused(ask):
    try:
        ask()
    except Refused:
        return
    raise Broken("a public half that is not that of the seed is taken")


def same(found, expected):
    if found != expected:
        raise Broken("another public half")


def text(data):
    return b64encode(data).decode()
