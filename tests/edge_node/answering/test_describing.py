"""Descriptions of what was found, beside the passages: their share of the context, their order, what they are cited from, who sees none."""

import pytest

from edge_node.answering.answerer import Answerer, Ask
from edge_node.answering.for_others import EvidenceForOthers
from edge_node.answering.gate import Gate
from edge_node.answering.narrowing import SentenceSelector, fitting
from edge_node.answering.search import Search
from edge_node.records import PassageSummary
from edge_node.settings import AnswerSettings, EdgeSettings
from edge_node.strategies.dgrag.descriptions import MOST_BELOW
from shared.models.fake import HashEmbedder, WordTokenizer
from shared.telemetry.trace import Trace
from shared.wire import EvidenceRequest
from tests.support.running_edge import scripted
from tests.support.settling import Bench

OFF = {"min_nearness": -1.0, "max_unknown": 1.0, "min_sufficiency": 0.0, "min_similarity": 0.0, "samples": 1}
DUAL = {"retrieval": "dense,entities,relations", "description_share": 0.5}
QUESTION = "Who founded Orrin Mill?"
BUDGET = 60  # tokens, which are words here
EVERYBODY = None


class Site:
    """A bench whose graph tells of a mill and its founder, and what its model is asked."""

    def __init__(self, bench, generator, settings):
        embedder, self.generator = HashEmbedder(), generator
        chosen = AnswerSettings(context_tokens=BUDGET, evidence_threshold=-1.0, **OFF, **settings)
        selector, gate = SentenceSelector(embedder, WordTokenizer()), Gate(embedder, chosen)
        search = Search(bench.strategy, bench.tools.releases, chosen)
        self.answerer = Answerer(search, selector, generator, gate, None, bench.tools.releases)
        self.for_others = EvidenceForOthers(search, bench.tools.releases)

    async def ask(self, labels=EVERYBODY):
        return await self.answerer.answer(Ask(QUESTION, mode="local", labels=labels), Trace())

    @property
    def context(self):
        """The lines of the frame, by their heading."""
        lines = self.generator.prompts[0].messages[-1].content.partition("<<")[2].rpartition(">>")[0].splitlines()[1:-1]
        passages, _, descriptions = "\n".join(lines).partition("Descriptions from the same documents:\n")
        return passages.splitlines(), descriptions.splitlines()


async def filled(bench):
    await bench.add("mill", ("Orrin Mill", "Ada Vale"), related=[("Orrin Mill", "Ada Vale")], text="Orrin Mill had one founder, Ada Vale.")
    await bench.add(
        "vale", ("Ada Vale",), text="Ada Vale passed away during 1911. She liked tea. Nobody knows why she did. " + "It rained. " * 9
    )
    await bench.add("beet", ("Sugar beet",), text="Sugar beet is sown early in the year. It is grown for sugar.", labels=("field",))
    await bench.settle()


def site(bench, answer="Ada Vale founded Orrin Mill [1].", **settings):
    return Site(bench, scripted(answer), settings or DUAL)


async def test_descriptions_have_their_share_of_the_context_behind_the_passages_and_go_on_with_their_numbers(tmp_path):
    async with Bench.opened(tmp_path, **DUAL) as bench:
        await filled(bench)
        asked = site(bench)
        await asked.ask()
        passages, descriptions = asked.context
        numbered = [line for line in (*passages, *descriptions) if line.startswith("[")]
        assert [line.partition(" ")[0] for line in numbered] == [f"[{n}]" for n in range(1, len(numbered) + 1)]
        words = sum(len(line.split()) - 1 for line in descriptions)
        assert 0.3 * BUDGET <= words <= 0.5 * BUDGET
        assert any("Orrin Mill has Ada Vale." in line for line in descriptions)
        assert sum(len(line.split()) - 1 for line in numbered) <= BUDGET


async def test_a_description_is_cited_by_the_passage_that_says_it_and_what_no_passage_says_is_left_out(tmp_path):
    async with Bench.opened(tmp_path, **DUAL) as bench:
        await filled(bench)
        asked = site(bench)
        await asked.ask()
        number = next(line.partition(" ")[0] for line in asked.context[1] if "Orrin Mill has Ada Vale" in line)
        answer = await site(bench, f"Orrin Mill had one founder, Ada Vale {number}. She sold 40 mills {number}.").ask()
        assert (answer.answer, [one.document for one in answer.citations]) == ("Orrin Mill had one founder, Ada Vale [1].", ["mill"])


async def test_who_may_not_read_every_document_is_shown_no_description(tmp_path):
    async with Bench.opened(tmp_path, **DUAL) as bench:
        await filled(bench)
        for labels, is_described in ((EVERYBODY, True), (frozenset({"field"}), True), (frozenset(), False)):
            asked = site(bench)
            await asked.ask(labels)
            assert bool(asked.context[1]) == is_described
        assert "beet" not in "".join(asked.context[0])


async def test_from_whom_a_document_is_withheld_finds_what_is_found_without_descriptions(tmp_path):
    found = []
    async with Bench.opened(tmp_path, **DUAL) as bench, Bench.opened(tmp_path / "plain", retrieval=DUAL["retrieval"]) as plain:
        for each in (bench, plain):
            await filled(each)
            asked = {"budget_tokens": 900, "top_k": 5, "withheld": frozenset({each.ids["beet"]})}
            found.append(await each.strategy.retrieve(QUESTION, **asked))
    assert found[0] == found[1]


async def test_a_description_is_cited_from_the_passages_of_many_that_are_nearest_to_the_question(tmp_path):
    async with Bench.opened(tmp_path, **DUAL) as bench:
        for year in range(MOST_BELOW + 4):
            await bench.add(f"year {year}", ("Orrin Mill",), text=f"Orrin Mill ground corn in its year {year}.")
        await bench.add("vale", ("Orrin Mill",), text="Ada Vale founded Orrin Mill.")
        await bench.settle()
        found = await bench.strategy.retrieve(QUESTION, budget_tokens=900, top_k=5)
        (mill,) = [one for one in found.descriptions if one.summary_id == "orrin mill"]
        assert (len(mill.passages), mill.passages[0].document, round(mill.score, 4)) == (MOST_BELOW, "vale", mill.passages[0].score)


async def test_what_other_sites_are_given_is_the_same_with_and_without_descriptions(tmp_path):
    request = EvidenceRequest(request_id="r", question=QUESTION, budget_tokens=30, deadline_ms=9_000)
    async with Bench.opened(tmp_path, **DUAL) as bench, Bench.opened(tmp_path / "plain", retrieval=DUAL["retrieval"]) as plain:
        replies = []
        for each, asked in ((bench, site(bench)), (plain, site(plain, description_share=0.0))):
            await filled(each)
            replies.append([item.text for item in (await asked.for_others.evidence(request)).reply.evidence])
        assert replies[0] == replies[1] != []


async def test_by_default_nothing_is_described_and_the_prompt_is_as_it_was(tmp_path):
    assert EdgeSettings().description_share == 0.0
    async with Bench.opened(tmp_path, retrieval=DUAL["retrieval"]) as bench:
        await filled(bench)
        found = await bench.strategy.retrieve(QUESTION, budget_tokens=900, top_k=5)
        asked = site(bench, description_share=0.0)
        await asked.ask()
        assert (found.descriptions, asked.context[1]) == ((), [])


async def test_what_is_gone_is_described_no_more_even_before_the_graph_is_renewed(tmp_path):
    async with Bench.opened(tmp_path, **DUAL) as bench:
        await filled(bench)
        await bench.remove("vale")
        found = await bench.strategy.retrieve(QUESTION, budget_tokens=900, top_k=5)
        assert "ada vale" in bench.graph_now().entities
        assert not any("1911" in one.text for one in found.descriptions)
        assert "orrin mill" in [one.summary_id for one in found.descriptions]


@pytest.mark.parametrize(("budget", "lines"), [(0, []), (4, ["Mill: It is old."]), (8, ["Mill: It is old.", "Ada and Mill: Soon."])])
def test_parts_of_a_question_are_described_in_turn_a_sentence_once_and_no_longer_than_fits(budget, lines):
    mill, barn = (PassageSummary(name, "It is old. It grinds all of the corn here.", 0.5, (), name) for name in ("Mill", "Barn"))
    built = PassageSummary("ada\tmill", "Soon.", 0.5, (), "Ada and Mill")
    kept, tokens = fitting([[mill, barn], [built]], budget, lambda text: len(text.split()))
    assert [one.line for one in kept] == lines
    assert tokens <= budget
