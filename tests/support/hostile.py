"""The hostile list of ``tests/security/hostile.txt``."""

import re
from pathlib import Path

FILE = Path(__file__).parent.parent / "security" / "hostile.txt"


def hostile(section):
    """The texts of one section, with their repetitions written out; ``\\u`` stays, for JSON to read."""
    text = FILE.read_text(encoding="utf-8").split(f"\n== {section}\n")[1].split("\n\n== ")[0]
    return [_repeated(line) for line in text.removesuffix("\n").split("\n")]


def hostile_headers():
    """(name, value) pairs; here ``\\u00ff`` is the byte itself."""
    lines = (re.sub(r"\\u00([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), line) for line in hostile("headers"))
    return [tuple(line.split(": ", 1)) if ": " in line else (line.rstrip(":"), "") for line in lines]


def _repeated(line):
    return re.sub(r"«(?:(.+?)\*(\d+))?»", lambda match: (match[1] or "") * int(match[2] or 0), line)
