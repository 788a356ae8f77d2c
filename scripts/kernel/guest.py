"""The machine in QEMU: its disks, its initial file system, and what it printed, taken for nothing less than a whole run."""

import pathlib
import queue
import re
import subprocess
import threading
import time

# A disk's options of mkfs and mount. mkfs.ext4 would take 1K blocks below 512 MiB.
DISKS = {
    "ext4": ("ext4", ["mkfs.ext4", "-q", "-b", "4096", "-I", "256", "-O", "verity"], "-"),
    "ext4-ea": ("ext4", ["mkfs.ext4", "-q", "-b", "4096", "-I", "256", "-O", "ea_inode"], "-"),
    "ext4-1k": ("ext4", ["mkfs.ext4", "-q", "-b", "1024", "-I", "256"], "-"),
    "xfs": ("xfs", ["mkfs.xfs", "-q"], "-"),
    "btrfs": ("btrfs", ["mkfs.btrfs", "-q", "-m", "dup"], "-"),
    "btrfs-4k": ("btrfs", ["mkfs.btrfs", "-q", "-m", "dup", "-n", "4096"], "-"),
    "f2fs": ("f2fs", ["mkfs.f2fs", "-q"], "-"),
}
SIZE = 1 << 30  # bytes of a disk, of which its image holds what was written


class Failed(Exception):
    """The guest did not do what it was given."""


def make_disks(folder):
    """Images of every file system, and the options of QEMU that attach them. The guest finds the first as /dev/vda."""
    options = []
    for name, (_, command, _) in DISKS.items():
        image = folder / f"{name}.img"
        with open(image, "wb") as file:
            file.truncate(SIZE)
        subprocess.run([*command, str(image)], check=True, stdout=subprocess.DEVNULL, env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"})
        options += ["-drive", f"file={image},if=virtio,format=raw,cache=unsafe"]
    return options


def mounts():
    """The guest's lines that mount the disks, and a tmpfs."""
    for letter, (name, (type_, _, options)) in zip("abcdefghijk", DISKS.items()):
        yield f"mount {name} /dev/vd{letter} {type_} {options}"
    yield "mount tmpfs tmpfs tmpfs -"


def archive(entries):
    """A cpio archive of the form `newc` (Documentation/driver-api/early-userspace/buffer-format.rst), of {path: (mode, bytes)}.
    With the console's node, which only root could make in a folder."""
    folders = {str(parent) for path in entries for parent in pathlib.PurePath(path).parents if str(parent) != "."}
    every = [(path, 0o040755, b"", 0, 0) for path in sorted({*folders, "dev"})]
    every.append(("dev/console", 0o020600, b"", 5, 1))
    every += [(path, 0o100000 | mode, content, 0, 0) for path, (mode, content) in entries.items()]
    every.append(("TRAILER!!!", 0, b"", 0, 0))
    out = bytearray()
    for inode, (path, mode, content, major, minor) in enumerate(every, 1):
        name = path.encode() + b"\0"
        fields = [inode, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(name), 0]
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def boot(kernel, initial, disks, job, seconds, log):
    """Runs the guest and gives its kernel's release and the answers to the lines of `job`, in their order."""
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "2048", "-nodefaults", "-nographic", "-no-reboot"]
    command += ["-serial", "stdio", "-kernel", str(kernel), "-initrd", str(initial), *disks]
    command += ["-append", "console=ttyS0 quiet loglevel=1 panic=-1 audit=1 ima_appraise=enforce rdinit=/init"]
    began = time.monotonic()
    guest = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = queue.Queue()

    def read():
        for line in guest.stdout:
            lines.put(line.decode(errors="replace").rstrip())
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    heard = []
    try:
        while True:
            try:
                line = lines.get(timeout=max(0.1, began + seconds - time.monotonic()))
            except queue.Empty:
                raise Failed(f"the guest had not ended after {seconds} s") from None
            if line is None:
                break
            heard.append(line)
            log.write(line + "\n")
    except Failed as why:
        raise Failed(f"{why}\n{ending(heard)}") from None
    finally:
        guest.kill()
        guest.wait()
    return understand(heard, len(job))


def ending(heard):
    return "\n".join(["the last that it printed:", *(f"  {line}" for line in heard[-20:])])


def understand(heard, count):
    """The answers, if all are there, once and in order. Whatever else stands on the console is the kernel's or a program's."""
    panic = [line for line in heard if "Kernel panic" in line or "BUG:" in line or "Oops" in line]
    if panic:
        raise Failed(f"the kernel failed: {panic[0]}\n{ending(heard)}")
    said = [match for match in (re.match(r"@ (start|end|\d+) ?(.*)$", line) for line in heard) if match]
    order = [match[1] for match in said]
    if order != ["start", *(str(number) for number in range(1, count + 1)), "end"] or said[-1][2] != str(count):
        raise Failed(f"{len(order)} answers to {count} lines, and the guest has to begin and to end\n{ending(heard)}")
    return said[0][2], [match[2] for match in said[1:-1]]
