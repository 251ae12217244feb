"""Chunks read for claims while all is quiet, and what reports tell of these."""

import logging

import pytest

from edge_node.communities.claim_reader import ClaimStore
from edge_node.communities.selection import ReportQuery
from shared.errors import ModelReplyError, ModelUnavailable
from tests.support.settling import Bench

ON = {"claims": "model", "subgraph_entities": 4, "community_entities": 2, "report_findings": 10, "report_tokens": 2000}
TEXTS = {
    "ward.md": "Ward reportedly lost every Pump in a flood of 1903.",
    "gate.md": "Gate was reportedly sold to the River board, Wall and Lock with it, as people say.",
}


def claiming(prompt):
    """One claim, on the first entity: what the passage says, less its last word."""
    lines = prompt.messages[-1].content.splitlines()
    names, passage = lines[0].partition(": ")[2].split("; "), lines[3]
    return f"{names[0]} | NONE | loss | SUSPECTED | NONE | NONE | {passage.rpartition(' ')[0]}."


def is_for_claims(prompt):
    return "claims that it makes" in prompt.messages[0].content


async def filled(bench):
    await bench.add("ward.md", ("Ward", "Pump"), related=[("Ward", "Pump")], text=TEXTS["ward.md"])
    await bench.add("gate.md", ("Gate", "River", "Wall", "Lock"), related=[("Gate", "River")], text=TEXTS["gate.md"])
    await bench.settle()


async def read_through(bench):
    while bench.strategy.stale:
        before = bench.strategy.stale
        await bench.refine()
        assert bench.strategy.stale < before


def stored(bench):
    return ClaimStore(bench.database).all()


async def findings(bench, *withheld):
    """Those of all reports, at all levels, by what they say."""
    vector = (await bench.tools.embedder.embed(["What is lost?"]))[0]
    hidden = frozenset(bench.ids[name] for name in withheld)
    chosen = [await bench.strategy.reports.choose(ReportQuery(vector, level, 0, 0.0, hidden)) for level in range(4)]
    return {finding.text: finding for one in chosen for report in one.reports for finding in report.findings}


async def told(bench, *withheld):
    return "\n".join(await findings(bench, *withheld))


WARD, GATE = (
    "Ward reportedly lost every Pump in a flood of (suspected).",
    "Gate was reportedly sold to the River board, Wall and Lock with it, as people (suspected).",
)


async def test_each_chunk_is_read_once_the_one_that_tells_of_most_first_and_reports_tell_of_its_claims(tmp_path):
    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = claiming
        await filled(bench)
        assert (bench.strategy.stale, bench.model.prompts) == (2, [])
        assert "suspected" not in await told(bench)
        await read_through(bench)
        assert ["Gate" in prompt.messages[-1].content for prompt in bench.model.prompts] == [True, False]
        assert {claim.subject for claim in stored(bench)} == {"ward", "gate"}
        said = await told(bench)
        assert WARD in said
        assert GATE in said
        await bench.refine()
        assert len(bench.model.prompts) == 2


async def test_nobody_is_asked_unless_claims_are_on_and_what_was_read_before_goes(tmp_path):
    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = claiming
        await filled(bench)
        await read_through(bench)
    async with Bench.opened(tmp_path, **(ON | {"claims": "off"})) as bench:
        await bench.refine()
        assert (bench.strategy.stale, bench.model.prompts, stored(bench)) == (0, [], ())
        assert "suspected" not in await told(bench)


async def test_after_a_restart_claims_are_told_and_nothing_is_read_again(tmp_path):
    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = claiming
        await filled(bench)
        await read_through(bench)
        before = await told(bench)
    async with Bench.opened(tmp_path, **ON) as bench:
        await read_through(bench)
        assert bench.model.prompts == []
        assert await told(bench) == before


async def test_a_removed_document_takes_its_claims_at_once_and_leaves_no_word_of_them(tmp_path):
    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = claiming
        await filled(bench)
        await read_through(bench)
        await bench.remove("ward.md")
        assert WARD not in await told(bench)
        assert "flood" not in bench.everything_stored()
        await bench.settle()
        said = await told(bench)
        assert WARD not in said
        assert GATE in said


async def test_from_whom_a_document_is_withheld_its_claims_are_too(tmp_path):
    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = claiming
        await filled(bench)
        await bench.add(
            "both.md",
            ("Ward", "Gate"),
            related=[("Ward", "Gate")],
            text="Ward was reportedly closed by frightened officials, and Gate with it, in the spring.",
        )
        await bench.settle()
        assert "suspected" not in await told(bench, "both.md")  # asked before anything is read
        await read_through(bench)
        closed = "Ward was reportedly closed by frightened officials, and Gate with it, in the (suspected)."
        assert closed in await told(bench)
        said = await told(bench, "both.md")
        assert closed not in said
        assert WARD in said


async def test_to_a_guest_a_claim_does_not_say_that_two_names_are_one_where_only_a_withheld_document_does(tmp_path):
    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = lambda prompt: claiming(prompt) if "court" in prompt.messages[-1].content else "NONE"
        long, short = "Northern Pump Works", "NPW"
        await bench.add("both.md", (short, long), text="NPW and Northern Pump Works reportedly lost another case at court in autumn.")
        await bench.add("one.md", (long,), text="Northern Pump Works reportedly lost another ward and three gates in 1903.")
        await bench.add("says.md", (long, short), definitions=[(long, short)], text="They are both by name.")
        await bench.settle()
        await read_through(bench)
        assert [*bench.graph_now().entities] == [long.lower()]
        claim = "NPW and Northern Pump Works reportedly lost another case at court in (suspected)."
        assert (await findings(bench))[claim].elements == (long.lower(),)
        assert (await findings(bench, "says.md"))[claim].elements == (short.lower(),)


@pytest.mark.parametrize("useless", ["", "I cannot help with that.", "Ward | NONE | x | TRUE | NONE | NONE | Nobody ever asked for slate."])
async def test_a_reply_of_no_use_counts_as_read(tmp_path, useless):
    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = lambda prompt: useless
        await filled(bench)
        await read_through(bench)
        assert (stored(bench), len(bench.model.prompts)) == ((), 2)
        assert len(ClaimStore(bench.database).readings()) == 2


async def test_a_refused_request_counts_as_read_and_a_model_that_is_away_does_not(tmp_path):
    async with Bench.opened(tmp_path, **ON) as bench:

        def reply(prompt):
            raise ModelReplyError("too long") if len(bench.model.prompts) == 1 else ModelUnavailable("away")

        bench.reply = reply
        await filled(bench)
        with pytest.raises(ModelUnavailable):
            await bench.refine()
        assert (len(ClaimStore(bench.database).readings()), bench.strategy.stale) == (1, 1)
        bench.reply = claiming
        await read_through(bench)
        assert [claim.subject for claim in stored(bench)] == ["ward"]


async def test_a_chunk_that_vanished_before_its_turn_is_not_asked_about_and_waits_no_more(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = claiming
        await filled(bench)
        chunks = bench.tools.documents.chunks
        monkeypatch.setattr(bench.tools.documents, "chunks", lambda ids: dict(list(chunks(ids).items())[1:]))
        await read_through(bench)
        assert (len(bench.model.prompts), bench.strategy.stale) == (1, 0)


async def test_a_refused_request_is_told_once(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "dgrag.edge.claims")

    def refused(prompt):
        raise ModelReplyError("too long")

    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = refused
        await filled(bench)
        await read_through(bench)
    said = [record.getMessage() for record in caplog.records if record.name == "dgrag.edge.claims"]
    assert said == [f"the model did not read the claims of a chunk: {ModelReplyError.code}"] * 2


async def test_what_was_read_before_the_model_went_away_is_told(tmp_path):
    async with Bench.opened(tmp_path, **ON) as bench:

        def reply(prompt):
            if len(bench.model.prompts) == 2:
                raise ModelUnavailable("away")
            return claiming(prompt)

        bench.reply = reply
        await filled(bench)
        with pytest.raises(ModelUnavailable):
            await bench.refine()
        assert GATE in await told(bench)


async def test_eight_chunks_at_most_are_read_in_a_go_and_reports_wait_for_all_of_them(tmp_path):
    async with Bench.opened(tmp_path, **(ON | {"reports": "model"})) as bench:
        bench.reply = lambda prompt: claiming(prompt) if is_for_claims(prompt) else ""
        for number in range(9):
            await bench.add(f"{number}.md", (f"Ward {number}", f"Pump {number}"), text=f"Ward {number} lost Pump {number} in a flood.")
        await bench.settle()
        assert (await bench.refine()).calls == 8
        assert all(map(is_for_claims, bench.model.prompts))
        await read_through(bench)
        kinds = [is_for_claims(prompt) for prompt in bench.model.prompts]
        assert sum(kinds) == 9
        assert kinds[:9] == [True] * 9


async def test_a_model_writes_a_report_again_where_claims_came_to_it(tmp_path):
    def telling(prompt):
        notes = [text for text in prompt.messages[-1].content.splitlines() if text.startswith("[")]
        return "\n".join(f"- {text.partition('] ')[2]} {text.partition(' ')[0]}" for text in notes[:2])

    settings = {"reports": "model", "report_staleness": 0.05} | {key: ON[key] for key in ("subgraph_entities", "community_entities")}
    async with Bench.opened(tmp_path, **settings) as bench:
        bench.reply = telling
        await filled(bench)
        await read_through(bench)
        assert bench.model.prompts
    async with Bench.opened(tmp_path, **settings, claims="model") as bench:
        bench.reply = lambda prompt: claiming(prompt) if is_for_claims(prompt) else telling(prompt)
        await read_through(bench)
        written = [prompt for prompt in bench.model.prompts if not is_for_claims(prompt)]
        assert any("(suspected)" in prompt.messages[-1].content for prompt in written)


async def test_no_reply_is_kept_apart_from_its_claims(tmp_path):
    async with Bench.opened(tmp_path, **ON) as bench:
        bench.reply = lambda prompt: "Ward | NONE | x | TRUE | NONE | NONE | Nobody asked for slate."
        await filled(bench)
        await read_through(bench)
        assert "slate" not in bench.everything_stored()
