"""Certificates, requests and CMS: one side makes, the other verifies, and refuses what was changed."""

from base64 import b64decode, b64encode

from partner import Broken, Refused
from pem import from_pem, label_of, to_pem

CONTENT = b"interop: a file of two lines\nand of no more\n"
SIGNED = ["CMS, signed attributes", "CMS, without attributes", "CMS, signed attributes, detached", "CMS, without attributes, detached"]
SEALED = ["AES-256-GCM", "AES-256-CBC"]  # in AuthEnvelopedData, in EnvelopedData
IN_SIGNATURE = -1500  # from the end: inside the signature of every level, which is the last of each structure
IN_LAST_HALF = -20  # inside the traditional half of a composite signature
# Roots as they stand today, above ML-DSA.
ROOTS = {"ES384": "ECDSA on P-384", "RS256": "RSA, PKCS#1 v1.5", "PS256": "RSA-PSS", "PS256, longest salt": "RSA-PSS with the longest salt"}
KEM_CIPHERTEXT = bytes.fromhex("04820440")  # the OCTET STRING of 1088 bytes that ML-KEM-768 makes


def exchange(report, levels, maker, user, direction):
    partner = user if maker.ours else maker
    can = lambda side, *asks: all(ask in side.asks for ask in asks)
    for level in levels:
        row = lambda subject: report.case(partner, direction, subject, level)
        if can(maker, "make-certificate") and can(user, "check-certificate"):
            with row("certificate, self-signed"):
                root = maker.ask("make-certificate", level=level, subject="CN=interop root")
                check_certificate(user, root["certificate"], root["certificate"], "interop root")
        if can(maker, "make-request") and can(user, "check-request"):
            with row("request"):
                request = maker.ask("make-request", level=level, subject="CN=interop request")["request"]
                named(user.ask("check-request", request=request), "interop request")
                for changed in forgeries(request):
                    refuses(user, "check-request", request=changed)
        if can(maker, "issue") and can(user, "make-request", "check-certificate"):
            with row("certificate for the other's request"):
                request = user.ask("make-request", level=level, subject="CN=interop leaf")["request"]
                leaf = issued(maker, root, request)
                check_certificate(user, leaf, root["certificate"], "interop leaf")
        if can(user, "make-request", "check-certificate"):
            for kind in maker.roots:
                with row(f"certificate below {ROOTS[kind]}"):
                    below(maker, user, maker.ask("make-certificate", level=kind, subject="CN=interop root"), level)
        for form in SIGNED if can(maker, "sign-message") and can(user, "check-message") else []:
            if why := unable(user, level, form):
                report.limit(partner, direction, form, level, why)
                continue
            with row(form):
                check_signed(maker, user, level, form, root)
        if can(maker, "seal-message") and can(user, "make-recipient", "open-message"):
            for cipher in SEALED:
                with row(f"CMS, {cipher} for ML-KEM-768"):
                    check_sealed(maker, user, level, cipher)
    for kind in [kind for kind in maker.certificates if kind in user.certificates]:
        level = f"ML-DSA-{kind[5:7]}"
        with report.case(partner, direction, f"composite certificate, {kind}", level):
            root = composite_root(maker, user, kind)
            check_certificate(user, root["certificate"], root["certificate"], "interop root", IN_LAST_HALF)
            below(maker, user, root, level, IN_LAST_HALF)


MADE = {}  # by partner and kind: a key of RSA takes a partner its time, and one does for both directions


def composite_root(maker, user, kind):
    """A self-signed certificate. Where our command makes no key of a kind, it signs with the partner's."""
    partner, named = user if maker.ours else maker, {"level": kind, "subject": "CN=interop root"}
    if maker.ours and kind not in maker.borrows:
        return maker.ask("make-certificate", **named)
    if (partner.name, kind) not in MADE:
        MADE[partner.name, kind] = partner.ask("make-certificate", **named)
    made = MADE[partner.name, kind]
    return maker.ask("make-certificate", key=made["private pem"], **named) if maker.ours else made


def below(maker, user, root, level, *places):
    """A certificate of ML-DSA below a root of another kind."""
    request = user.ask("make-request", level=level, subject="CN=interop leaf")["request"]
    leaf = issued(maker, root, request)
    # A signature of RSA or ECDSA alone is the end of the structure.
    check_certificate(user, leaf, root["certificate"], "interop leaf", *(places or [IN_LAST_HALF]))


def issued(maker, root, request):
    given = {"issuer": root["certificate"], "issuer_key": root["private pem"]}
    return maker.ask("issue", request=request, **given)["certificate"]


def check_certificate(user, certificate, issuer, subject, *places):
    named(user.ask("check-certificate", certificate=certificate, issuer=issuer), subject)
    for changed in forgeries(certificate, *places):
        refuses(user, "check-certificate", certificate=changed, issuer=issuer)


def check_signed(maker, user, level, form, root):
    content, detached = b64encode(CONTENT).decode(), "detached" in form
    given = {"certificate": root["certificate"], "key": root["private pem"], "form": form}
    message = maker.ask("sign-message", content=content, **given)["message"]
    beside = {"content": content} if detached else {}
    found = user.ask("check-message", message=message, certificate=root["certificate"], **beside)
    same(found)
    for changed in forgeries(message, texts=not detached):
        refuses(user, "check-message", message=changed, certificate=root["certificate"], **beside)
    if detached:
        other = {"content": b64encode(CONTENT.upper()).decode()}
        refuses(user, "check-message", message=message, certificate=root["certificate"], **other)


def check_sealed(maker, user, level, cipher):
    root = user.ask("make-certificate", level=level, subject="CN=interop root")
    own = {"issuer": root["certificate"], "issuer_key": root["private pem"]}
    recipient = user.ask("make-recipient", subject="CN=interop recipient", **own)
    content = b64encode(CONTENT).decode()
    message = maker.ask("seal-message", content=content, certificate=recipient["certificate"], cipher=cipher)["message"]
    with_key = {"certificate": recipient["certificate"], "key": recipient["private pem"]}
    same(user.ask("open-message", message=message, **with_key))
    der = from_pem(message)
    if der.count(KEM_CIPHERTEXT) != 1:
        raise Broken("no one ciphertext of ML-KEM-768 is in the message")
    places = [der.index(KEM_CIPHERTEXT) + 100]
    # The end is the tag of GCM. Of CBC nothing shows that its end was changed, but what is padding.
    for place in [*places, -1] if "GCM" in cipher else places:
        refuses(user, "open-message", message=to_pem(label_of(message), flipped(der, place)), **with_key)


KNOWN = {}


def unable(user, level, form):
    """Why it does not even verify what it made itself; nothing if it does."""
    if user.ours or "sign-message" not in user.asks:
        return None
    if (user.name, form) not in KNOWN:
        try:
            root = user.ask("make-certificate", level=level, subject="CN=interop root")
            check_signed(user, user, level, form, root)
            KNOWN[user.name, form] = None
        except Refused as why:
            KNOWN[user.name, form] = f"it refuses its own: {why}"
        except Broken:
            KNOWN[user.name, form] = None  # the row will say it
    return KNOWN[user.name, form]


def forgeries(pem, *places, texts=True):
    """The structure with a bit of its signature changed, and with a word of what is signed changed."""
    der, label = from_pem(pem), label_of(pem)
    for place in [IN_SIGNATURE, *places]:
        yield to_pem(label, flipped(der, place))
    if texts:
        changed = der.replace(b"interop", b"INTEROP", 1)
        if changed == der:
            raise Broken("nothing of the content stands in the structure")
        yield to_pem(label, changed)


def flipped(der, place):
    changed = bytearray(der)
    changed[place] ^= 1
    return bytes(changed)


def refuses(user, ask, **fields):
    try:
        user.ask(ask, **fields)
    except Refused:
        return
    raise Broken(f"{user.name} accepts what was changed: {ask}")


def named(answer, subject):
    if answer["subject"] != subject:
        raise Broken(f"another subject: {answer['subject']}")


def same(answer):
    if b64decode(answer["content"]) != CONTENT:
        raise Broken("another content")
