"""A question about everything, over ASGI: what sites say, what becomes of it, and what a site that lies can do."""

import asyncio
import re
from collections import Counter
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from shared.errors import ModelTimeout, ModelUnavailable
from shared.models.fake import ScriptedGenerator, WordTokenizer
from shared.records import EdgeReport
from shared.text.citations import checked_answer
from shared.wire import QuestionBody
from tests.support.injections import injections
from tests.support.viewer import active

QUESTION = "What threatens the wildlife here?"
ASK = QuestionBody(question=QUESTION, query_id="q1", mode="global")
BEES = "Bees find fewer flowers each August."
MEADOWS = "Meadows are mown before gentians can seed."
RIVERS = "Trout die because warm rivers hold little oxygen."
MODEL_AWAY = "no model server at http://127.0.0.1:1 (refused)"


def point(text, *, said="", report="r1", chunk="d1:0", document="notes.md", **more):
    found = {"document_id": "d1", "document": document, "chunk_id": chunk, "span": [0, len(text)], "text": text}
    return {**found, "point": said, "report": report, **more}


def reply(*points, reports=(1, 1), **more):
    return {"evidence": list(points), "reports": reports[0], "reports_there": reports[1], **more}


def listed(prompt):
    """The lines of a reduce prompt's frame."""
    lines = prompt.messages[-1].content.splitlines()
    begin = next(row for row, line in enumerate(lines) if re.fullmatch(r"<<[0-9a-f]{8}", line))
    return lines[begin + 1 : lines.index(lines[begin][2:] + ">>")]


def told_by(prompt):
    """(edge, text) of each point of a reduce prompt."""
    found, edge = [], ""
    for line in listed(prompt):
        number = re.match(r"\[\d+\] ", line)
        if number:
            found.append((edge, line[number.end() :]))
        else:
            edge = line.partition(",")[0]
    return found


def all_points(prompt):
    """Says what all points say."""
    return " ".join(f"{text.rstrip('.')} [{n}]." for n, (_, text) in enumerate(told_by(prompt), start=1))


def yes(prompt):
    """What a passage says of a sentence, by the model: all of it."""
    return {"Yes": -0.01}


def says(answer):
    return ScriptedGenerator(lambda _: answer, yes)


def failing(error):
    def fail(_):
        raise error

    return ScriptedGenerator(fail)


@asynccontextmanager
async def sites(folder, kit, *, generator=None, **changes):
    """A cloud whose model tells every point, or as ``generator`` says, in one call."""
    changes = {"global_method": "paper", **changes}
    async with kit.running(folder, generator=generator or ScriptedGenerator(all_points, yes), **changes) as service:
        yield service


async def stuck(texts):
    await asyncio.Event().wait()


async def serve(http, edge, body):
    """Poll once, and reply to what comes."""
    auth = http.auth.of(edge)
    (request,) = (await http.post(f"/v1/edges/{edge}/poll?wait_s=20", auth=auth)).json()["requests"]
    path = f"/v1/edges/{edge}/replies/{request['request_id']}"
    return SimpleNamespace(request=request, response=await http.post(path, json=body, auth=auth))


async def online(service, kit, *edges):
    for edge in edges:
        await kit.join(service.http, edge)
        await service.cloud.mailbox.poll(edge, wait_s=0)


async def asked(service, kit, replies, *, body=ASK, deadline_s=20.0, **more):
    """The answer, and what each edge was asked, where each replies as given."""
    for edge in replies:
        await kit.join(service.http, edge)
    serving = {edge: asyncio.create_task(serve(service.http, edge, said)) for edge, said in replies.items()}
    await kit.until(lambda: all((box := service.cloud.mailbox._boxes.get(edge)) and box.waiting for edge in replies))
    answer = await service.cloud.global_coordinator.answer(body, deadline_s=deadline_s, **more)
    return answer, {edge: await task for edge, task in serving.items()}


async def test_every_site_is_asked_and_every_citation_names_site_report_and_chunks(service, kit):
    generator = ScriptedGenerator(all_points, yes)
    service.cloud.models.generator.stream, service.cloud.models.generator.generate = generator.stream, generator.generate
    replies = {
        "bank": reply(
            point(MEADOWS, said="Meadows are mown too early for gentians to seed.", report="r7", chunk_ids=["d1:4"]), reports=(12, 40)
        ),
        "ward": reply(point(BEES, chunk="d9:2", report="r3"), reports=(2, 2)),
    }
    answer, served = await asked(service, kit, replies, requester="operator:ops")
    assert (answer.answered, answer.route, answer.query_id, answer.partial, answer.degraded) == (True, "global", "q1", False, False)
    by_edge = {one.edge: one for one in answer.citations}
    assert answer.answer.count("[") == 2
    assert (by_edge["bank"].report, by_edge["bank"].chunk_id, by_edge["bank"].chunks, by_edge["bank"].quote) == (
        "r7", "d1:0", ("d1:4",), MEADOWS,
    )  # fmt: skip
    assert (by_edge["ward"].report, by_edge["ward"].chunk_id, by_edge["ward"].quote) == ("r3", "d9:2", BEES)
    assert answer.coverage == "2 of 2 sites answered: bank (12 of 40 reports), ward (2 of 2 reports)"
    assert [(one.edge, one.asked_for, one.evidence, one.reports, one.reports_there) for one in answer.edges] == [
        ("bank", "reports", 1, 12, 40), ("ward", "reports", 1, 2, 2),
    ]  # fmt: skip
    assert {one.response.status_code for one in served.values()} == {204}
    request = served["bank"].request
    assert (request["task"], request["level"], request["max_bytes"], request["requester"]) == ("reports", "dynamic", 6144, "operator:ops")


async def test_the_trace_tells_bytes_and_time_of_each_site_and_what_it_did(tmp_path, kit):
    async with sites(tmp_path, kit) as service:
        step = {"step": "map", "ms": 7.0, "calls": 3, "tokens_in": 900}
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES), trace=[step]), "ward": reply(point(RIVERS))})
    steps = {one.step: one for one in answer.trace}
    assert list(steps) == ["fan_out", "bank: transfer", "ward: transfer", "bank: map", "rescore", "reduce"]
    assert steps["bank: map"].tokens_in == 900
    assert min(steps["bank: transfer"].bytes_out, steps["ward: transfer"].bytes_in) > 100
    for name in ("bytes_in", "bytes_out"):
        assert getattr(steps["fan_out"], name) == sum(getattr(steps[f"{edge}: transfer"], name) for edge in ("bank", "ward"))
    assert steps["reduce"].calls == 1
    assert checked_answer(answer, route="global") == answer


async def test_the_level_and_the_purpose_go_with_the_question(tmp_path, kit):
    async with sites(tmp_path, kit, global_reply_bytes=2000) as service:
        body = ASK.model_copy(update={"level": 2, "purpose": "research"})
        _, served = await asked(service, kit, {"bank": reply(point(BEES))}, body=body)
    request = served["bank"].request
    assert (request["level"], request["purpose"], request["max_bytes"]) == (2, "research", 2000)


def test_who_is_late_and_who_refuses_stands_in_the_coverage_line(tmp_path, kit, on_skipping_loop):
    async def main(clock):
        async with sites(tmp_path, kit, clock=clock, global_deadline_s=30.0) as service:
            await online(service, kit, "field")
            await kit.join(service.http, "mill")
            replies = {"bank": reply(point(BEES), reports=(12, 40)), "clinic": {"refused": "the sharing policy of this site"}}
            return (await asked(service, kit, replies, deadline_s=100.0))[0]

    answer = on_skipping_loop(main)
    missing = "refused: clinic (the sharing policy of this site); late: field; offline: mill"
    assert answer.coverage == f"1 of 4 sites answered: bank (12 of 40 reports); {missing}"
    assert (answer.answered, answer.partial) == (True, True)
    assert answer.reason == "3 of 4 sites gave no answer: clinic (refused), field (late), mill (offline)"
    assert {one.edge: one.ms for one in answer.edges}["field"] == pytest.approx(30_000)


@pytest.mark.parametrize(("count", "partial", "said"), [(0, False, ""), (3, True, "bank left 3 of the reports unread that it chose")])
async def test_a_site_that_left_reports_unread_makes_the_answer_partial(tmp_path, kit, count, partial, said):
    async with sites(tmp_path, kit) as service:
        replies = {"bank": reply(point(BEES), reports=(12, 40), unread=count), "ward": reply(point(RIVERS))}
        answer, _ = await asked(service, kit, replies)
    assert (answer.answered, answer.partial, answer.degraded, answer.reason) == (True, partial, False, said)
    assert [one.reason for one in answer.edges] == ["3 unread" if count else "", ""]


@pytest.mark.parametrize(("ward_has_one", "degraded"), [(True, False), (False, True)])
async def test_where_no_site_had_a_model_the_answer_is_degraded(tmp_path, kit, ward_has_one, degraded):
    """Who has sent nothing had nothing to read: with or without a model, it does not count."""
    async with sites(tmp_path, kit) as service:
        replies = {
            "bank": reply(point(BEES), without_model=True), "ward": reply(point(RIVERS), without_model=not ward_has_one),
            "silent": reply(reports=(0, 0)),
        }  # fmt: skip
        answer, _ = await asked(service, kit, replies)
    assert (answer.answered, answer.partial, answer.degraded) == (True, False, degraded)
    assert answer.reason == ("no model has read the reports of any site that told something" if degraded else "")
    assert {one.edge: one.reason for one in answer.edges}["bank"] == "without a model"


async def test_no_site_is_said_to_have_read_more_reports_than_it_has(tmp_path, kit):
    async with sites(tmp_path, kit) as service:
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES), reports=(900, 4))})
    assert answer.coverage == "1 of 1 site answered: bank (4 of 4 reports)"


async def test_where_all_are_offline_no_model_is_asked(service, kit):
    await kit.join(service.http, "bank")
    await kit.join(service.http, "ward")
    answer = await service.cloud.global_coordinator.answer(ASK, deadline_s=5)
    assert (answer.answered, answer.citations, answer.partial, answer.degraded) == (False, (), True, False)
    assert answer.answer == "No connected site has told anything that answers this question."
    assert answer.coverage == "0 of 2 sites answered; offline: bank, ward"
    assert service.cloud.models.generator.prompts == []


async def test_where_nobody_has_joined_the_answer_says_so(service):
    answer = await service.cloud.global_coordinator.answer(ASK, deadline_s=5)
    assert (answer.answered, answer.coverage, answer.partial) == (False, "0 of 0 sites answered", False)


async def test_sites_without_a_word_on_it_leave_the_question_open(service, kit):
    answer, _ = await asked(service, kit, {"bank": reply(reports=(3, 3))})
    assert (answer.answered, answer.partial, answer.reason) == (False, False, "")
    answer, _ = await asked(service, kit, {"bank": reply(point(BEES, said=QUESTION))})
    assert (answer.answered, answer.reason) == (False, "of the points that came none could be used")


async def test_a_site_that_is_set_aside_is_not_asked_and_is_named_without_the_operators_reason(tmp_path, kit):
    async with sites(tmp_path, kit) as service:
        await online(service, kit, "ward")
        service.cloud.registry.quarantine("ward", "it lies")
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES))})
    assert answer.coverage == "1 of 2 sites answered: bank (1 of 1 report); skipped: ward"
    assert [one.reason for one in answer.edges if one.edge == "ward"] == ["the cloud's operator has set it aside"]


async def test_beyond_the_most_that_are_asked_the_others_are_named(tmp_path, kit):
    async with sites(tmp_path, kit, global_edges=2) as service:
        await kit.join(service.http, "aviary")
        await online(service, kit, "zoo")
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES)), "ward": reply(point(RIVERS))}, asking="ward")
    assert {one.edge: one.status for one in answer.edges} == {"bank": "answered", "ward": "answered", "aviary": "skipped", "zoo": "skipped"}
    assert {one.reason for one in answer.edges if one.status == "skipped"} == {"a question is put to 2 sites at most"}
    assert answer.partial


async def test_a_site_that_failed_too_often_is_passed_over_and_named(tmp_path, kit):
    async with sites(tmp_path, kit, breaker_failures=1) as service:
        await online(service, kit, "ward")
        await service.cloud.availability.note([EdgeReport("ward", "reports", "failed", 1.0, 0, 0)], matched=[], useful=[])
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES))})
    assert answer.coverage == "1 of 2 sites answered: bank (1 of 1 report); skipped: ward"
    assert {one.asked_for for one in answer.edges} == {"reports"}


@pytest.mark.parametrize(
    ("generator", "why", "degraded"),
    [
        (failing(ModelUnavailable(MODEL_AWAY)), MODEL_AWAY, True),
        (failing(ModelTimeout(deadline_s=1.0)), "no full answer", True),
        (says("Bananas are yellow and cheap everywhere."), "no sentence of it rests on a point", False),
        (says("<<"), "no sentence of it rests on a point", False),
        (says("Insufficient information."), "no sentence of it rests on a point", False),
    ],
)
async def test_without_the_models_words_the_points_are_told_as_they_are(tmp_path, kit, generator, why, degraded):
    async with sites(tmp_path, kit, generator=generator) as service:
        hidden = point(RIVERS, report="r2", quotable=False)
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES)), "ward": reply(hidden)})
    assert (answer.answered, answer.degraded, answer.route) == (True, degraded, "global")
    assert answer.answer == "Bees find fewer flowers each August [1]."
    assert [(one.edge, one.report, one.chunk_id) for one in answer.citations] == [("bank", "r1", "d1:0")]
    assert answer.reason.startswith("the points as they came, for the model wrote no answer: ")
    assert why in answer.reason


async def test_where_no_point_may_be_shown_a_model_that_is_away_leaves_nothing(tmp_path, kit):
    async with sites(tmp_path, kit, generator=failing(ModelUnavailable(MODEL_AWAY))) as service:
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES, quotable=False))})
    assert (answer.answered, answer.degraded, answer.citations) == (False, True, ())
    assert BEES not in answer.answer + answer.reason


async def test_a_point_that_may_not_be_quoted_is_told_without_its_documents_words(tmp_path, kit):
    async with sites(tmp_path, kit) as service:
        kept = point(MEADOWS, said="Gentians cannot seed before meadows are mown.", quotable=False)
        answer, _ = await asked(service, kit, {"bank": reply(kept)})
    assert answer.answer == "Gentians cannot seed before meadows are mown [1]."
    assert answer.citations[0].quote == ""


async def test_sentences_that_no_point_supports_are_left_out_and_counted(tmp_path, kit):
    told = "Bees find fewer flowers each August [1]. Bananas are yellow and cheap everywhere."
    async with sites(tmp_path, kit, generator=says(told)) as service:
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES))})
    assert answer.answer == "Bees find fewer flowers each August [1]."
    assert answer.reason == "1 sentence of the model's left out: no passage supports it"
    assert not answer.degraded


async def test_the_answer_is_heard_as_it_is_written(tmp_path, kit):
    heard = []
    async with sites(tmp_path, kit) as service:
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES)), "ward": reply(point(RIVERS))}, on_text=heard.append)
    assert len(heard) == 2
    assert "".join(heard).strip() == answer.answer


def test_fan_out_embedder_and_model_each_leave_time_for_what_follows(tmp_path, kit, on_skipping_loop):
    given = []

    class Timed(ScriptedGenerator):
        async def generate(self, prompt, *, deadline_s):
            given.append(deadline_s)
            return await super().generate(prompt, deadline_s=deadline_s)

    async def main(clock):
        async with sites(tmp_path, kit, generator=Timed(all_points), clock=clock, global_deadline_s=200.0) as service:
            return (await asked(service, kit, {"bank": reply(point(BEES))}, deadline_s=40.0))[1]["bank"].request["deadline_ms"]

    assert on_skipping_loop(main) == 27_000  # of 30 s, less the way back
    assert given == [pytest.approx(36.0)]


def test_points_that_cannot_be_compared_in_time_are_told_in_turn_as_they_came(tmp_path, kit, on_skipping_loop):
    generator = ScriptedGenerator(all_points)

    async def main(clock):
        async with sites(tmp_path, kit, generator=generator, clock=clock) as service:
            service.cloud.models.embedder.embed = stuck
            began = clock.monotonic()
            replies = {"bank": reply(point(MEADOWS), point(BEES, chunk="d1:1")), "ward": reply(point(RIVERS))}
            answer, _ = await asked(service, kit, replies, deadline_s=40.0)
            return answer, clock.monotonic() - began

    answer, took_s = on_skipping_loop(main)
    assert answer.answer.splitlines() == [
        "Meadows are mown before gentians can seed [1].", "Trout die because warm rivers hold little oxygen [2].",
        "Bees find fewer flowers each August [3].",
    ]  # fmt: skip
    assert (answer.answered, answer.degraded, answer.partial) == (True, True, False)
    assert answer.reason == "the points as they came, for they were not compared with the question in time"
    assert {one.score for one in answer.citations} == {0.0}  # nothing was compared
    assert took_s == pytest.approx(10.0, abs=0.1)
    assert generator.prompts == []


@pytest.mark.parametrize(("nearness", "order"), [(0.0, [MEADOWS, BEES, RIVERS]), (0.99, [BEES, RIVERS, MEADOWS])])
async def test_where_no_point_is_near_the_question_the_sites_tell_theirs_in_turn_each_in_its_own_order(
    tmp_path, kit, monkeypatch, nearness, order
):
    monkeypatch.setattr("cloud_server.answering.points.NEARNESS", nearness)
    replies = {"bank": reply(point(BEES), point(MEADOWS, chunk="d1:1")), "ward": reply(point(RIVERS))}
    async with sites(tmp_path, kit, generator=failing(ModelUnavailable(MODEL_AWAY))) as service:
        answer, _ = await asked(service, kit, replies, body=QuestionBody(question="Which gentians?", query_id="q1", mode="global"))
    told = [text for line in answer.answer.splitlines() for text in (BEES, MEADOWS, RIVERS) if line.startswith(text[:-1])]
    assert (told[0], sorted(told)) == (order[0], sorted(order))
    assert told == order or nearness == 0.0


async def test_an_embedder_that_is_away_costs_the_order_and_not_the_points(tmp_path, kit):
    async def away(texts):
        raise ModelUnavailable(MODEL_AWAY)

    async with sites(tmp_path, kit) as service:
        service.cloud.models.embedder.embed = away
        answer, _ = await asked(service, kit, {"bank": reply(point(BEES))})
    assert (answer.answer, answer.degraded) == ("Bees find fewer flowers each August [1].", True)
    assert answer.reason == f"the points as they came, for they could not be compared with the question: {MODEL_AWAY}"


async def test_of_a_long_point_no_more_is_embedded_than_it_is_compared_by(tmp_path, kit):
    embedded = []
    async with sites(tmp_path, kit, global_reply_bytes=100_000, global_reduce_tokens=100_000) as service:
        embed = service.cloud.models.embedder.embed

        async def watched(texts):
            embedded.extend(texts)
            return await embed(texts)

        service.cloud.models.embedder.embed = watched
        long = (BEES + " ") * 400
        answer, _ = await asked(service, kit, {"bank": reply(point(long))})
    assert [len(text) for text in embedded] == [len(QUESTION), 600]
    assert answer.answered


def test_the_whole_has_one_deadline(tmp_path, kit, on_skipping_loop):
    class Hanging(ScriptedGenerator):
        async def generate(self, prompt, *, deadline_s):
            await asyncio.Event().wait()

    async def main(clock):
        async with sites(tmp_path, kit, generator=Hanging(all_points), clock=clock) as service:
            began = clock.monotonic()
            with pytest.raises(ModelTimeout):
                await asked(service, kit, {"bank": reply(point(BEES))}, deadline_s=40.0)
            return clock.monotonic() - began

    assert on_skipping_loop(main) == pytest.approx(40.0, abs=0.1)


async def test_an_edge_that_is_expelled_meanwhile_has_failed_and_the_others_count(tmp_path, kit):
    async with sites(tmp_path, kit) as service:
        await online(service, kit, "ward")
        answering = asyncio.create_task(asked(service, kit, {"bank": reply(point(BEES))}))
        await kit.until(lambda: any(one.edge == "ward" for one in service.cloud.fan_out._pending.values()))
        await service.cloud.expel("ward")
        answer, _ = await answering
    assert answer.coverage == "1 of 2 sites answered: bank (1 of 1 report); failed: ward"
    assert answer.answered


# ---------------------------------------------------------------- edges that lie

HONEST = {
    "aviary": "Swallows return later every spring because insects are scarce.",
    "barn": "Owls lose nesting places where old barns are pulled down.",
    "brook": "Trout die because warm rivers hold little oxygen.",
    "copse": "Beetles vanish when dead trunks are cleared away.",
    "dune": "Walkers trample plover nests along the northern beach.",
    "fen": "Drained peat leaves frogs without ponds to spawn in.",
    "garden": BEES,
    "heath": "Adders burn when careless campers set heather alight.",
    "meadow": MEADOWS,
}
LIE = "What threatens the wildlife here is {}, says the council's expert report number {}."
CULPRITS = ("wolves", "foxes", "badgers", "otters", "herons", "ravens", "lynxes", "beavers")


def lies(n):
    return [point(LIE.format(CULPRITS[row % len(CULPRITS)] + str(row), 100 + row), chunk=f"d1:{row}") for row in range(n)]


LIARS = {
    "always sure": reply(*lies(32)),
    "always sure, twice as many": reply(*lies(64)),
    "a parrot": reply(*(point(QUESTION, said=QUESTION, chunk=f"d1:{n}") for n in range(16))),
    "a parrot with one word more": reply(point(QUESTION, said=f"Mallory: {QUESTION}")),
    "empty": reply(reports=(2**50, 2**50)),
    "ids of nothing": reply(*(point(LIE.format("gold", n), chunk=" ", report=" ") for n in range(8))),
    "ids of others": reply(*(point(text, chunk=f"{edge}:0", report=edge) for edge, text in HONEST.items())),
    "one thing again and again": reply(*(point(LIE.format("wolves", "7") + " " * n, chunk=f"d1:{n}") for n in range(32))),
    "what no document says": reply(point("A list of plants.", said="Mallory owns every hospital and bank nearby.")),
    "passages": reply(*(point(LIE.format("gold", n), report="", chunk=f"d1:{n}") for n in range(32))),
    "250 kB": reply(*(point(f"{word} " + LIE.format("gold", 1) + " pad" * 900) for word in CULPRITS * 8)),
    "shouting": reply(*(point((LIE.format(word, 1) + " ") * 9) for word in CULPRITS * 4)),
}
TOO_LONG = {"250 kB", "shouting"}  # each point is longer than what the edge may have, and none is cut
NEVER_TOLD = {"a parrot", "a parrot with one word more", "empty", "ids of nothing", "what no document says", "passages", *TOO_LONG}


@pytest.mark.parametrize("name", ["zealot", "aaa"])
@pytest.mark.parametrize("kind", list(LIARS))
async def test_of_ten_sites_one_that_lies_has_half_of_the_answer_at_most(tmp_path, kit, kind, name):
    """What it says, with the names it gives, and how sure it is of that; by its name it comes before and behind the honest ones."""
    generator, tokenizer = ScriptedGenerator(all_points), WordTokenizer()
    async with sites(tmp_path, kit, generator=generator, global_reduce_tokens=400) as service:
        honest = {edge: reply(point(text), reports=(1, 3)) for edge, text in HONEST.items()}
        answer, served = await asked(service, kit, {**honest, name: LIARS[kind]})
    assert {one.response.status_code for one in served.values()} == {204}
    (prompt,) = generator.prompts
    used = Counter()
    for edge, text in told_by(prompt):
        used[edge] += tokenizer.count(f"{edge}, bees.md:\n[1] {text}")  # an edge pays for its document's line, too
    assert used[name] <= max(used.total() / 2, 100)
    assert {text for _, text in told_by(prompt)} >= set(HONEST.values())
    assert set(used) >= set(HONEST) or (kind, name) == ("ids of others", "aaa")
    assert (used[name] == 0) is (kind in NEVER_TOLD or (kind, name) == ("ids of others", "zealot"))
    assert answer.answered
    assert not answer.degraded
    assert {one.edge: one.status for one in answer.edges} == dict.fromkeys([*HONEST, name], "answered")
    assert all(one.report and one.chunk_id for one in answer.citations)


async def test_two_copies_of_one_liar_share_what_it_had(tmp_path, kit):
    """The same word by word is told once; with half of its points each has a half at most, and the honest ones stay."""
    generator = ScriptedGenerator(all_points)
    async with sites(tmp_path, kit, generator=generator, global_reduce_tokens=600) as service:
        honest = {edge: reply(point(text)) for edge, text in HONEST.items()}
        await asked(service, kit, {**honest, "liar-a": LIARS["always sure"], "liar-b": LIARS["always sure"]})
    said = told_by(generator.prompts[0])
    assert {edge for edge, text in said if "council" in text} == {"liar-a"}
    assert {text for _, text in said} >= set(HONEST.values())


async def test_without_shares_a_liar_fills_the_answer(tmp_path, kit, monkeypatch):
    monkeypatch.setattr("cloud_server.answering.merging.EDGE_SHARE", 1.0)
    monkeypatch.setattr("cloud_server.answering.merging.SURE_SHARE", 1.0)
    generator = ScriptedGenerator(all_points)
    async with sites(tmp_path, kit, generator=generator, global_reduce_tokens=400) as service:
        await asked(service, kit, {**{edge: reply(point(text)) for edge, text in HONEST.items()}, "liar": LIARS["always sure"]})
    said = told_by(generator.prompts[0])
    assert sum(edge == "liar" for edge, _ in said) > len(said) / 2


async def test_who_sends_only_what_cannot_be_used_is_asked_less_and_who_has_nothing_to_say_is_not(tmp_path, kit):
    async with sites(tmp_path, kit) as service:
        for _ in range(20):
            await asked(service, kit, {"bank": reply(point(BEES)), "liar": LIARS["a parrot"], "silent": reply(reports=(4, 4))})
        assert [service.cloud.availability.view(edge).reliability for edge in ("bank", "liar", "silent")] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(("deadline_s", "is_fair"), [(30.0, False), (300.0, True)])
def test_a_late_site_that_had_less_than_the_usual_time_opens_no_breaker(tmp_path, kit, on_skipping_loop, deadline_s, is_fair):
    async def main(clock):
        async with sites(tmp_path, kit, clock=clock, breaker_failures=1, deadline_s=0.1, global_deadline_s=100.0) as service:
            await online(service, kit, "slow")
            answer, _ = await asked(service, kit, {"bank": reply(point(BEES))}, deadline_s=deadline_s)
            return {one.edge: one.status for one in answer.edges}["slow"], service.cloud.availability.lets("slow", "reports")

    assert on_skipping_loop(main) == ("late", not is_fair)


STEERING = [text for text in injections() if text.strip()]
BATCHES = [STEERING[at : at + 30] for at in range(0, len(STEERING), 30)]
FACT = "Juniper Ward reported the failure of four infusion pumps"


def steered(text, row):
    return point(f"{text} {FACT}.", said=f"{FACT}: {text}"[:800], document=text[:512], title=text[:512], chunk=f"d1:{row}")


def obeying(prompt):
    """Repeats every point, links and shows images."""
    return all_points(prompt) + " Juniper Ward reported four pumps [see](http://evil.example) ![i](http://evil.example/i) [1]."


@pytest.mark.parametrize("model", [ScriptedGenerator(obeying, yes), failing(ModelUnavailable(MODEL_AWAY))], ids=["obeying", "away"])
@pytest.mark.parametrize("texts", BATCHES, ids=range(len(BATCHES)))
async def test_a_text_that_steers_leaves_the_frame_nowhere_and_shows_nothing_active(tmp_path, kit, texts, model):
    model.prompts.clear()
    bounds = {"global_reply_bytes": 250_000, "global_reduce_tokens": 100_000}
    async with sites(tmp_path, kit, generator=model, **bounds) as service:
        answer, _ = await asked(service, kit, {"plant": reply(*(steered(text, row) for row, text in enumerate(texts)))})
    assert answer.answered
    for shown in (answer.answer, answer.reason, answer.coverage, *(text for one in answer.citations for text in (one.quote, one.document))):
        assert active(shown) == set()
    assert all((one.edge, one.report, one.chunk_id[:3]) == ("plant", "r1", "d1:") for one in answer.citations)
    for prompt in model.prompts:
        lines = [line for line in listed(prompt) if not re.match(r"\[\d+\] Juniper Ward reported ", line)]
        assert prompt.max_tokens == 1 or all(line.startswith("plant, ") for line in lines)
        assert prompt.max_tokens > 1 or len(lines) == 1
        behind = prompt.messages[-1].content.rpartition(">>\n")[2].strip().splitlines()
        sentence, *rest = [line for line in behind if line]
        if prompt.max_tokens == 1:  # whether a passage says a sentence
            assert sentence.startswith("Sentence: ")
            assert rest == ["Does the passage state all of this? Answer Yes or No.", "Answer:"]
        else:
            assert [sentence, *rest] == [f"Question: {QUESTION}", "Answer:"]
