"""An edge calibrates itself over REST, stops and goes on, and uses what it found with the same models only."""

import re

import pytest

from edge_node.settings import GateSettings
from tests.support.calibrating import THINGS, fill, model
from tests.support.running_edge import running_edge

FEW = {"questions": 16}


async def until_chosen(edge, **body):
    for _ in range(60):
        response = await edge.http.post("/v1/calibration", json={**FEW, **body})
        assert response.status_code == 200, response.text
        if choice := response.json()["choice"]:
            return choice
    raise AssertionError("it never ends")


async def test_an_edge_whose_model_is_sure_of_nothing_answers_its_own_questions_once_it_is_calibrated(tmp_path):
    async with running_edge(tmp_path, generator=model(), max_unknown=1.0) as edge:
        await fill(edge)
        ahead = (await edge.http.get("/v1/calibration", params=FEW)).json()
        assert (ahead["done"], ahead["total"], ahead["thresholds"]) == (0, 16, {})
        shown = await until_chosen(edge, apply=False)
        assert edge.node.status()["calibration"]["thresholds"] == {}
        assert edge.node.answerer.settings.min_sufficiency == GateSettings().min_sufficiency
        asked = len(edge.node.models.generator.prompts)
        choice = await until_chosen(edge)
        assert choice == shown
        assert len(edge.node.models.generator.prompts) == asked + 1  # its fingerprint: no question is asked twice
        assert (choice["own_before"]["escalated"], choice["own_after"]["escalated"]) == (8, 0)
        assert choice["other_after"]["escalated"] == choice["other_after"]["of"]
        assert 0.02 < edge.node.answerer.settings.min_sufficiency < 0.2
        told = edge.node.status()["calibration"]
        assert (told["in_use"], told["generator"], told["own"]) == (True, "scripted", {"escalated": 0, "of": 8})
        assert re.search(r"Calibrated</dt><dd>.*min_sufficiency 0\.\d+", (await edge.http.get("/console/health")).text)


async def test_it_is_used_with_the_same_models_only_until_it_is_reset(tmp_path):
    async with running_edge(tmp_path, generator=model(), max_unknown=1.0) as edge:
        await fill(edge)
        bar = (await until_chosen(edge))["after"]["min_sufficiency"]

    async def bar_with(generator, **settings):
        async with running_edge(tmp_path, generator=generator, max_unknown=1.0, **settings) as edge:
            await edge.node.calibration.look()
            told = edge.node.status()["calibration"]
            return edge.node.answerer.settings.min_sufficiency, told["in_use"], told["why"]

    usual = GateSettings().min_sufficiency
    assert await bar_with(model()) == (bar, True, "")
    assert await bar_with(model(), min_sufficiency=0.6) == (0.6, True, "")  # a person's own setting wins
    assert await bar_with(model(first="Zebra")) == (usual, False, "another model answers as scripted")
    assert await bar_with(model(name="small")) == (usual, False, "it is for the model scripted")
    async with running_edge(tmp_path, generator=model(), max_unknown=1.0) as edge:
        await edge.node.calibration.look()
        assert (await edge.http.delete("/v1/calibration")).status_code == 204
        assert edge.node.answerer.settings.min_sufficiency == usual
        assert (await edge.http.get("/v1/calibration", params=FEW)).json()["done"] == 0


async def test_a_calibration_that_was_stopped_goes_on_where_it_was(tmp_path):
    async with running_edge(tmp_path, generator=model(), max_unknown=1.0) as edge:
        await fill(edge)
        for _ in range(3):
            await edge.http.post("/v1/calibration", json=FEW)
        before = (await edge.http.get("/v1/calibration", params=FEW)).json()["done"]
    async with running_edge(tmp_path, generator=model(), max_unknown=1.0) as edge:
        assert (await edge.http.get("/v1/calibration", params=FEW)).json()["done"] == before > 0
        await until_chosen(edge)
        written = [prompt for prompt in edge.node.models.generator.prompts if prompt.max_tokens == 60]
        assert len(written) == 8 - 3


@pytest.mark.parametrize("text", ["", "Short."])
async def test_a_site_that_holds_too_little_says_so(tmp_path, text):
    async with running_edge(tmp_path, generator=model(), max_unknown=1.0) as edge:
        if text:
            await edge.add("a.md", text)
        for _ in range(20):
            response = await edge.http.post("/v1/calibration", json=FEW)
            if response.status_code != 200:
                break
        assert response.status_code == 400
        assert "fewer than 8 questions" in response.text


async def test_its_rows_hold_no_text_of_a_document(tmp_path):
    async with running_edge(tmp_path, generator=model(), max_unknown=1.0) as edge:
        await fill(edge)
        await until_chosen(edge)
        kept = [row["value"] for row in edge.node.documents.database.rows("SELECT value FROM meta WHERE key LIKE 'calibration%'")]
        assert len(kept) == 2
        assert not any(f"{thing}{part}" in value for value in kept for thing in THINGS for part in ("makers", "hall", "gate"))
