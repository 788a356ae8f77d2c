"""docs/kernel.md, from a run in which all agreed: the page is of Debian's kernel, and its last part of the small one."""

import datetime
import hashlib
import pathlib
import subprocess

import cases
import forge

LEVELS = [forge.CURVE, *cases.LEVELS]
PLACES = {
    "ext4": "ext4, 4K blocks",
    "ext4-1k": "ext4, 1K blocks",
    "ext4-ea": "ext4, ea_inode",
    "xfs": "XFS",
    "btrfs": "btrfs, 16K nodes",
    "btrfs-4k": "btrfs, 4K nodes",
    "f2fs": "f2fs",
    "tmpfs": "tmpfs",
}
HEAD = """\
# A kernel that agrees

What Linux itself says about signatures of ours: it is booted in QEMU, given our certificates and an appraisal policy, and runs
the files that it believes. The command below does it all again and writes this page; it fails, and leaves the page, if one cell is
not as expected.

The kernels of distributions have no ML-DSA (`CONFIG_CRYPTO_MLDSA`), so it is built: `./dev kernel` makes a small kernel from Debian's
source with `kernel/config`, and `./dev kernel --debian` makes the two files of ML-DSA, as they are in that source, into modules for
Debian's own kernel, which is all else. What was run has its command and its table below; a kernel without them has not been run.

"""
BEHIND = """
The program of each case is the same and ends with exit code 0. Each ran before the policy was set; so what is refused under it,
with EACCES at `execve` (126 in a shell), is refused for what stands in `security.ima`. What the kernel says is the cause in its
audit record.
`sealstone key generate` and `sealstone cert new --ima` make keys and certificates, `sealstone sign` the signatures,
`crates/tree` the value of a good record, which `scripts/kernel/forge.py` puts together again from the kernel's headers, compares,
and breaks in the ways of the table. The rows of `tree sign` are what `sealstone tree sign --store xattr` wrote in the guest: it
ends with 3, and writes nothing, where the file system cannot hold the signature. Only the certificate without an identifier is made
without our command, which refuses it.
"""
LAX = """
## What the kernel lets pass

Two of the cells that run may surprise, and are here as the kernel has it:

- a header whose hash number is beyond all that the kernel knows, which our reader refuses. It takes its own hash function then, and
  that one was signed; the number in the header is no part of what is signed. Nothing forged is believed;
- an expired certificate. The kernel reads no date of it: a key is taken back by taking it from the keyring.
"""


SMALL = """
## The small kernel

The same trial of a kernel that has little else: `make allnoconfig` with the lines of `kernel/config`.

"""


def write(path, done, kernel, options):
    page, mark, small = (path.read_text() if path.exists() else "").partition(SMALL)
    if options.debian or not page:
        page = "".join([HEAD, facts(done, kernel, options), BEHIND, table(done), LAX, limits(done), costs(done, options)])
    else:
        mark, small = SMALL, "".join([facts(done, kernel, options), beside(page, done), *smaller(done, options)])
    path.write_text(page + mark + small)


def smaller(done, options):
    """Limits and costs, a level lower."""
    return [part.replace("\n## ", "\n### ") for part in (limits(done), costs(done, options))]


def beside(page, done):
    """What differs from the table of the page, in a column that says what this kernel did."""
    above = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in page.splitlines() if line.startswith("|")]
    ours = cells(done)
    different = [row for row in ours if tuple(row) not in above]
    if not different:
        return f"\nAll {len(ours)} rows of files came out as above, to the cause that the kernel names.\n"
    same = len(ours) - len(different)
    return f"\n{same} rows of files came out as above, to the cause that the kernel names. These are other rows:\n\n" + rows_of(HEADS, different)


def facts(done, kernel, options):
    package, version, suite, sha256 = (kernel / "source").read_text().split()
    qemu = subprocess.run(["qemu-system-x86_64", "--version"], stdout=subprocess.PIPE, text=True).stdout.splitlines()[0]
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, stdout=subprocess.PIPE, text=True).stdout.strip()
    runs = sum(row.got == cases.RUNS for row in done.rows)
    refused = sum(row.got == cases.REFUSED for row in done.rows)
    return rows_of(
        ["", ""],
        [
            ["kernel", f"Linux {done.release}"],
            ["source", f"Debian's {package} {version} ({suite}), sha256 `{sha256}`"],
            ["configuration", configuration(kernel, options)],
            ["machine", f"{qemu}, `-accel tcg -cpu max`"],
            ["date", f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, commit {commit}"],
            ["command", f"`./dev kernel{' --debian' * options.debian}{f' --files {options.files}' * (options.files != 3000)}`"],
            ["came to", f"{len(done.rows)} rows: {runs} files run, {refused} are refused, {len(done.rows) - runs - refused} other answers; all as expected"],
        ],
    )


def configuration(kernel, options):
    image = hashlib.sha256((kernel / "bzImage").read_bytes()).hexdigest()[:12]
    if options.debian:
        modules = ", ".join(f"`{name}`" for name in ("lib/crypto/mldsa.c", "crypto/mldsa.c"))
        return f"Debian's kernel (its image's sha256 begins with `{image}`), {modules} of the source as modules"
    return f"`kernel/config`; with the version, `{kernel.name.removeprefix('kernel-')}` (image `{image}`)"


HEADS = ["case", "level", "file system", "expected", "got", "the kernel says; why"]


def cells(done):
    """One line a case."""
    return [
        [row.name, row.level, PLACES[row.place], row.expected, row.got, "; ".join(filter(None, [row.why, row.note]))]
        for row in done.rows
    ]


def table(done):
    return "\n## Files\n\n" + rows_of(HEADS, cells(done))


def limits(done):
    lines = [[PLACES[row.place], row.expected, row.got, row.why] for row in done.limits]
    return "\n## The largest value that a file system takes\n\nBytes, and what a byte more is told.\n\n" + rows_of(
        ["file system", "expected of security.ima", "got", "user.mldsa"], lines
    )


def costs(done, options):
    def cell(value):
        return "does not fit" if value == "failed ENOSPC" or value == "failed E2BIG" else value if isinstance(value, str) else f"{value:.0f}"

    lines = [[PLACES[place], *(cell(found[level]) for level in LEVELS)] for place, found in done.costs.items()]
    heads = [f"{level if level == forge.CURVE else f'ML-DSA-{level}'} ({cases.VALUES[level]})" for level in LEVELS]
    return (
        f"\n## What a value costs\n\nBytes a file, of {options.files} files of 8 KiB: the file system's used space after a value was set on"
        " each, less that before (statfs, after a sync).\n\n" + rows_of(["file system", *heads], lines)
    )


def rows_of(head, lines):
    every = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in every)
