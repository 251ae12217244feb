"""``dgrag eval`` against a real edge of this process with a scripted model."""

import asyncio
import json

import httpx2
import pytest

from deploy.cli.main import run
from tests.support.live_edge import live_edge, made_key
from tests.support.running_edge import scripted

REPORT = "Juniper Ward reported the failure of four infusion pumps."
SAID = "Juniper Ward reported the failure of four infusion pumps [1]."
FILE = "question,answer,site\nWhich ward reported the failure?,Juniper Ward did.,ward\nHow many pumps failed?,four infusion pumps,\n"


@pytest.fixture
def evaluated(capsys, tmp_path, monkeypatch):
    """Run ``dgrag eval`` on a file with this text, beside the edge; gives exit code, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "120")

    async def evaluated(url, text, *arguments, before=()):
        file = tmp_path / "questions.csv"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SystemExit) as caught:
            await asyncio.to_thread(run, [*before, "eval", str(file), "--edge", url, *map(str, arguments)])
        told = capsys.readouterr()
        return caught.value.code or 0, told.out, told.err

    return evaluated


async def test_planted_wrong_answers_move_the_score_and_end_the_command_with_1(evaluated, tmp_path):
    async with live_edge(tmp_path / "state", generator=scripted(SAID)) as (edge, url):
        await edge.add("report.md", REPORT)
        right = await evaluated(url, FILE, "--fail-under", 1, "--json")
        wrong = await evaluated(url, FILE.replace("Juniper", "Rowan"), "--fail-under", 0.8, "--json")
        both = await evaluated(url, FILE.replace("Juniper", "Rowan").replace("four", "nine"), "--fail-under", 0.4, "--json")
    shares = [json.loads(told[1])["total"]["correct"]["mean"] for told in (right, wrong, both)]
    assert shares == [1.0, 0.5, 0.0]
    assert [told[0] for told in (right, wrong, both)] == [0, 1, 1]
    assert wrong[2].splitlines()[-1] == "dgrag: 1 of 2 questions correct, which is below --fail-under 0.8"
    body = json.loads(right[1])
    assert body["asked"] == {"edge": "ward", "mode": "auto", "samples": "as set", "memory": True}
    assert {site: found["questions"] for site, found in body["sites"].items()} == {"ward": 1, "no site named": 1}
    assert body["total"]["supported"]["mean"] == 1.0
    assert body["questions"][0]["hit"] is True


async def test_a_share_that_is_just_reached_is_not_below(evaluated, tmp_path):
    rows = (f"Which ward reported failure {n}?,{'Juniper' if n < 7 else 'Rowan'} Ward" for n in range(25))
    async with live_edge(tmp_path / "state", generator=scripted(SAID)) as (edge, url):
        await edge.add("report.md", REPORT)
        code, said, _ = await evaluated(url, "\n".join(["question,answer", *rows]), "--fail-under", 0.28, "--json")
    assert (json.loads(said)["total"]["correct"]["mean"], code) == (0.28, 0)
    assert 0.28 * 25 > 7, "a product would be"


async def test_a_folder_is_gone_on_with_and_asks_nothing_again_whatever_answers_are_expected(evaluated, tmp_path):
    model, out = scripted(SAID), tmp_path / "out"
    async with live_edge(tmp_path / "state", generator=model) as (edge, url):
        await edge.add("report.md", REPORT)
        await evaluated(url, FILE, "--out", out, "--limit", 1)
        asked = len(model.prompts)
        with (out / "results.jsonl").open("ab") as results:
            results.write(b'{"asked": {"edge"')  # a kill tears a line
        code, said, _ = await evaluated(url, FILE, "--out", out, "--samples", 2)
        assert (code, said) == (1, ""), "answers that were asked otherwise are not mixed"
        assert len(model.prompts) == asked
        await evaluated(url, FILE, "--out", out)
        assert len(model.prompts) > asked
        asked = len(model.prompts)
        assert len((out / "results.jsonl").read_bytes().splitlines()) == 2
        code, said, told = await evaluated(url, FILE.replace("Juniper", "Rowan"), "--out", out)
        assert len(model.prompts) == asked
    assert "50 %" in said
    assert told.splitlines() == [f"each answer with its verdicts: {out / 'report.html'}"]
    assert json.loads((out / "summary.json").read_bytes())["total"]["correct"]["mean"] == 0.5
    assert "Rowan Ward did" in (out / "report.html").read_text(encoding="utf-8")


async def test_another_run_says_what_got_better_and_what_worse(evaluated, tmp_path):
    async with live_edge(tmp_path / "state", generator=scripted(SAID)) as (edge, url):
        await evaluated(url, FILE, "--out", tmp_path / "empty", "--parallel", 2)
        await edge.add("report.md", REPORT)
        _, said, _ = await evaluated(url, FILE, "--out", tmp_path / "filled", "--against", tmp_path / "empty")
        code, _, told = await evaluated(url, FILE, "--against", tmp_path)
    assert "of 2 questions of the other run 2 better, 0 worse" in said
    assert (code, told.startswith(f"dgrag: {tmp_path / 'results.jsonl'} is not there")) == (1, True)


async def test_each_question_is_asked_with_the_key_in_whatever_thread_and_one_that_opens_nothing_ends_it(evaluated, tmp_path):
    key = made_key(tmp_path / "state", "read")
    async with live_edge(tmp_path / "state", generator=scripted(SAID)) as (_, url):
        code, said, _ = await evaluated(url, FILE, "--parallel", 4, "--json", before=["--key", key])
        assert (code, json.loads(said)["total"]["failed"]) == (0, 0)
        code, _, told = await evaluated(url, FILE, before=["--key", f"{key}x"])
    assert code == 1
    assert told.startswith("dgrag: ")
    assert len(told.splitlines()) == 1


async def test_a_question_that_the_edge_refuses_is_told_and_asked_again(evaluated, tmp_path, monkeypatch):
    post, out = httpx2.Client.post, tmp_path / "out"

    def busy(self, url, *, json, **options):
        if "How many" in json["question"]:
            return httpx2.Response(503, json={"detail": "the edge is busy"}, request=httpx2.Request("POST", url))
        return post(self, url, json=json, **options)

    model = scripted(SAID)
    async with live_edge(tmp_path / "state", generator=model) as (edge, url):
        await edge.add("report.md", REPORT)
        with monkeypatch.context() as patched:
            patched.setattr(httpx2.Client, "post", busy)
            code, _, told = await evaluated(url, FILE, "--out", out)
        assert (code, "line 3 failed: the edge is busy" in told) == (0, True)
        assert "busy" in (out / "report.html").read_text(encoding="utf-8")
        asked = len(model.prompts)
        code, _, told = await evaluated(url, FILE, "--out", out, "--fail-under", 1)
    assert (code, len(model.prompts) > asked, "failed" in told) == (0, True, False)


async def test_a_bad_file_is_told_before_anything_is_asked(evaluated):
    code, said, told = await evaluated("http://127.0.0.1:9", "question,answer\nWho?\n")
    assert (code, said) == (1, "")
    assert told.startswith("dgrag: questions.csv, line 2, has no answer (")
