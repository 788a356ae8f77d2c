"""The first table of the page: one line for each partner."""

from markdown import markdown

HEAD = ["partner", "version", "what", "we sign, they verify", "they sign, we verify", "the rest", "bad keys"]
# The first word of what a row asks: what it is about.
TOPICS = {
    "token": "JWT", "public": "SPKI", "private key in JWK": "JWK", "private key in PEM": "PKCS#8", "composite token": "composite JOSE",
    "certificate": "X.509", "request": "CSR", "CMS": "CMS", "composite certificate": "composite X.509", "COSE_Key": "COSE_Key", "COSE_Sign1": "COSE_Sign1",
    "v1": "MQTT", "cose": "MQTT", "paper": "MQTT", "detached": "MQTT", "client": "OAuth", "person": "OpenID Connect",
}  # fmt: skip


def table(rows, bad_keys, skipped):
    partners = {}
    for (partner, _, direction, subject), cells in rows.items():
        if not partner.startswith("Sealstone "):
            partners.setdefault(partner, []).append((direction, subject, cells))
    lines = [line(partner, of, next((said for (who, _), said in bad_keys.items() if who == partner), {})) for partner, of in partners.items()]
    missing = [[name, "-", f"not here: {why}", "-", "-", "-", "-"] for name, why in skipped]
    return markdown(HEAD, lines + missing)


def line(partner, rows, verdicts):
    name, version = partner.rsplit(" ", 1)
    topics = list(dict.fromkeys(filter(None, (topic(direction, subject) for direction, subject, _ in rows))))
    ours = lambda direction: direction.startswith(("Sealstone to", "server to"))
    theirs = lambda direction: direction.startswith("partner to")
    rest = lambda direction: not ours(direction) and not theirs(direction)
    counts = [count(cells for direction, _, cells in rows if of(direction)) for of in (ours, theirs, rest)]
    return [name, version, ", ".join(topics), *counts, said(verdicts)]


def topic(direction, subject):
    for text in (direction, subject):
        for start in sorted(TOPICS, key=len, reverse=True):
            if text.startswith(start):
                return TOPICS[start]
    return None


def count(all_cells):
    outcomes = [outcome for cells in all_cells for outcome in cells.values()]
    if not outcomes:
        return "-"
    limits = sum(bool(outcome.limit) for outcome in outcomes)
    passed = sum(outcome.passed for outcome in outcomes)
    return f"{passed}/{len(outcomes) - limits}" + (f" (and {limits} beyond it)" if limits else "")


def said(verdicts):
    """The keys that it should not have taken, and the forms that it does not read; the whole is in the second table."""
    taken = [fault for fault, word in verdicts.items() if word == "accepts"]
    unread = [fault.removeprefix("PKCS#8 ") for fault, word in verdicts.items() if word == "does not read" and "," not in fault]
    words = [f"accepts {'; '.join(taken)}"] if taken else ["refuses all"] if verdicts else ["-"]
    return "; ".join(words + [f"does not read PKCS#8 {' and '.join(unread)}"] * bool(unread))
