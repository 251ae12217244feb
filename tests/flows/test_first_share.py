"""What a new site shares: `summary` lets no passage leave, a question that fails by it says so, and `full` lets them go."""

import html
import re

import pytest

from edge_node.egress.policy_file import NAME
from tests.support.federation import PLANT, REFUSAL, WARD, federation
from tests.support.live_edge import left
from tests.support.waiting import until

QUESTION = "Which lot of the battery pack caused the failure of infusion pumps?"
COMMAND = "`dgrag policy share full --edge plant` changes it"
SITES = {"ward": (WARD, REFUSAL), "plant": (PLANT, REFUSAL)}
ANSWER = "Lot L-7713 of the battery pack caused the failure [1]."
TOKEN = re.compile(r'data-token="([^"]+)"')


async def asked(edge, **fields):
    return await edge.ask(QUESTION, mode="cloud", allow_escalation="yes", **fields)


async def test_without_a_word_about_it_a_new_site_shares_summaries_and_its_questions_wait_for_a_yes(tmp_path, monkeypatch):
    monkeypatch.delenv("DGRAG_EDGE_SHARE")
    async with federation(tmp_path, cloud_answer=ANSWER, edge_answers=SITES) as (edges, _, cloud):
        assert all(row.summaries for row in cloud.edges())
        waits = await edges["ward"].ask(QUESTION)
        assert (waits["would_ask"], waits["edges"]) == (QUESTION, [])
        assert "question" not in left(edges["ward"])
        answer = await asked(edges["ward"])
        assert not answer["answered"]
        both = "no passages, only summaries, are shared by plant, ward: there, `dgrag policy share full --edge NAME` changes it"
        assert answer["reason"].endswith(both)
        assert {"evidence"}.isdisjoint(left(edges["ward"]) | left(edges["plant"]))


async def test_where_all_is_shared_the_same_question_is_answered_and_passages_of_both_sites_are_in_the_ledgers(tmp_path):
    async with federation(tmp_path, cloud_answer=ANSWER, edge_answers=SITES, share="full") as (edges, _, _):
        answer = await asked(edges["ward"])
        assert (answer["answered"], "summaries only" in answer["reason"]) == (True, False)
        assert all("evidence" in left(edge) for edge in edges.values())
        assert answer["own_passages"] > 0


async def test_the_command_that_the_answer_names_lets_the_passages_be_read(tmp_path):
    from typer.testing import CliRunner

    from deploy.cli.policy import app

    async with federation(tmp_path, cloud_answer=ANSWER, edge_answers=SITES, share="summary") as (edges, _, _):
        assert COMMAND.replace("plant", "NAME") in (await asked(edges["ward"]))["reason"]
        done = CliRunner().invoke(app, ["share", "full", "--state", str(tmp_path / "plant")])
        assert (done.exit_code, done.exception) == (0, None)
        await until(lambda: edges["plant"].node.sharing.is_told() and edges["plant"].node.link.in_sync)
        answer = await asked(edges["ward"])
        assert answer["answered"], answer["reason"]


async def test_a_site_that_shares_some_documents_as_summaries_says_so_only_where_it_sends_nothing(tmp_path):
    async with federation(tmp_path, cloud_answer=ANSWER, edge_answers=SITES, share="full") as (edges, _, _):
        (tmp_path / "plant" / NAME).write_text('version = 1\nunlabelled = "summary"\nlabels = {open = "full"}\n')
        await edges["plant"].add("figs.md", "Ripe figs fall early.", labels=["open"])
        answer = await asked(edges["ward"])
        (plant,) = (report for report in answer["edges"] if report["edge"] == "plant")
        if plant["evidence"]:
            pytest.fail("this passage is near enough to the question: the test needs another text")
        assert plant["status"] == "answered"
        assert f"no passages, only summaries, are shared by plant (of some documents): there, {COMMAND}" in answer["reason"]
        served = await edges["ward"].ask("Do ripe figs fall early?", mode="cloud")
        assert "as summaries only" not in served["reason"]


@pytest.mark.parametrize("text", ['unlabelled = "never"', 'unlabelled = "full"\nexceptions = [{edges = ["ward"], share = "never"}]'])
async def test_a_site_that_forbids_more_than_passages_does_not_name_a_command_that_would_not_help(tmp_path, text):
    async with federation(tmp_path, cloud_answer=ANSWER, edge_answers=SITES, share="full") as (edges, _, _):
        (tmp_path / "plant" / NAME).write_text(f"version = 1\n{text}\n")
        assert "dgrag policy share" not in (await asked(edges["ward"]))["reason"]


async def test_who_asks_reads_that_passages_go_along_before_they_do_for_the_first_time(tmp_path):
    async with federation(tmp_path, cloud_answer=ANSWER, edge_answers=SITES, share="full") as (edges, _, _):
        ward = edges["ward"]
        page = (await ward.http.get("/")).text
        assert "This site shares <strong>full</strong>" in page
        headers = {"X-CSRF-Token": TOKEN.search(page)[1], "HX-Request": "true"}

        async def ask(**fields):
            reply = await ward.http.post("/console/ask", data={"question": QUESTION, **fields}, headers=headers)
            return html.unescape(reply.text)

        for chosen in ("", "yes"):
            assert "Passages of this site that may answer it go to the cloud with it" in await ask(escalation=chosen)
        assert {"question", "evidence"}.isdisjoint(left(ward))
        assert "of this site went with the question" in await ask(escalation="yes", informed="yes")
        assert {"question", "evidence"} <= left(ward)
        assert "go to the cloud with it" not in await ask()  # once in a browser's session …
        policy = tmp_path / "ward" / NAME
        policy.write_text(policy.read_text().replace("snippet_chars = 2000", "snippet_chars = 1000"))
        assert "go to the cloud with it" in await ask()  # … and under one policy


async def test_where_no_passage_may_go_no_notice_stands_before_a_question(tmp_path):
    async with federation(tmp_path, cloud_answer=ANSWER, edge_answers=SITES, share="summary") as (edges, _, _):
        ward = edges["ward"]
        page = (await ward.http.get("/")).text
        headers = {"X-CSRF-Token": TOKEN.search(page)[1], "HX-Request": "true"}
        reply = await ward.http.post("/console/ask", data={"question": QUESTION}, headers=headers)
        assert "would leave the site" in reply.text
        assert "go to the cloud with it" not in reply.text
