"""The commands that the documents name, against the modules that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"python -m (benchmarks(?:\.\w+)+)")


def startable():
    files = (ROOT / "benchmarks").glob("*/*.py")
    return {".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if '__name__ == "__main__"' in file.read_text()}


def test_each_measurement_that_can_be_started_is_in_the_readme():
    named = set(NAMED.findall((ROOT / "benchmarks" / "README.md").read_text()))
    assert {name for name in startable() if not name.startswith("benchmarks.peers.")} - named == set()


def test_each_command_that_a_document_or_a_docstring_names_is_there():
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.py")]
    found = {name for file in files for name in NAMED.findall(file.read_text())}
    assert len(found) > 40
    assert found - startable() == set()
