"""Verdicts of jwcrypto on the tokens of differential.py."""

import importlib.metadata
import json
import sys
import time

from jwcrypto import jwk, jwt

work = json.load(sys.stdin)
time.time = lambda: float(work["now"])  # it asks the clock itself
key = jwk.JWK.from_json(json.dumps(work["key"]))


def verdict(token):
    try:
        checked = jwt.JWT(
            algs=[work["alg"]], expected_type="JWS", check_claims={"iss": work["iss"], "aud": work["aud"], "exp": None}
        )
        checked.leeway = 0
        checked.deserialize(token, key)
        # It leaves the type to its caller.
        typ = json.loads(checked.header).get("typ", "")
        if not isinstance(typ, str) or typ.lower().removeprefix("application/") != work["typ"]:
            return {"accepted": False, "why": "the caller's check of typ"}
        return {"accepted": True, "why": ""}
    except RecursionError:
        return {"accepted": False, "why": "RecursionError"}
    except Exception as why:  # whatever it throws is a refusal
        return {"accepted": False, "why": type(why).__name__}


json.dump(
    {"version": importlib.metadata.version("jwcrypto"), "verdicts": [verdict(case["token"]) for case in work["cases"]]},
    sys.stdout,
)
