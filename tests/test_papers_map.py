"""docs/papers.md and docs/architecture.md point at code that exists."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAPERS = ROOT / "docs" / "papers.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
MOST_STOPS = 20
TARGET = re.compile(r"`([\w/]+\.py):([\w.]+)`")


def rows(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each table row's step (its first cell) and the (file, symbol) pairs it points at; header and rule are left out."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [(row[0], TARGET.findall(row[-1])) for row in cells if row[0] != "step" and set(row[0]) - set("-: ")]


def symbols(source: str) -> set[str]:
    """Functions, classes, methods (``Class.method``) and constants that a module defines."""
    found = set()
    for node in ast.parse(source).body:
        for name in defined(node):
            found.add(name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for child in node.body for name in defined(child)}
    return found


def defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def broken(text: str, root: Path = ROOT) -> list[str]:
    """Rows without a target, targets that do not exist, and steps that are there twice."""
    found = [f"{step}: twice" for step, times in Counter(step for step, _ in rows(text)).items() if times > 1]
    for step, targets in rows(text):
        found += [] if targets else [f"{step}: points at nothing"]
        for file, symbol in targets:
            if not (root / file).is_file():
                found.append(f"{step}: no file {file}")
            elif symbol not in symbols((root / file).read_text(encoding="utf-8")):
                found.append(f"{step}: no {symbol} in {file}")
    return found


def test_every_row_of_the_papers_map_points_at_code_that_exists():
    text = PAPERS.read_text(encoding="utf-8")
    assert rows(text)
    assert broken(text) == []


def test_every_stop_of_a_question_and_of_a_document_exists_and_there_are_few():
    text = ARCHITECTURE.read_text(encoding="utf-8")
    stories = [part for part in text.split("\n## ") if part.startswith(("Where to begin", "A question", "A document", "Terms"))]
    for story in stories:
        table = "\n".join(line for line in story.splitlines() if not line.startswith(("| goal", "| stop", "| term")))
        assert broken(table) == []
    _, question, document, _ = [story.count("\n| ") - 2 for story in stories]
    assert 1 < question <= MOST_STOPS
    assert 1 < document <= MOST_STOPS


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("| ① x | d | `a.py:f` |", []),
        ("| ① x | d | `a.py:C.m`, `a.py:LIMIT` |", []),
        ("| ① x | d | `a.py:g` |", ["① x: no g in a.py"]),
        ("| ① x | d | `b.py:f` |", ["① x: no file b.py"]),
        ("| ① x | d | later |", ["① x: points at nothing"]),
        ("| ① x | d | `a.py:f` |\n| ① x | d | `a.py:C` |", ["① x: twice"]),
    ],
)
def test_a_broken_row_is_found(tmp_path, lines, fault):
    (tmp_path / "a.py").write_text("LIMIT = 1\ndef f(): ...\nclass C:\n    def m(self): ...\n")
    assert broken(f"| step | what | code |\n| --- | --- | --- |\n{lines}\n", tmp_path) == fault
