"""What passed, what failed, what was skipped: told on the way, as one table, and as a page of the documentation."""

import contextlib
from pathlib import Path

import overview
from badkeys import COLUMNS
from markdown import markdown

DOCS = Path(__file__).resolve().parent.parent / "docs/interop.md"


class Outcome:
    passed, limit = False, None


class Report:
    def __init__(self, levels, more):
        """`more` are algorithms of which few rows speak."""
        self._levels = [*levels, *more]
        self._rows = {}  # (partner, engine, direction, subject): {level: Outcome}
        self._skipped, self._broken = [], []
        self._bad_keys = {}  # (partner, engine): {fault: what it says}
        self._bad_messages = {}  # the same of COSE_Sign1

    @contextlib.contextmanager
    def case(self, partner, direction, subject, level):
        """One case, one cell of the table; what goes wrong inside is told at once and goes no further."""
        outcome = Outcome()
        self._rows.setdefault((label(partner), partner.engine, direction, subject), {})[level] = outcome
        try:
            yield outcome
            outcome.passed = True
        except Exception as error:
            why = f"{type(error).__name__}: " + " / ".join(str(error).splitlines())
            print(f"FAILED {label(partner)}, {direction}, {subject}, {level}: {why}", flush=True)

    def limit(self, partner, direction, subject, level, why):
        """The partner cannot do this even with what is its own: a cell that neither passed nor failed."""
        outcome = Outcome()
        outcome.limit = why
        self._rows.setdefault((label(partner), partner.engine, direction, subject), {})[level] = outcome
        print(f"limit of {label(partner)}, {subject}, {level}: {why}", flush=True)

    def bad_keys(self, partner, verdicts):
        self._bad_keys[label(partner), partner.engine] = verdicts

    def bad_messages(self, partner, verdicts):
        self._bad_messages[label(partner), partner.engine] = verdicts

    def verdicts(self, partner):
        return self._bad_messages[label(partner), partner.engine]

    def skip(self, name, why):
        self._skipped.append((name, str(why)))
        print(f"skipped: {name}: {why}", flush=True)

    def broken(self, name, why):
        self._broken.append(name)
        print(f"FAILED {name}: {why}", flush=True)

    def table(self):
        """Every row, in Markdown."""
        rows = [[*row, *map(self._cell(cells), self._levels)] for row, cells in self._rows.items()]
        return markdown(["partner", "its ML-DSA", "direction", "what", *self._levels], rows)

    def overview(self):
        """One line for each partner."""
        return overview.table(self._rows, self._bad_keys, self._skipped)

    def faults(self):
        """One line for each who judged the bad keys."""
        rows = [[who, *(said.get(fault, "-") for fault in COLUMNS)] for (who, _), said in self._bad_keys.items()]
        return markdown(["who", *COLUMNS], rows)

    def messages(self):
        """One line for each bad message, one column for each who judged it."""
        faults = next(iter(self._bad_messages.values()), {})
        rows = [[fault, *(said[fault] for said in self._bad_messages.values())] for fault in faults]
        who = [name if engine == "its own" else f"{name}, {engine}" for name, engine in self._bad_messages]
        return markdown(["COSE_Sign1 of ML-DSA-44", *who], rows)

    def limits(self):
        """What partners could not do."""
        found = {
            f"{partner}, {subject}: {cell.limit}": None
            for (partner, _, _, subject), cells in self._rows.items()
            for cell in cells.values()
            if cell.limit
        }
        return "\n".join(f"- {line}" for line in found) or "None."

    def _cell(self, cells):
        word = lambda outcome: "ok" if outcome.passed else "its limit" if outcome.limit else "FAILED"
        return lambda level: word(cells[level]) if level in cells else "-"

    def write_docs(self):
        DOCS.parent.mkdir(exist_ok=True)
        page = {"overview": self.overview(), "faults": self.faults(), "limits": self.limits(), "messages": self.messages()}
        DOCS.write_text(PAGE.format(**page, table=self.table(), totals=self._totals()))

    def close(self, require_all):
        """Prints the totals; 0 if all is well, 1 if not."""
        print(self._totals())
        return 1 if self._failed() or not self._passed() or (require_all and self._skipped) else 0

    def _totals(self):
        return f"{self._passed()} passed, {self._failed()} failed, {len(self._skipped)} skipped"

    def _passed(self):
        return sum(outcome.passed for cells in self._rows.values() for outcome in cells.values())

    def _failed(self):
        failed = sum(not outcome.passed and not outcome.limit for cells in self._rows.values() for outcome in cells.values())
        return failed + len(self._broken)


def label(partner):
    return f"{partner.name} {partner.version}"


PAGE = """\
# Interoperability

Sealstone against implementations that others wrote. Made by

    ./dev interop --docs

which fetches each partner from the registry of its language, pinned by the lock files under `interop/`. What each
row asks is said in `interop/README.md`. A number like 12/12 counts the rows of one direction that passed, over all levels:
behind each acceptance stands a refusal of the same with a byte changed.

{overview}

## Bad keys

What each says of keys that nobody should take, in this run. *accepts*: it loaded the key as one to sign with. *-*: it knows no such
form. The JWKs are of ML-DSA-65, the PKCS#8 of ML-DSA-44. Libraries that know only raw keys are asked with the raw seed. *does not
read* is said of a form of RFC 9881 that the library refuses even without a fault.

- *short seed*: 31 bytes. *expanded priv*: the 4032-byte key in `priv` (RFC 9964 §4 wants the seed). *mismatched pub*: that of another key.
- *mismatch*: seed and expanded key of two keys. *bad tr*, *bad t0*: a bit of that part of the expanded key is changed (RFC 9881 §8.2).

{faults}

## Bad COSE_Sign1

Each but the last two has a good signature over what stands in it; the fault is in the structure (RFC 9052 §3, §4.2) or in its CBOR (RFC 8949). go-cose
takes ML-DSA from elsewhere by its own interface; cbor2 and pyca/cryptography are put together as the RFC alone says, so what
that column accepts is what CBOR by hand lets through.

{messages}

## What partners cannot do

{limits}

## Every row

{table}

{totals}
"""
