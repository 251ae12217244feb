"""docs/security.md names tests: each one exists, and each goal has its row."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
GOALS = (
    [f"S{n}" for n in range(1, 17)]
    + [f"A{n}" for n in (*range(1, 8), *range(9, 12))]
    + ["P1", "P2", "P3", "P4", "P5", "R4", "R6", "R7", "R13", "R14"]
)


def missing(text):
    """What a text names below ``tests`` or ``benchmarks`` and is not there."""
    files = [name for name in re.findall(r"`(tests/[\w/]+\.py)`", text) if not (ROOT / name).exists()]
    named = re.findall(r"`python -m (benchmarks(?:\.\w+)+)", text)
    modules = [name for name in named if not (ROOT / f"{name.replace('.', '/')}.py").exists()]
    return files + modules


def test_every_test_and_benchmark_that_the_table_names_is_there():
    assert missing(TEXT) == []


def test_a_name_that_is_not_there_is_found():
    assert missing("`tests/security/test_nothing.py` and `python -m benchmarks.nothing DATA`") == [
        "tests/security/test_nothing.py",
        "benchmarks.nothing",
    ]


def test_every_goal_has_its_row():
    rows = re.findall(r"^\| ([ASPR]\d+) \|", TEXT, re.MULTILINE)
    assert [goal for goal in GOALS if goal not in rows] == []
