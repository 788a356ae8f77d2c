"""Puts the modules that the guest needs into a folder, numbered in the order in which they are loaded.

    python3 modules.py FOLDER... OUT

Each says for itself what it depends on (`depends=` of its section .modinfo)."""

import lzma
import pathlib
import re
import sys

WANTED = ["virtio_blk", "ext4", "xfs", "btrfs", "f2fs", "mldsa"]


def main():
    *folders, out = map(pathlib.Path, sys.argv[1:])
    found = {}
    for folder in folders:
        for file in [*folder.rglob("*.ko"), *folder.rglob("*.ko.xz")]:
            found[file.name.split(".")[0].replace("-", "_")] = file
    ordered = {}
    for name in WANTED:
        add(name, found, ordered)
    for number, (name, content) in enumerate(ordered.items()):
        (out / f"{number:02}-{name}.ko").write_bytes(content)


def add(name, found, ordered):
    if name in ordered:
        return
    if name not in found:
        sys.exit(f"error: there is no module {name}")
    content = found[name].read_bytes()
    if found[name].suffix == ".xz":
        content = lzma.decompress(content)
    depends = re.search(rb"\0depends=([^\0]*)\0", content)[1].decode()
    for other in filter(None, depends.replace("-", "_").split(",")):
        add(other, found, ordered)
    ordered[name] = content


if __name__ == "__main__":
    main()
