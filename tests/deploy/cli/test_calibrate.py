"""``dgrag calibrate`` against a real edge of this process with a scripted model."""

import asyncio
import json

import pytest

from deploy.cli.main import run
from tests.support.calibrating import fill, model
from tests.support.live_edge import live_edge


@pytest.fixture
def called(capsys, monkeypatch):
    """Run ``dgrag calibrate`` for the edge at a URL; gives exit code, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "120")

    async def called(url, *arguments):
        with pytest.raises(SystemExit) as caught:
            await asyncio.to_thread(run, ["calibrate", "--edge", url, "--questions", "16", *arguments])
        told = capsys.readouterr()
        return caught.value.code or 0, told.out, told.err

    return called


async def test_what_would_be_set_is_shown_first_then_set_then_taken_back(called, tmp_path):
    async with live_edge(tmp_path / "state", generator=model(), max_unknown=1.0) as (edge, url):
        await fill(edge)
        code, said, told = await called(url, "--dry-run")
        assert code == 0
        assert "16 questions, about 4 minutes; Ctrl-C stops, and the same command goes on" in told
        assert "would be set" in said
        assert "100% of 8" in said
        assert edge.node.status()["calibration"]["thresholds"] == {}
        code, said, _ = await called(url, "--json")
        assert json.loads(said)["choice"]["after"] == edge.node.status()["calibration"]["thresholds"]
        code, _, told = await called(url, "--reset")
        assert (code, edge.node.status()["calibration"]["thresholds"]) == (0, {})
        assert "the thresholds of the settings are in force again" in told
        code, _, told = await called(url, "--reset", "--dry-run")
        assert (code, "choose one of them" in told) == (1, True)
