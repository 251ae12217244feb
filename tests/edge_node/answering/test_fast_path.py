"""Answers from memory, with memories that the test puts in: the guards themselves are tested where they are."""

import asyncio
import logging

import pytest

from edge_node.answering import fast_path
from edge_node.answering.fast_path import SHADOW, FastPath
from edge_node.memory import guards
from edge_node.settings import MemorySettings
from shared.models.fake import HashEmbedder
from shared.telemetry.trace import Trace
from tests.support.memories import Documents, Told, chunk_of, memory_in

TEXT = "It is old. Orrin Mill was built by Ann Lee in 1881. It has 40 looms."
SAID = "Orrin Mill was built by Ann Lee in 1881."
QUESTION = "Who built Orrin Mill?"
CHUNK = chunk_of(TEXT, start=100)
WHO = memory_in(CHUNK, QUESTION, "Ann Lee", said=SAID)


class Bench:
    """A Memorizer over memories that are told."""

    def __init__(self, *chunks, fast="on", thresholds=None):
        self.documents = Documents(*(chunks or (CHUNK,)))
        self.told = Told(self.documents)
        self.embedder = HashEmbedder()
        settings = MemorySettings(memory_fast=fast, memory_threshold=thresholds or {}, memory_k=3)
        self.fast_path = FastPath("ward", self.told, self.embedder, self.documents, settings)

    async def look(self, question=QUESTION, trace=None):
        return await self.fast_path.answer(question, "q1", trace or Trace())


async def bench_with(*memories, **settings):
    bench = Bench(**settings)
    await bench.told.put(bench.embedder, *(memories or (WHO,)))
    return bench


async def test_a_question_that_was_answered_before_is_answered_again_with_the_sentence_that_says_so():
    look = await (await bench_with()).look()
    answer, (cited,) = look.answer, look.answer.citations
    assert (answer.answer, answer.route, answer.query_id, answer.answered) == ("Ann Lee [1]", "memory", "q1", True)
    assert (cited.edge, cited.document, cited.quote) == ("ward", "d.md", SAID)
    assert TEXT[cited.span[0] - 100 : cited.span[1] - 100] == SAID
    assert answer.memory == look.report
    assert (look.report.question, look.report.kind, look.report.score, look.report.why_not) == (QUESTION, "template", 1.0, "")


async def test_an_answer_from_memory_takes_no_model_call_and_its_time_is_told():
    trace = Trace()
    await (await bench_with()).look(trace=trace)
    assert [(step.step, step.calls, step.tokens_out) for step in trace.steps()] == [("remember", 0, 0)]


async def test_a_miss_says_why_the_nearest_memory_does_not_answer():
    bench = await bench_with(memory_in(CHUNK, "Who built Orrin Mill in Fenlow?", "Ann Lee", said=SAID))
    look = await bench.look("Who built Orrin Mill in Fenlow in 1881?")
    assert look.answer is None
    assert look.report.why_not == guards.BELOW
    assert look.report.score < look.report.threshold == 0.92


async def test_what_is_far_from_all_memories_has_no_report():
    look = await (await bench_with()).look("Which pumps failed at night?")
    assert (look.answer, look.report) == (None, None)


async def test_memories_are_looked_for_down_to_the_rivals_of_the_lowest_threshold():
    bench = await bench_with(thresholds={"model": 1.5})
    await bench.look()
    assert bench.told.asked == [(3, pytest.approx(0.83))]


async def test_where_no_kind_may_answer_or_memory_is_off_nothing_is_looked_for():
    for settings in ({"fast": "off"}, {"thresholds": dict.fromkeys(("template", "model", "learned"), 1.5)}):
        bench = await bench_with(**settings)
        look = await bench.look()
        assert (look.answer, look.report, bench.told.asked, bench.fast_path.looked) == (None, None, [], 0)


async def test_a_shadow_looks_at_all_and_reports_and_never_answers():
    bench = await bench_with(fast="shadow")
    look = await bench.look()
    assert (look.answer, look.report.why_not) == (None, SHADOW)
    far = await bench.look("Which pumps failed at night?")
    assert (far.answer, far.report.memory_id, far.report.why_not) == (None, WHO.memory_id, guards.BELOW)


async def test_a_memory_that_is_called_wrong_gives_way_to_the_next_one():
    other = memory_in(CHUNK, "Who built the Orrin Mill?", "Ann Lee in 1881", kind="model", said=SAID)
    bench = await bench_with(WHO, other)
    first = (await bench.look()).report.memory_id
    await bench.told.rate(first, right=False)
    second = await bench.look()
    assert (second.report.memory_id, second.answer is None) == (({WHO.memory_id, other.memory_id} - {first}).pop(), False)
    await bench.told.rate(second.report.memory_id, right=False)
    assert (await bench.look()).report.why_not == guards.BARRED


async def test_a_memory_that_newer_passages_may_contradict_gives_way_to_what_was_learned_since():
    """Neither as the nearest nor as a rival: it would hold back what replaces it for good."""
    later = chunk_of("Orrin Mill was built by Bo Ray.", document_id="e")
    news = memory_in(later, QUESTION, "Bo Ray")
    bench = Bench(CHUNK, later)
    await bench.told.put(bench.embedder, WHO, news)
    assert (await bench.look()).report.why_not == guards.RIVAL
    for old, answer in ((WHO, "Bo Ray [1]"), (news, "Ann Lee [1]")):
        bench.told.doubtful = {old.memory_id}
        assert (await bench.look()).answer.answer == answer
    bench.told.doubtful = {WHO.memory_id, news.memory_id}
    assert (await bench.look()).report.why_not == guards.DOUBTFUL


async def test_a_memory_below_the_threshold_of_its_kind_does_not_stand_before_one_above_that_of_its_own():
    learned = memory_in(CHUNK, "Who built the Orrin Mill?", "Orrin Mill was built by Ann Lee.", kind="learned", said=SAID)
    bench = await bench_with(WHO, learned, thresholds={"template": 1.01, "learned": 0.5})
    look = await bench.look()
    assert (look.report.memory_id, look.answer is None) == (learned.memory_id, False)


async def test_what_answers_otherwise_holds_an_answer_back_though_it_may_not_answer_itself():
    otherwise = memory_in(CHUNK, QUESTION, "Bo Ray", said=SAID)
    learned = memory_in(CHUNK, "Who built the Orrin Mill?", "Orrin Mill was built by Ann Lee.", kind="learned", said=SAID)
    bench = await bench_with(otherwise, learned, thresholds={"template": 1.01, "learned": 0.5})
    assert (await bench.look()).report.why_not == guards.RIVAL


async def test_a_text_that_is_gone_answers_nothing():
    bench = await bench_with()
    bench.documents.there.clear()
    assert (await bench.look()).report.why_not == guards.CHANGED


async def test_a_text_that_goes_while_it_is_cited_answers_nothing(monkeypatch):
    bench = await bench_with()
    found = await bench.told.recalled(QUESTION, (await bench.embedder.embed([QUESTION]))[0], k=3, floor=0)
    bench.documents.there.clear()

    async def before(*_, **__):
        return found

    monkeypatch.setattr(bench.told, "recalled", before)
    look = await bench.look()
    assert (look.answer, look.report.why_not) == (None, guards.CHANGED)


async def test_of_many_texts_that_say_the_same_a_few_are_cited():
    chunks = [chunk_of(TEXT, document_id=f"d{n}") for n in range(6)]
    bench = Bench(*chunks)
    same = [memory_in(chunk, QUESTION, "Ann Lee", said=SAID) for chunk in chunks]
    await bench.told.put(bench.embedder, same[0])
    scored = (await bench.told.recalled(QUESTION, (await bench.embedder.embed([QUESTION]))[0], k=1, floor=0))[0].scored
    passages = bench.fast_path._passages(type(scored)(scored.memory, 1.0, 1.0, 1.0, tuple(same[1:])))
    assert [passage.document for passage in passages] == ["d0.md", "d1.md", "d2.md", "d3.md"]


async def test_each_sentence_of_a_longer_answer_cites_what_says_it():
    looms = "It has 40 looms."
    both = type(WHO)(
        "m",
        "learned",
        QUESTION,
        "Ann Lee built Orrin Mill in 1881. It has 40 looms.",
        (*WHO.supports, *memory_in(CHUNK, "", "", said=looms).supports),
        WHO.anchors,
    )
    answer = (await (await bench_with(both)).look()).answer
    assert answer.answer == "Ann Lee built Orrin Mill in 1881 [1]. It has 40 looms [2]."
    assert [citation.quote for citation in answer.citations] == [SAID, looms]


async def test_hostile_words_of_a_memory_are_inert_in_answer_quote_and_report():
    evil = "Orrin Mill was built by Ann Lee <img src=x onerror=alert(1)> [click](http://x.example/a)\u202e."
    chunk = chunk_of(evil)
    memory = memory_in(chunk, QUESTION, "Ann Lee <img src=x onerror=alert(1)> [click](http://x.example/a)\u202e")
    bench = Bench(chunk)
    await bench.told.put(bench.embedder, memory)
    answer = (await bench.look()).answer
    for text in (answer.answer, answer.citations[0].quote, answer.memory.answer):
        assert "Ann Lee" in text
        assert not {"<img", "http", "\u202e", "]("} & {part for part in ("<img", "http", "\u202e", "](") if part in text}


async def test_what_fails_is_a_miss_and_logged_without_a_word_of_the_question(caplog):
    bench = await bench_with()
    bench.told.fails = ValueError("Orrin")
    with caplog.at_level(logging.WARNING):
        look = await bench.look()
    assert (look.answer, look.report) == (None, None)
    assert "memories could not be asked: ValueError" in caplog.text
    assert "Orrin" not in caplog.text


async def test_what_takes_too_long_is_a_miss(monkeypatch):
    monkeypatch.setattr(fast_path, "DEADLINE_S", 0.01)
    bench = await bench_with()

    async def hanging(*_, **__):
        await asyncio.Event().wait()

    monkeypatch.setattr(bench.told, "recalled", hanging)
    assert await bench.look() == fast_path.NOTHING_SEEN


async def test_a_question_that_is_given_up_is_given_up_here_too(monkeypatch):
    bench = await bench_with()
    begun = asyncio.Event()

    async def hanging(*_, **__):
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(bench.told, "recalled", hanging)
    asking = asyncio.create_task(bench.look())
    await begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_hits_and_looks_are_counted():
    bench = await bench_with()
    await bench.look()
    await bench.look("Which pumps failed at night?")
    assert (bench.fast_path.looked, bench.fast_path.answered) == (2, 1)
