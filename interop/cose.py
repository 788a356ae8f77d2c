"""COSE_Key (RFC 9052 §7, RFC 9964 §3) and COSE_Sign1 (RFC 9052 §4.2) among others: CBOR of another library, signatures of another
ML-DSA."""

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


# How a message may be written, which all must read.
FORMS = {"COSE_Sign1": {}, "COSE_Sign1, untagged": {"untagged": True}, "COSE_Sign1, detached": {"detached": True}}
CONTENT, AAD = b"interop: a content".hex(), b"known to both".hex()


def messages(report, levels, ours, partner):
    """COSE_Sign1 both ways; `ours` is a program around our library."""
    for maker, user, direction in [(ours, partner, "Sealstone to partner"), (partner, ours, "partner to Sealstone")]:
        for level in levels:
            for form, how in FORMS.items():
                with report.case(partner, direction, form, level):
                    check_sign1(maker, user, level, how)


def check_sign1(maker, user, level, how):
    key = maker.ask("make-key", level=level)
    for content, aad in [(CONTENT, AAD), ("00" * 1000, ""), ("e2", AAD)]:
        message = maker.ask("sign1", level=level, seed=key["seed"], content=content, aad=aad, **how)["message"]
        beside = {"content": content} if "detached" in how else {}
        given = {"level": level, "public": key["public"], "message": message, "aad": aad} | beside
        if user.ask("open1", **given)["content"] != content:
            raise Broken("another content")
        whole = bytes.fromhex(message)
        # A bit of the signature, of the protected header's text/plain, of the content.
        for place in [-100, whole.index(b"plain"), *([] if beside else [whole.index(bytes.fromhex(content))])]:
            forged = bytearray(whole)
            forged[place] ^= 1
            refused(lambda: user.ask("open1", **given | {"message": forged.hex()}), "a changed message is taken")
        refused(lambda: user.ask("open1", **given | {"aad": "00"}), "another aad is taken")
        if beside:
            refused(lambda: user.ask("open1", **given | {"content": "00"}), "another content is taken")


def judge(report, judges, maker, ours):
    """Messages that nobody should take, each with a good signature, shown to everybody; what they say is measured."""
    level = "ML-DSA-44"
    key = ours.ask("make-key", level=level)
    bad = maker.ask("bad-sign1", level=level, seed=key["seed"], content=CONTENT)
    for judge in judges:
        verdicts = {}
        for fault, message in bad.items():
            try:
                judge.ask("open1", level=level, public=key["public"], message=message, aad="")
                verdicts[fault] = "accepts"
            except Refused:
                verdicts[fault] = "refuses"
        report.bad_messages(judge, verdicts)
    for fault, verdict in report.verdicts(ours).items():
        with report.case(ours, "bad COSE_Sign1", f"refuses: {fault}", level):
            if verdict != "refuses":
                raise Broken(f"it {verdict} it")


def changed(key, public):
    """With a bit of the public half changed, which the seed then does not give."""
    place = key.index(public) + len(public) // 2
    return key[:place] + bytes([key[place] ^ 1]) + key[place + 1 :]


def refused(ask, what="a public half that is not that of the seed is taken"):
    try:
        ask()
    except Refused:
        return
    raise Broken(what)


def same(found, expected):
    if found != expected:
        raise Broken("another public half")


def text(data):
    return b64encode(data).decode()
