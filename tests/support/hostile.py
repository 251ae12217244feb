"""The hostile list of ``tests/security/hostile.txt``, where its texts go, and what is wrong with an answer to them."""

import json
import re
from pathlib import Path

FILE = Path(__file__).parent.parent / "security" / "hostile.txt"
LEAKS = re.compile(rb"Traceback|File \"|sqlite3\.|site-packages|Error\(")


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


def fault(got):
    """What is wrong with how a service took it; empty when it is as promised."""
    told = got.body[:200]
    if got.status >= 500:
        return f"{got.status} {told!r}"
    if LEAKS.search(got.body):
        return f"shows its inside: {told!r}"
    if got.status >= 400 and (len(got.body) > 4_000 or "json" not in got.headers.get("content-type", "")):
        return f"an error that is none: {got.status} {told!r}"
    return ""


def places(value):
    """Where values stand in a body: the paths to all of its leaves and lists."""
    if isinstance(value, dict):
        return [(key, *rest) for key, inner in value.items() for rest in [(), *places(inner)]]
    if isinstance(value, list) and value:
        return [(0, *rest) for rest in [(), *places(value[0])]]
    return []


def with_text(body, place, text):
    """The body's JSON with a raw text at one place: the list holds what ``json.dumps`` would not write."""
    copy = json.loads(json.dumps(body))
    inner = copy
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = "@@here@@"
    return json.dumps(copy).replace('"@@here@@"', text).encode("utf-8", "surrogatepass")
