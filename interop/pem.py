"""One block of RFC 7468."""

import base64
import textwrap


def from_pem(text):
    inside = text.split("-----")[2]
    return base64.b64decode("".join(inside.split()))


def label_of(text):
    return text.split("-----")[1].removeprefix("BEGIN ")


def to_pem(label, der):
    lines = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"
