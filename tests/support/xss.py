"""Two hundred texts that would run in a page which does not escape them: the list of ``tests/security/xss.txt`` in five places each."""

from pathlib import Path

FILE = Path(__file__).parent.parent / "security" / "xss.txt"
PLACES = ("{}", '"> {}', "'> {}", "</textarea></script></title> {}", "--> ]]> {}")  # text, attributes of both quotes, raw text, comments


def payloads():
    """All of them, each once."""
    bare = FILE.read_text(encoding="utf-8").splitlines()
    return [place.format(text) for text in bare for place in PLACES]
