"""Proves each lemma of lemmas.py, and shows that each of its controls is refuted. Fails otherwise. With --check it only looks
whether each lemma's text still stands in its files, and needs no z3."""

import pathlib
import sys
import time
from types import SimpleNamespace
from unittest import mock

CHECK = sys.argv[1:] == ["--check"]
if CHECK:
    sys.modules["z3"] = mock.MagicMock()
import z3
from lemmas import LEMMAS

LIMIT_SECONDS = 120
ENGINE = pathlib.Path(__file__).resolve().parents[2] / "crates/mldsa/src"


def main():
    if CHECK:
        if not all([stands(name, where, text) for name, _, where, text, *_ in LEMMAS]):
            sys.exit("error: ./dev prove would fail")
        return print(f"prove: the texts of {len(LEMMAS)} lemmas stand where they should")
    wanted = sys.argv[1:]
    chosen = [lemma for lemma in LEMMAS if not wanted or lemma[0] in wanted]
    print(f"z3 {z3.get_version_string()}")
    failed = [lemma[0] for lemma in chosen if not examine(*lemma)]
    claims, controls = examine.claims, examine.controls
    print(f"{len(chosen) - len(failed)} of {len(chosen)} lemmas proved ({claims} claims), {controls} controls refuted")
    if failed or not chosen:
        sys.exit(f"error: {', '.join(failed) or 'no such lemma'}")


def examine(name, what, where, text, claims, constants, controls):
    begin = time.monotonic()
    good = stands(name, where, text)
    for claim in claims(SimpleNamespace(**constants)):
        verdict, _ = check(claim)
        examine.claims += verdict == "proved"
        if verdict != "proved":
            print(f"{name}: {verdict}: {claim}")
            good = False
    print(f"{'proved' if good else 'FAILED'}  {name} ({time.monotonic() - begin:.1f} s): {what} [{where}]", flush=True)
    for change in controls:
        refuted = [model for claim in claims(SimpleNamespace(**{**constants, **change}))
                   for verdict, model in [check(claim)] if verdict == "refuted"]
        changed = ", ".join(f"{key} = {value}" for key, value in change.items())
        print(f"  control {changed}: {f'refuted by {refuted[0]}' if refuted else 'NOT REFUTED'}", flush=True)
        examine.controls += bool(refuted)
        good = good and bool(refuted)
    return good


def stands(name, where, text):
    """Whether the text of the lemma is still in its files."""
    files = [part.split(":")[0] for part in where.split(", ") if ".rs" in part]
    missing = [file for file in files if text not in (ENGINE / file).read_text()]
    for file in missing:
        print(f"{name}: {file} has no longer the text {text!r}; look whether the lemma still says what the code does")
    return not missing


examine.claims = examine.controls = 0


def check(claim):
    solver = z3.Solver()
    solver.set("timeout", 1000 * LIMIT_SECONDS)
    solver.add(z3.Not(claim))
    verdict = solver.check()
    if verdict == z3.sat:
        return "refuted", str(solver.model()).replace("\n", "")
    return ("proved" if verdict == z3.unsat else "not decided"), None


if __name__ == "__main__":
    main()
