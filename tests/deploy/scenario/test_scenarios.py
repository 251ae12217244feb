"""The three scenarios on real services over real links: minutes, and root."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.net.addresses import prefix_of
from deploy.net.namespaces import left, unable

SCENARIOS = Path(__file__).parents[3] / "deploy" / "scenarios"
why = unable()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why), reason=why or "-")]


@pytest.mark.parametrize("name", ["cut-mid-query", "cut-mid-sync", "transfers"])
def test_a_scenario_goes_as_its_file_expects_and_leaves_no_namespace(name, tmp_path):
    words = ("scenario", str(SCENARIOS / f"{name}.toml"), "--json", "--state", str(tmp_path))
    done = subprocess.run([sys.executable, "-P", "-m", "deploy.cli.main", *words], capture_output=True, text=True)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert (told["faults"], done.returncode) == ([], 0)
    assert {row["transfer"] for row in told["transfers"]} == {"query send", "request send", "knowledge send", "answer send"}
    assert told["documents"]["lost"] == []
    assert left(prefix_of(str(tmp_path))) == []
