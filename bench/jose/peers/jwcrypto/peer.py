"""jwcrypto as a rival, over OpenSSL in pyca/cryptography. The lines are those of bench/README.md, "Measuring tokens"."""

import json
import os
import sys
import time
from importlib.metadata import version
from itertools import cycle, islice

from cryptography.hazmat.backends.openssl import backend
from jwcrypto import jwk, jwt
from jwcrypto.common import JWException

AUDIENCE = "https://orders.example"
TOKENS = 32
CLAIMS = json.loads(os.environ["PEER_CLAIMS"])


class Rival:
    def __init__(self, level):
        self.alg = f"ML-DSA-{level}"
        self.key = jwk.JWK.generate(kty="AKP", alg=self.alg)
        self.public = jwk.JWK.from_json(self.key.export_public())
        self.tokens = [self.sign() for _ in range(TOKENS)]
        self.verify(self.tokens[0])
        place = len(self.tokens[0]) - 1000
        letter = "B" if self.tokens[0][place] == "A" else "A"
        try:
            self.verify(self.tokens[0][:place] + letter + self.tokens[0][place + 1 :])
        except JWException:
            return
        raise SystemExit("an altered token was taken")

    def sign(self):
        token = jwt.JWT(header={"alg": self.alg, "typ": "JWT"}, claims=CLAIMS)
        token.make_signed_token(self.key)
        return token.serialize()

    def verify(self, token):
        wanted = {"iss": CLAIMS["iss"], "aud": AUDIENCE, "exp": None}
        return json.loads(jwt.JWT(jwt=token, key=self.public, algs=[self.alg], check_claims=wanted).claims)

    def answer(self, operation, runs=1):
        if operation == "check":
            return f"{self.public.export_public()} {self.tokens[0]}".replace('": "', '":"').replace('", "', '","')
        if operation == "sign-token":
            return timed(lambda: [self.sign() for _ in range(runs)])
        if operation == "verify-token":
            return timed(lambda: [self.verify(token) for token in islice(cycle(self.tokens), runs)])
        return "none"


def timed(work):
    start = time.thread_time_ns()
    work()
    return time.thread_time_ns() - start


levels = {level: Rival(level) for level in ("44", "65", "87")}
print(f"jwcrypto {version('jwcrypto')}, {' '.join(backend.openssl_version_text().split()[:2])}", flush=True)
for line in sys.stdin:
    operation, level, *runs = line.split()
    print(levels[level].answer(operation, *map(int, runs)) if level in levels else "none", flush=True)
