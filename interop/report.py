"""What passed, what failed, what was skipped: told on the way, as one table, and as a page of the documentation."""

import contextlib
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs/interop.md"


class Outcome:
    passed = False


class Report:
    def __init__(self, levels, more):
        """`more` are algorithms of which few rows speak."""
        self._levels = [*levels, *more]
        self._rows = {}  # (partner, engine, direction, subject): {level: Outcome}
        self._skipped, self._broken = [], []

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

    def skip(self, name, why):
        self._skipped.append(name)
        print(f"skipped: {name}: {why}", flush=True)

    def broken(self, name, why):
        self._broken.append(name)
        print(f"FAILED {name}: {why}", flush=True)

    def table(self):
        """The table in Markdown, which is readable on a terminal too."""
        head = ["partner", "its ML-DSA", "direction", "what", *self._levels]
        rows = [head, None, *([*row, *map(self._cell(cells), self._levels)] for row, cells in self._rows.items())]
        widths = [max(len(row[i]) for row in rows if row) for i in range(len(head))]
        rule = "|".join(["", *("-" * (width + 2) for width in widths), ""])
        line = lambda row: "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
        return "\n".join(line(row) if row else rule for row in rows)

    def _cell(self, cells):
        return lambda level: ("ok" if cells[level].passed else "FAILED") if level in cells else "-"

    def write_docs(self):
        DOCS.parent.mkdir(exist_ok=True)
        DOCS.write_text(PAGE.format(table=self.table(), totals=self._totals()))

    def close(self, require_all):
        """Prints the totals; 0 if all is well, 1 if not."""
        print(self._totals())
        return 1 if self._failed() or not self._passed() or (require_all and self._skipped) else 0

    def _totals(self):
        return f"{self._passed()} passed, {self._failed()} failed, {len(self._skipped)} skipped"

    def _passed(self):
        return sum(outcome.passed for cells in self._rows.values() for outcome in cells.values())

    def _failed(self):
        failed = sum(not outcome.passed for cells in self._rows.values() for outcome in cells.values())
        return failed + len(self._broken)


def label(partner):
    return f"{partner.name} {partner.version}"


PAGE = """\
# Interoperability

Sealstone against implementations that others wrote. Made by

    ./dev interop --docs

which fetches each partner from the registry of its language, pinned by the lock files under `interop/`. What each
row asks is said in `interop/README.md`.

{table}

{totals}
"""
