"""What every exchange asks of a verifier: the token is good, and each forgery of it is not."""

import json

from base64url import decode, encode
from partner import Broken, Refused

FORGERIES = ["signature", "payload"]


def check_and_refuse(verifier, token, level, form, key, expected):
    """The verifier accepts the token with exactly the expected claims (JSON text), and refuses each forgery of it."""
    found = verifier.check_token(token, level, form, key)
    if json.loads(found) != json.loads(expected):
        raise Broken(f"{verifier.name} found other claims: {found[:200]}")
    for part in FORGERIES:
        try:
            verifier.check_token(forge(token, part), level, form, key)
        except Refused:
            continue
        raise Broken(f"{verifier.name} accepts a token whose {part} was changed")


def forge(token, part):
    """The token with one character of its signature, or one word of its claims, changed."""
    header, payload, signature = token.split(".")
    if part == "payload":
        claims = decode(payload)
        changed = claims.replace(b"interop", b"INTEROP", 1)
        assert changed != claims, "the claims hold no word to change"
        return f"{header}.{encode(changed)}.{signature}"
    middle = len(signature) // 2
    letter = "B" if signature[middle] == "A" else "A"
    return f"{header}.{payload}.{signature[:middle]}{letter}{signature[middle + 1 :]}"
