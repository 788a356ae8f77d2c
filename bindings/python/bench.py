"""Signing and verifying from Python, beside pyca/cryptography (OpenSSL): the same keys, messages and process, in turns.

Each round times both, one after the other, so that what slows the machine down slows both; what is counted is the time that this
thread had a processor, not that which others had it. Printed are the medians of all rounds in microseconds a call, and the ratio of the two with the range of its middle half: above 1 is faster than pyca/cryptography.
`scripts/python --bench` runs this with the wheel."""

import argparse
import os
import platform
import statistics
import time

from cryptography.hazmat.backends.openssl import backend
from cryptography.hazmat.primitives.asymmetric import mldsa

import sealstone

MESSAGE = bytes(250)
BATCH = 64


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--milliseconds", type=float, default=20, help="for each side of each round")
    options = parser.parse_args()
    print(f"{cpu()}, Python {platform.python_version()}, sealstone {sealstone.__version__}, {backend.openssl_version_text()}")
    print(f"{options.rounds} rounds of {options.milliseconds:g} ms, load {os.getloadavg()[0]:.1f}")
    print("| | sealstone, µs | pyca/cryptography, µs | times as fast |\n|---|---|---|---|")
    for level in sealstone.LEVELS:
        for name, ours, theirs in operations(level):
            row(f"{name}, {level}", measure(ours, theirs, options.rounds, options.milliseconds / 1000))


def operations(level):
    """What is compared, with how many calls are in one of ours."""
    key = sealstone.generate(level)
    public = key.verifying_key
    theirs = getattr(mldsa, f"{level.replace('-', '')}PrivateKey").from_seed_bytes(key.seed())
    their_public = theirs.public_key()
    signature = key.sign(MESSAGE)
    their_public.verify(signature, MESSAGE)
    signed = [(public, MESSAGE, signature)] * BATCH
    yield "sign", (lambda: key.sign(MESSAGE), 1), lambda: theirs.sign(MESSAGE)
    yield f"sign, {BATCH} in a batch", (lambda: sealstone.sign_batch([(key, MESSAGE)] * BATCH), BATCH), lambda: theirs.sign(MESSAGE)
    yield "verify", (lambda: public.verify(MESSAGE, signature), 1), lambda: their_public.verify(signature, MESSAGE)
    yield f"verify, {BATCH} in a batch", (lambda: sealstone.verify_batch(signed), BATCH), (
        lambda: their_public.verify(signature, MESSAGE)
    )
    generate = getattr(mldsa, f"{level.replace('-', '')}PrivateKey").generate
    yield "generate", (lambda: sealstone.generate(level), 1), generate


def measure(ours, theirs, rounds, seconds):
    call, share = ours
    counts = [repeats(call, seconds), repeats(theirs, seconds)]
    mine, other = [], []
    for _ in range(rounds):
        mine.append(timed(call, counts[0]) / share)
        other.append(timed(theirs, counts[1]))
    return mine, other


def repeats(call, seconds):
    """How often in so much time, and at least once."""
    call()
    return max(1, int(seconds / max(timed(call, 3), 1e-9)))


def timed(call, count):
    begin = time.thread_time()
    for _ in range(count):
        call()
    return (time.thread_time() - begin) / count


def row(name, measured):
    mine, other = measured
    ratios = sorted(theirs / ours for ours, theirs in zip(mine, other))
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(
        f"| {name} | {statistics.median(mine) * 1e6:.1f} | {statistics.median(other) * 1e6:.1f} "
        f"| {middle:.2f} ({low:.2f} to {high:.2f}) |"
    )


def cpu():
    try:
        with open("/proc/cpuinfo") as info:
            return next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    main()
