#!/usr/bin/env python3
"""What others accept that is refused here: the table of refusals and mutated tokens, given to two libraries that others wrote.

`interop/differential.py` runs it; with `--docs` it writes docs/differential-jose.md. The tokens, the key they are checked with and
our verdicts come from the tests of `sealstone-jose`, and every library is told the same: this algorithm, issuer, audience, type
and time."""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # this folder stays as git knows it

import install

ROOT = Path(__file__).resolve().parent.parent
PEERS = {
    "jwcrypto": (install.python, "differential_jwcrypto.py"),
    "jose": (install.node, "differential_jose.mjs"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--docs", action="store_true", help="write docs/differential-jose.md")
    parser.add_argument("--require-all", action="store_true", help="a library that is not to be had is a failure")
    options = parser.parse_args()
    work = our_verdicts()
    cases = work["cases"]
    verdicts, versions, missing = {}, {}, {}
    for name, (language, program) in PEERS.items():
        try:
            base = language()
        except install.Missing as why:
            missing[name] = str(why)
            continue
        done = subprocess.run(
            [*base.argv, program], cwd=base.folder, env=base.environment, input=json.dumps(work), capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"error: {name}: {done.stderr[-2000:]}")
        answer = json.loads(done.stdout)
        verdicts[name], versions[name] = answer["verdicts"], answer["version"]
        assert len(verdicts[name]) == len(cases), name
    text = report(cases, verdicts, versions, missing)
    print(text)
    if options.docs:
        (ROOT / "docs/differential-jose.md").write_text(text)
    # What we accept and nobody else does would be a fault of ours, or of all the others.
    alone = [
        case["name"]
        for number, case in enumerate(cases)
        if case["accepted"] and verdicts and not any(verdict[number]["accepted"] for verdict in verdicts.values())
    ]
    if alone:
        sys.exit(f"error: {len(alone)} tokens are accepted here alone: {alone[:5]}")
    return 1 if missing and options.require_all else 0


def our_verdicts():
    with tempfile.TemporaryDirectory(prefix="sealstone-differential-") as folder:
        path = Path(folder) / "tokens.json"
        command = ["cargo", "test", "-q", "-p", "sealstone-jose", "--test", "it", "refusals::tokens_for_others"]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | {"REFUSED_TOKENS": str(path)}, capture_output=True, text=True
        )
        if done.returncode or not path.exists():
            sys.exit(f"error: {' '.join(command)}\n{(done.stdout + done.stderr)[-2000:]}")
        return json.loads(path.read_text())


def report(cases, verdicts, versions, missing):
    kinds = collections.Counter(case["place"] for case in cases)
    lines = [
        "# What others accept that is refused here",
        "",
        "The table of refusals ([refusals-jose.md](refusals-jose.md)) and tokens with a few bytes changed, checked with the same ML-DSA-44",
        "key, algorithm, issuer, audience, type and time by libraries that others wrote. `interop/differential.py --docs` writes this page.",
        "",
        "| library | version | tokens | accepted here and there | refused here and there | refused here, accepted there | accepted here, refused there |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    differ = {}
    for name, verdict in verdicts.items():
        table = collections.Counter((case["accepted"], there["accepted"]) for case, there in zip(cases, verdict))
        lines.append(
            f"| {name} | {versions[name]} | {len(cases)} | {table[True, True]} | {table[False, False]} "
            f"| {table[False, True]} | {table[True, False]} |"
        )
        for case, there in zip(cases, verdict):
            if case["accepted"] != there["accepted"]:
                differ.setdefault((case["place"], case["name"], case["refused"]), {})[name] = there
    for name, why in missing.items():
        lines.append(f"| {name} | not run: {why} | | | | | |")
    lines += ["", "Tokens by where they come from: " + ", ".join(f"{place} {count}" for place, count in kinds.items()) + "."]
    named = list(verdicts)
    lines += ["", f"## Where verdicts differ: {len(differ)}", "", "| token | here | " + " | ".join(named) + " |", "|---|---|" + "---|" * len(named)]
    for (place, what, refused), others in differ.items():
        cells = []
        for name in named:
            there = others.get(name)
            same = "refused" if refused else "accepted"
            cells.append(same if there is None else "**accepted**" if there["accepted"] else f"refused: {cell(there['why'])}")
        lines.append(f"| {cell(place)}, {cell(what)} | {cell(refused) or 'accepted'} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def cell(text):
    printable = "".join(letter if letter.isprintable() else f"\\u{{{ord(letter):x}}}" for letter in text)
    return printable.replace("|", "\\|").replace("<", "&lt;")[:90]


if __name__ == "__main__":
    sys.exit(main())
