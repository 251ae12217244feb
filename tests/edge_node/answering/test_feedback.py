"""What people say of answers: counted for memories, learned from other ones, and only where it may stay for good."""

import logging
from dataclasses import replace

import pytest

from edge_node.answering import feedback
from edge_node.answering.feedback import FeedbackDesk, is_sure, learned, lesson_of
from shared.errors import Conflict, DiskFull, NotFound
from shared.models.fake import HashEmbedder
from shared.records import Answer, Citation, Confidence, GateReport, MemoryReport, Similarity
from tests.support.memories import Documents, Told, chunk_of

TEXT = "It is old. Orrin Mill was built by Ann Lee in 1881."
SAID = (111, 151)  # in the document
CHUNK = chunk_of(TEXT, start=100)
QUESTION = "Who built Orrin Mill?"
CITED = Citation(1, "ward", "d", "d.md", CHUNK.chunk_id, SAID, "Orrin Mill was built by Ann Lee in 1881.", 0.8)
GATE = GateReport("local", "sure", Confidence(0, 5, 0.8, 0.45), Similarity(0.9, 0.8, 0.7, 0.8, 0.5))
ANSWER = Answer("q1", "Ann Lee built Orrin Mill [1].", (CITED,), "local", gate=GATE)
REMEMBERED = MemoryReport("m1", "template", QUESTION, "Ann Lee", 1.0, 1.0, 1.0, 0.92)


class Bench:
    """Verdicts over memories that are told."""

    def __init__(self, learn="confirmed"):
        self.documents = Documents(CHUNK)
        self.told = Told(self.documents)
        self.embedder = HashEmbedder()
        self.desk = FeedbackDesk("ward", self.told, self.embedder, self.documents, learn)

    def memories(self):
        return [memory for memory, _ in self.told.kept.values()]


async def judged(bench, answer, *, right, question=QUESTION):
    await bench.desk.given(question, answer, since=bench.desk.arrivals)
    return await bench.desk.judge(answer.query_id, right=right)


async def test_an_answer_that_is_called_right_is_remembered_with_the_sentences_that_it_cites():
    bench = Bench()
    await judged(bench, ANSWER, right=True)
    (memory,) = bench.memories()
    assert (memory.kind, memory.question, memory.answer) == ("learned", QUESTION, "Ann Lee built Orrin Mill.")
    assert [TEXT[support.start : support.end] for support in memory.supports] == [CITED.quote]
    (near,) = await bench.told.recalled(QUESTION, (await bench.embedder.embed([QUESTION]))[0], k=1, floor=0.99)
    assert near.scored.memory == memory


@pytest.mark.parametrize(("learn", "right"), [("confirmed", False), ("off", True), ("gate", False)])
async def test_what_is_wrong_is_not_learned_nor_anything_where_learning_is_off(learn, right):
    bench = Bench(learn)
    assert await judged(bench, replace(ANSWER, gate=None), right=right) == "nothing"
    assert bench.memories() == []


FOREIGN = replace(CITED, n=2, edge="bank")
NOT_FOR_GOOD = {
    "of the cloud": replace(ANSWER, route="cloud"),
    "of all sites": replace(ANSWER, route="global"),
    "degraded": replace(ANSWER, route="degraded", degraded=True),
    "from memory already": replace(ANSWER, route="memory"),
    "not answered": replace(ANSWER, answered=False),
    "citing another site too": replace(ANSWER, answer="Ann Lee [1][2].", citations=(CITED, FOREIGN)),
    "citing nothing": replace(ANSWER, answer="Ann Lee.", citations=()),
    "a refusal": replace(ANSWER, answer="The passages do not mention who built it [1]."),
}


@pytest.mark.parametrize("answer", NOT_FOR_GOOD.values(), ids=NOT_FOR_GOOD)
def test_only_an_answer_of_this_site_alone_is_remembered(answer):
    assert lesson_of(QUESTION, ANSWER, "ward") is not None
    assert lesson_of(QUESTION, answer, "ward") is None


def test_a_question_of_any_form_is_remembered_unless_it_is_too_long():
    assert lesson_of("Was Orrin Mill built by Ann Lee, and when was it built?", ANSWER, "ward") is not None
    assert lesson_of(f"Who built {'x' * 300}?", ANSWER, "ward") is None


def test_what_its_sentences_do_not_say_or_that_stands_elsewhere_is_not_remembered():
    lesson, chunks = lesson_of(QUESTION, ANSWER, "ward"), {CHUNK.chunk_id: CHUNK}
    assert learned(lesson, chunks) is not None
    assert learned(lesson, {}) is None
    assert learned(replace(lesson, answer="Ann Lee built Orrin Mill in 1882."), chunks) is None
    for span in ((99, 120), (120, 152), (120, 120)):
        assert learned(replace(lesson, places=(replace(lesson.places[0], start=span[0], end=span[1]),)), chunks) is None


def test_a_piece_of_a_chunk_stands_in_its_chunk():
    piece = replace(ANSWER, citations=(replace(CITED, chunk_id=f"{CHUNK.chunk_id}.1"),))
    assert learned(lesson_of(QUESTION, piece, "ward"), {CHUNK.chunk_id: CHUNK}).supports[0].chunk_id == CHUNK.chunk_id


async def test_a_verdict_on_a_memory_s_answer_is_counted_for_that_memory():
    bench = Bench()
    await judged(bench, ANSWER, right=True)
    (memory,) = bench.memories()
    came = replace(ANSWER, query_id="q2", route="memory", memory=replace(REMEMBERED, memory_id=memory.memory_id))
    await judged(bench, came, right=False)
    await judged(bench, replace(came, query_id="q3"), right=True)
    assert bench.told.ratings == {memory.memory_id: (2, 1)}  # once as it was learned


async def test_what_was_called_wrong_is_called_right_again_where_the_slow_way_gives_the_same_answer():
    bench = Bench()
    await judged(bench, ANSWER, right=True)
    (memory,) = bench.memories()
    came = replace(ANSWER, query_id="q2", route="memory", memory=replace(REMEMBERED, memory_id=memory.memory_id))
    await judged(bench, came, right=False)
    await judged(bench, replace(ANSWER, query_id="q3"), right=True)
    assert bench.told.ratings == {memory.memory_id: (2, 1)}


async def test_a_lesson_knows_what_had_come_before_it_was_asked_for_and_not_before_its_verdict():
    bench = Bench()
    before = bench.desk.arrivals
    bench.told.arrivals += 1
    await bench.desk.given(QUESTION, ANSWER, since=before)
    await bench.desk.given(QUESTION, replace(ANSWER, query_id="q2"), since=bench.desk.arrivals)
    bench.told.arrivals += 1
    for query_id in ("q1", "q2"):
        await bench.desk.judge(query_id, right=True)
    assert bench.told.since == [0, 1]


async def test_a_verdict_on_an_answer_that_a_memory_only_stood_near_is_not_counted_for_it():
    bench = Bench("off")
    await judged(bench, replace(ANSWER, memory=replace(REMEMBERED, why_not="its score is below the threshold")), right=False)
    assert bench.told.ratings == {}


async def test_a_verdict_on_a_memory_that_is_gone_is_taken():
    await judged(Bench(), replace(ANSWER, route="memory", memory=REMEMBERED), right=False)


async def test_an_unknown_answer_cannot_be_judged_nor_any_one_twice():
    bench = Bench()
    with pytest.raises(NotFound):
        await bench.desk.judge("q1", right=True)
    await judged(bench, ANSWER, right=False)
    with pytest.raises(Conflict):
        await bench.desk.judge("q1", right=True)
    assert bench.memories() == []


NOT_THIS_SITE_S = {
    "another site's memory": (replace(ANSWER, route="memory", citations=(replace(CITED, edge="bank"),)), "another site's: bank gave"),
    "another site's memory, beside a near one of this": (
        replace(ANSWER, route="memory", citations=(replace(CITED, edge="bank"),), memory=replace(REMEMBERED, why_not="below")),
        "another site's: bank gave",
    ),
    "this site's memory as the cloud knows it": (replace(ANSWER, route="memory"), "was told of this site's memories"),
    "the cloud's model": (replace(ANSWER, route="cloud"), "the cloud wrote this answer"),
    "all sites": (replace(ANSWER, route="global"), "about everything"),
}


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize(("answer", "why"), NOT_THIS_SITE_S.values(), ids=NOT_THIS_SITE_S)
async def test_a_verdict_that_could_change_nothing_is_refused_each_time_with_a_reason(answer, why, right):
    bench = Bench()
    await bench.desk.given(QUESTION, answer, since=bench.desk.arrivals)
    for _ in range(2):
        with pytest.raises(Conflict, match=why) as refused:
            await bench.desk.judge(answer.query_id, right=right)
        assert refused.value.next_step
    assert (bench.memories(), bench.told.ratings) == ([], {})


@pytest.mark.parametrize("answer", [ANSWER, replace(ANSWER, route="degraded", degraded=True), replace(ANSWER, answered=False)])
async def test_what_this_site_wrote_by_itself_may_be_called_wrong(answer):
    await judged(Bench(), answer, right=False)


async def test_a_verdict_that_could_not_be_noted_may_be_sent_again(monkeypatch):
    bench = Bench()

    async def full(*_, **__):
        raise DiskFull("ward")

    with monkeypatch.context() as broken:
        broken.setattr(bench.told, "learn", full)
        with pytest.raises(DiskFull):
            await judged(bench, ANSWER, right=True)
    await bench.desk.judge("q1", right=True)
    assert len(bench.memories()) == 1


async def test_only_the_last_answers_can_be_judged(monkeypatch):
    monkeypatch.setattr(feedback, "MOST_ANSWERS", 2)
    bench = Bench()
    for name in ("q1", "q2", "q3"):
        await bench.desk.given(QUESTION, replace(ANSWER, query_id=name), since=bench.desk.arrivals)
    with pytest.raises(NotFound):
        await bench.desk.judge("q1", right=True)
    await bench.desk.judge("q2", right=True)


UNSURE = {
    "no gate": None,
    "a gate that escalates": replace(GATE, decision="escalate"),
    "answers that differ": replace(GATE, similarity=replace(GATE.similarity, mean=0.79)),
    "passages that hardly suffice": replace(GATE, confidence=replace(GATE.confidence, sufficiency=0.69)),
    "a model that was not asked": replace(GATE, confidence=replace(GATE.confidence, sufficiency=None)),
    "answers that were not compared": replace(GATE, similarity=None),
}


@pytest.mark.parametrize("gate", UNSURE.values(), ids=UNSURE)
async def test_unjudged_an_answer_is_learned_only_where_the_gate_is_sure(gate):
    assert is_sure(ANSWER)
    bench = Bench("gate")
    await bench.desk.given(QUESTION, replace(ANSWER, gate=gate), since=bench.desk.arrivals)
    assert bench.memories() == []


async def test_what_the_gate_has_taught_is_barred_by_a_verdict():
    bench = Bench("gate")
    await judged(bench, ANSWER, right=False)
    assert list(bench.told.ratings.values()) == [(0, 1)]


async def test_what_cannot_be_learned_is_logged_and_the_answer_stands(monkeypatch, caplog):
    bench = Bench("gate")

    async def full(*_, **__):
        raise DiskFull("ward")

    monkeypatch.setattr(bench.told, "learn", full)
    with caplog.at_level(logging.WARNING):
        await bench.desk.given(QUESTION, ANSWER, since=bench.desk.arrivals)
    assert "could not be learned: DiskFull" in caplog.text
    assert "Orrin" not in caplog.text


async def said_by(bench, *readers, right, answer):
    outcomes = []
    for n, reader in enumerate(readers):
        given = replace(answer, query_id=f"{reader}-{n}")
        await bench.desk.given(QUESTION, given, since=bench.desk.arrivals)
        outcomes.append(await bench.desk.judge(given.query_id, right=right, reader=reader))
    return outcomes


async def remembering():
    bench = Bench()
    await judged(bench, ANSWER, right=True)
    (memory,) = bench.memories()
    return bench, replace(ANSWER, route="memory", memory=replace(REMEMBERED, memory_id=memory.memory_id))


async def test_a_reader_alone_silences_no_memory_however_often_it_says_wrong():
    bench, answer = await remembering()
    before = dict(bench.told.ratings)
    assert await said_by(bench, *["nurse"] * 9, right=False, answer=answer) == ["noted"] * 9
    assert bench.told.ratings == before


async def test_so_many_readers_count_as_one_and_the_same_ones_do_not_count_again():
    bench, answer = await remembering()
    readers = ["nurse", "clerk", "guest"]
    assert await said_by(bench, *readers, *readers, right=False, answer=answer) == ["noted", "noted", "counted", *["noted"] * 3]
    assert bench.told.ratings[answer.memory.memory_id] == (1, 1)


async def test_a_reader_alone_teaches_nothing_and_several_do():
    bench = Bench()
    assert await said_by(bench, "nurse", "nurse", "clerk", right=True, answer=ANSWER) == ["noted"] * 3
    assert bench.memories() == []
    assert await said_by(bench, "guest", right=True, answer=ANSWER) == ["learned"]
    assert len(bench.memories()) == 1


async def test_null_control_one_verdict_that_counts_at_once_silences_for_everybody():
    bench, answer = await remembering()
    before = bench.told.ratings[answer.memory.memory_id]
    assert await judged(bench, replace(answer, query_id="q2"), right=False) == "counted"
    assert bench.told.ratings[answer.memory.memory_id] == (before[0], before[1] + 1)
