"""The hostile texts of ``tests/security/injections.txt``."""

import re
from pathlib import Path

FILE = Path(__file__).parent.parent / "security" / "injections.txt"


def injections():
    """Every text, with its escapes resolved; a line that begins with ``# `` is a heading."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [_resolved(line) for line in lines if line and not line.startswith("# ")]


def _resolved(line):
    text = re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), line).replace("\\n", "\n").replace("\\r", "\r")
    return text.encode("utf-16", "surrogatepass").decode("utf-16")
