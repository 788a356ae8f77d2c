"""Keys that nobody should take, shown to everybody who judges keys: what they say is measured here, not known beforehand."""

import json
import os

from base64url import decode, encode
from partner import Broken, Refused
from pem import from_pem, to_pem

JWK_LEVEL, PEM_LEVEL = "ML-DSA-65", "ML-DSA-44"
EXPANDED_LENGTH = {"ML-DSA-44": 2560, "ML-DSA-65": 4032, "ML-DSA-87": 4896}
TR = 64  # where tr begins in an expanded key (FIPS 204, Algorithm 24): behind ρ and K

# What can be wrong: who can judge it, and by which form. A form without fault shows whether it is read at all.
JWK_FAULTS = ["short seed", "expanded priv", "mismatched pub", "missing pub", "missing alg"]
SEED_FAULTS = ["short seed", "expanded priv"]
PEM_FORMS = ["PKCS#8 seed", "PKCS#8 both", "PKCS#8 expanded"]
PEM_FAULTS = {
    "both, mismatch": "PKCS#8 both",
    "both, bad tr": "PKCS#8 both",
    "expanded, bad tr": "PKCS#8 expanded",
    "expanded, bad t0": "PKCS#8 expanded",
}
NEEDED = ["private jwk", "private pem", "private pem (both)", "private pem (expanded)"]
COLUMNS = [*JWK_FAULTS, *PEM_FORMS, *PEM_FAULTS]


def judge(report, partners, sealstone, oracle):
    """`oracle` writes every form of a key; from what it writes the bad ones are made. Sealstone must refuse all that are."""
    jwks, pems = jwk_keys(oracle), pem_keys(oracle)
    for side in [*partners, *([sealstone] if sealstone else [])]:
        verdicts = {}
        if "jwk" in side.judges or "seed" in side.judges:
            faults = JWK_FAULTS if "jwk" in side.judges else SEED_FAULTS
            if not loads(side, JWK_LEVEL, "private jwk", jwks["good"]):
                raise Broken(f"{side.name} does not load a good JWK")
            for fault in faults:
                verdicts[fault] = "accepts" if loads(side, JWK_LEVEL, "private jwk", jwks[fault]) else "refuses"
        if "pem" in side.judges:
            for form in PEM_FORMS:
                verdicts[form] = "reads" if loads(side, PEM_LEVEL, "private pem", pems[form]) else "does not read"
            for fault, form in PEM_FAULTS.items():
                taken = verdicts[form] == "reads" and loads(side, PEM_LEVEL, "private pem", pems[fault])
                read = "accepts" if taken else "refuses"
                verdicts[fault] = read if verdicts[form] == "reads" else "does not read"
        report.bad_keys(side, verdicts)
        for fault in [*JWK_FAULTS, *PEM_FAULTS] if side.ours else []:
            with report.case(side, "bad keys", f"refuses: {fault}", PEM_LEVEL if fault in PEM_FAULTS else JWK_LEVEL):
                if verdicts[fault] != "refuses":
                    raise Broken(f"it {verdicts[fault]} it")
        for form in PEM_FORMS if side.ours else []:
            with report.case(side, "good keys", f"reads: {form}", PEM_LEVEL):
                if verdicts[form] != "reads":
                    raise Broken(f"it {verdicts[form]} it")


def loads(side, level, form, key):
    """Whether it takes the key as one to sign with."""
    try:
        side.ask("load-key", level=level, form=form, key=key)
        return True
    except Refused:
        return False


def jwk_keys(oracle):
    made = oracle.ask("make-key", level=JWK_LEVEL)
    good, other = json.loads(made["private jwk"]), json.loads(oracle.ask("make-key", level=JWK_LEVEL)["private jwk"])
    expanded = from_pem(made["private pem (expanded)"])[-EXPANDED_LENGTH[JWK_LEVEL] :]
    without = lambda member: {name: value for name, value in good.items() if name != member}
    keys = {
        "good": good,
        "short seed": good | {"priv": encode(decode(good["priv"])[:-1])},
        "expanded priv": good | {"priv": encode(expanded)},
        "mismatched pub": good | {"pub": other["pub"]},
        "missing pub": without("pub"),
        "missing alg": without("alg"),
    }
    return {fault: json.dumps(key) for fault, key in keys.items()}


def pem_keys(oracle):
    made = oracle.ask("make-key", level=PEM_LEVEL)
    seed = decode(json.loads(made["private jwk"])["priv"])
    both, expanded = from_pem(made["private pem (both)"]), from_pem(made["private pem (expanded)"])
    start = -EXPANDED_LENGTH[PEM_LEVEL]
    ders = {
        "PKCS#8 seed": from_pem(made["private pem"]),
        "PKCS#8 both": both,
        "PKCS#8 expanded": expanded,
        "both, mismatch": replaced(both, seed, os.urandom(len(seed))),
        "both, bad tr": flipped(both, start + TR),
        "expanded, bad tr": flipped(expanded, start + TR),
        "expanded, bad t0": flipped(expanded, -1),  # t0 is the end of the key
    }
    return {name: to_pem("PRIVATE KEY", der) for name, der in ders.items()}


def replaced(der, old, new):
    if der.count(old) != 1:
        raise Broken("the seed does not stand once in the key")
    return der.replace(old, new)


def flipped(der, place):
    changed = bytearray(der)
    changed[place] ^= 1
    return bytes(changed)
