"""The three scenarios on real services over real links: minutes, and root."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.lab.namespaces import left, unable
from deploy.lab.topology import prefix_of

LOSSY = "rate=50mbit delay=15ms loss=1% congestion=reno"
why = unable()
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(why), reason=why or "-")]


SCENARIOS = Path(__file__).parents[3] / "deploy" / "scenarios"


@pytest.mark.parametrize(
    ("name", "words", "waited_ms"),  # at least by one hop
    [
        ("cut-mid-query", (), 150),  # the request that the cut swallowed: TCP sends it again after 0.2 s, and over the link it takes 15 ms
        ("cut-mid-sync", (), 0),
        ("transfers", (), 0),
        ("transfers", ("--link", LOSSY), 0),
    ],
    ids=["cut-mid-query", "cut-mid-sync", "transfers", "transfers-lossy"],
)
def test_a_scenario_goes_as_its_file_expects_and_leaves_no_namespace(name, words, waited_ms, tmp_path):
    command = ("scenario", str(SCENARIOS / f"{name}.toml"), "--json", "--state", str(tmp_path), *words)
    done = subprocess.run([sys.executable, "-P", "-m", "deploy.cli.main", *command], capture_output=True, text=True)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert (told["faults"], done.returncode) == ([], 0)
    assert {row["transfer"] for row in told["transfers"]} == {"query send", "request send", "knowledge send", "passages back"}
    assert max(row["ms"] for row in told["hops"] if row["transfer"] == "request send") >= waited_ms
    assert told["documents"]["lost"] == []
    assert left(prefix_of(str(tmp_path))) == []
