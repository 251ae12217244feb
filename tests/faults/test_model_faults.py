"""A model that misbehaves in twelve ways (R8), and an embedding model that does (R12): nothing is lost, blocked or paid twice."""

import contextlib
from itertools import pairwise

import numpy as np
import pytest

import edge_node.build
from edge_node.database.replies import ReplyCache
from edge_node.database.schema import Database
from edge_node.documents import progress
from edge_node.documents.store import DocumentStore
from edge_node.extraction.extractor import Extractor
from edge_node.extraction.model_extraction import ModelExtractor
from edge_node.extraction.nlp import SpacyExtractor
from edge_node.records import silent
from shared.errors import ModelError, ModelReplyError, ModelTimeout, ModelUnavailable
from shared.limits import RetryBudget
from shared.models.fake import HashEmbedder
from shared.models.openai_compatible import OpenAIGenerator
from shared.ports import SystemClock
from shared.records import Chunk, ChunkId, DocumentId
from tests.faults.model_server import PROFILES, RETRY_AFTER_S, about, always, first, model_server, never
from tests.support.running_edge import running_edge

pytestmark = pytest.mark.process
AWAY = {"429", "500", "hang", "drip"}  # the model gives no answer; with the other profiles it gives a bad one
NAMES = [
    "Alder",
    "Birch",
    "Cedar",
    "Damson",
    "Elder",
    "Fir",
    "Gorse",
    "Hazel",
    "Ivy",
    "Juniper",
    "Kapok",
    "Larch",
    "Maple",
    "Nutmeg",
    "Oak",
    "Pine",
    "Quince",
    "Rowan",
    "Sorrel",
    "Tamarind",
]
NO_BUDGET = {"share": 0.0, "reserve": 10**6}  # the null control: as if every repeat were free


def text_about(name):
    return f"{name} Ward keeps the {name} Pump. {name} Ward reports to Doctor {name}son."


def bound(server):
    """R8: attempts that a server may see."""
    return 1.2 * server.base + 10


def gaps(calls):
    """Seconds between one call and the next."""
    return [later.at - earlier.at for earlier, later in pairwise(calls)]


# ---------------------------------------------------------------- the extractor, over HTTP


class Bench:
    """The model's side of a write path: extractor, kept replies, budget, and a client of the server."""

    def __init__(self, folder, server, http, *, deadline_s, retries):
        self.database = Database(folder / "edge.db")
        self.documents = DocumentStore(self.database, SystemClock())
        self.server = server
        self.retries = retries
        generator = OpenAIGenerator(http, model="m", retry_wait_s=0.0, retries=retries)
        spacy = SpacyExtractor()
        memories = ReplyCache(generator, self.database, SystemClock())
        self.extractor = Extractor(spacy, ModelExtractor(memories, spacy, deadline_s=deadline_s), 1.0, retries)

    def chunks(self, name, texts):
        document = DocumentId(self.documents.accept(name, name.encode(), reader="text").document_id)
        return [Chunk(ChunkId(f"{document}:{n}"), document, n, text, 0, len(text), 20) for n, text in enumerate(texts)]

    async def extract(self, chunks):
        """What comes of a document in up to three attempts, as the worker makes them: the result, or the last error."""
        for attempt in (1, 2, 3):
            try:
                return await self.extractor.extract(chunks, silent)
            except ModelReplyError as error:
                return error
            except ModelError as error:
                if attempt == 3 or not self.retries.take():
                    return error
        raise AssertionError

    def kept(self):
        return self.database.row("SELECT count(*) AS n FROM llm_results")["n"]


@contextlib.asynccontextmanager
async def bench(folder, profile, faulty, *, deadline_s=120.0, **budget):
    async with model_server(profile, faulty) as server, server.client() as http:
        made = Bench(folder, server, http, deadline_s=deadline_s, retries=RetryBudget(**budget))
        yield made
        made.database.close()


def deadline_s(profile):
    return 0.1 if profile in {"hang", "drip"} else 120.0


@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - {"429", "hang", "drip"}))
async def test_a_bad_server_is_asked_little_more_than_a_good_one(tmp_path, profile):
    async with bench(tmp_path, profile, always) as tested:
        ended = [await tested.extract(tested.chunks(name, [text_about(name)])) for name in NAMES]
        assert len(tested.server.calls) <= bound(tested.server)
        assert tested.server.base == len(NAMES)
        assert tested.kept() == 0
    for outcome in ended:
        if profile in AWAY:
            assert isinstance(outcome, ModelTimeout | ModelUnavailable)
            assert outcome.chunk_id
            assert outcome.next_step
        else:
            assert [shortfall.code for shortfall in outcome.shortfalls] == ["model_reply_error"]
            assert outcome.relations


@pytest.mark.parametrize("profile", ["500", "refusal", "nan"])
async def test_without_the_budget_a_bad_server_is_asked_far_more_often(tmp_path, profile):
    async with bench(tmp_path, profile, always, **NO_BUDGET) as tested:
        for name in NAMES:
            await tested.extract(tested.chunks(name, [text_about(name)]))
        assert len(tested.server.calls) > bound(tested.server)


@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - {"429"}))
async def test_one_bad_answer_is_mended_by_the_next(tmp_path, profile):
    async with bench(tmp_path, profile, first(1), deadline_s=deadline_s(profile)) as tested:
        extracted = await tested.extract(tested.chunks("one", [text_about("Alder")]))
        assert extracted.shortfalls == ()
        assert any("stands beside" in relation.keywords for relation in extracted.relations)
        assert (len(tested.server.calls), tested.kept()) == (2, 1)


async def test_a_server_that_asks_for_time_gets_it(tmp_path):
    async with bench(tmp_path, "429", first(2)) as tested:
        extracted = await tested.extract(tested.chunks("one", [text_about("Alder")]))
        assert extracted.shortfalls == ()
        assert min(gaps(tested.server.calls)) >= RETRY_AFTER_S


async def test_a_time_beyond_the_deadline_goes_to_who_can_wait(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.faults.model_server.RETRY_AFTER_S", 120)
    async with bench(tmp_path, "429", always, deadline_s=60.0) as tested:
        with pytest.raises(ModelUnavailable) as caught:
            await tested.extractor.extract(tested.chunks("one", [text_about("Alder")]), silent)
        assert (caught.value.retry_after_s, len(tested.server.calls)) == (120, 1)


@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - AWAY))
async def test_one_bad_passage_of_a_document_blocks_nothing(tmp_path, profile):
    async with bench(tmp_path, profile, about("Fir Ward")) as tested:
        extracted = await tested.extract(tested.chunks("one", [text_about(name) for name in NAMES]))
        assert [shortfall.chunk_id[-2:] for shortfall in extracted.shortfalls] == [":5"]
        assert {mention.chunk_id for mention in extracted.relations if mention.keywords == ("stands beside",)} == {
            mention.chunk_id for mention in extracted.entities if not mention.chunk_id.endswith(":5")
        }
        assert len(tested.server.calls) == len(NAMES) + 1


async def test_one_bad_passage_of_120_blocks_nothing(tmp_path):
    async with bench(tmp_path, "refusal", about("Rowan Ward 57")) as tested:
        texts = [text_about(NAMES[n % 20]).replace("Ward", f"Ward {n}") for n in range(120)]
        extracted = await tested.extract(tested.chunks("one", texts))
        assert [shortfall.chunk_id.partition(":")[2] for shortfall in extracted.shortfalls] == ["57"]
        assert (tested.kept(), len(tested.server.calls)) == (119, 121)
        tested.server.faulty = never
        assert (await tested.extract(tested.chunks("one", texts))).shortfalls == ()
        assert len(tested.server.calls) == 122


@pytest.mark.parametrize("profile", sorted(AWAY - {"429"}))
async def test_a_second_attempt_repeats_no_finished_call(tmp_path, profile):
    async with bench(tmp_path, profile, about("Damson Ward"), deadline_s=1.0) as tested:
        chunks = tested.chunks("one", [text_about(name) for name in NAMES[:6]])
        error = await tested.extract(chunks)
        assert error.chunk_id.endswith(":3")
        tested.server.faulty = never
        extracted = await tested.extract(chunks)
        assert extracted.shortfalls == ()
        assert {len(tested.server.about(f"{name} Ward")) for name in NAMES[:6] if name != "Damson"} == {1}
        calls = len(tested.server.calls)
        assert (await tested.extract(chunks)).relations == extracted.relations
        assert len(tested.server.calls) == calls


@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - AWAY))
async def test_a_bad_answer_is_never_kept(tmp_path, profile):
    async with bench(tmp_path, profile, always) as tested:
        chunks = tested.chunks("one", [text_about("Alder")])
        assert (await tested.extract(chunks)).shortfalls
        tested.server.faulty = never
        assert (await tested.extract(chunks)).shortfalls == ()


async def test_without_the_check_a_bad_answer_is_kept_and_served_for_ever(tmp_path, monkeypatch):
    """The null control: everything that is not blank counts as usable where replies are kept, as a cache without a check has it."""
    checked = ReplyCache.generate

    async def unchecked(self, prompt, *, deadline_s, usable, document):
        return await checked(self, prompt, deadline_s=deadline_s, document=document)

    monkeypatch.setattr(ReplyCache, "generate", unchecked)
    async with bench(tmp_path, "refusal", always) as tested:
        chunks = tested.chunks("one", [text_about("Alder")])
        await tested.extract(chunks)
        tested.server.faulty = never
        assert (await tested.extract(chunks)).shortfalls


async def test_a_model_that_refuses_everything_is_named_as_the_cause(tmp_path):
    async with bench(tmp_path, "refusal", always) as tested:
        error = await tested.extract(tested.chunks("one", [text_about(name) for name in NAMES]))
        assert isinstance(error, ModelReplyError)
        assert (error.chunk_id[-2:], bool(error.next_step)) == (":0", True)


# ---------------------------------------------------------------- a whole edge


@contextlib.asynccontextmanager
async def edge_with(folder, server, *, model_deadline_s=10.0, budget=None, **settings):
    retries = RetryBudget(**(budget or {}))
    async with server.client() as http:
        generator = OpenAIGenerator(http, model="m", retry_wait_s=0.0, retries=retries)
        chosen = {"strategy": "dgrag", "extraction_share": 1.0, "model_deadline_s": model_deadline_s, **settings}
        async with running_edge(folder, generator=generator, retries=retries, **chosen) as edge:
            yield edge


@pytest.fixture
def no_waits(monkeypatch):
    """An edge waits up to a minute between attempts at a model that is away; here it waits only as long as the server asks."""
    monkeypatch.setattr(progress, "LONGEST_WAIT_S", 0.01)


async def send(edge, name, text):
    response = await edge.http.post("/v1/documents", json={"name": name, "text": text})
    assert response.status_code == 202, response.text
    return response.json()["document_id"]


async def ends(edge, documents):
    """Every document, once all are at their end."""
    await edge.settled()
    return [(await edge.http.get(f"/v1/documents/{document}")).json() for document in documents]


@pytest.mark.parametrize(("profile", "faulty"), [(profile, first(3) if profile == "429" else always) for profile in PROFILES], ids=PROFILES)
@pytest.mark.usefixtures("no_waits")
async def test_twenty_documents_end_whatever_the_model_does(tmp_path, profile, faulty):
    async with model_server(profile, faulty) as server, edge_with(tmp_path, server, model_deadline_s=deadline_s(profile)) as edge:
        documents = await ends(edge, [await send(edge, name, text_about(name)) for name in NAMES])
        assert (server.base, len(server.calls) <= bound(server)) == (len(NAMES), True)
        for document in documents:
            assert document["attempts"] >= 1
            if profile in AWAY - {"429"}:
                assert (document["status"], document["failed_chunk"]) == ("parked", f"{document['document_id']}:0")
                assert document["code"] in {"model_timeout", "model_unavailable"}
                assert document["next_step"]
            else:
                told = [] if profile == "429" else ["model_reply_error"]
                assert (document["status"], [shortfall["code"] for shortfall in document["shortfalls"]]) == ("indexed", told)


@pytest.mark.usefixtures("no_waits")
async def test_an_edge_leaves_a_busy_server_alone_as_long_as_it_asks(tmp_path):
    """No repeat is allowed, so the refused document is parked at once: the next one must wait too."""
    budget = {"share": 0.0, "reserve": 0}
    async with model_server("429", first(3)) as server, edge_with(tmp_path, server, budget=budget) as edge:
        documents = await ends(edge, [await send(edge, name, text_about(name)) for name in NAMES[:4]])
        assert [document["status"] for document in documents] == ["parked"] * 3 + ["indexed"]
        assert min(gaps(server.calls)) >= RETRY_AFTER_S


@pytest.mark.usefixtures("no_waits")
async def test_without_the_budget_an_edge_asks_a_failing_server_far_more_often(tmp_path):
    async with model_server("500", always) as server, edge_with(tmp_path, server, budget=NO_BUDGET) as edge:
        await ends(edge, [await send(edge, name, text_about(name)) for name in NAMES[:4]])
        assert len(server.calls) > bound(server)


@pytest.mark.usefixtures("no_waits")
async def test_a_document_that_is_sent_again_repeats_no_finished_call(tmp_path):
    text = "\n\n".join(text_about(name) for name in NAMES[:6])
    settings = {"chunk_tokens": 16, "chunk_overlap": 0}
    async with model_server("500", about("Damson Ward")) as server, edge_with(tmp_path, server, **settings) as edge:
        (parked,) = await ends(edge, [await send(edge, "one", text)])
        assert (parked["status"], parked["code"]) == ("parked", "model_unavailable")
        finished = {call.question for call in server.calls if call.good}
        server.faulty = never
        (done,) = await ends(edge, [await send(edge, "one", text)])
        assert (done["status"], done["shortfalls"]) == ("indexed", [])
        assert all(len([call for call in server.calls if call.question == question]) == 1 for question in finished)


async def test_a_deleted_documents_replies_go_with_it(tmp_path):
    async with model_server() as server, edge_with(tmp_path, server) as edge:
        document = (await edge.add("one", text_about("Alder")))["document_id"]
        database = edge.node.documents.database
        assert database.row("SELECT count(*) AS n FROM llm_results")["n"] == 1
        assert (await edge.http.delete(f"/v1/documents/{document}")).status_code == 200
        assert database.row("SELECT count(*) AS n FROM llm_results")["n"] == 0


# ---------------------------------------------------------------- the embedding model


class BadEmbedder(HashEmbedder):
    """Gives bad rows for texts of one ward, good ones for all others."""

    def __init__(self, spoil):
        super().__init__()
        self.spoil = spoil

    async def embed(self, texts):
        rows = await super().embed(texts)
        return self.spoil(rows) if any("Cedar" in text for text in texts) else rows


SPOILT = {
    "nan": lambda rows: rows * np.float32("nan"),
    "inf": lambda rows: np.full_like(rows, np.inf),
    "zero": lambda rows: rows * np.float32(0),
    "not of norm 1": lambda rows: rows * np.float32(7),
    "wrong dimension": lambda rows: rows[:, :32],
    "one dimension": lambda rows: rows[:, :1],
    "a row too few": lambda rows: rows[:-1],
}


def stored_vectors(edge):
    return edge.node.documents.database.row("SELECT count(*) AS n FROM vectors")["n"]


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
async def test_a_document_with_bad_vectors_is_parked_and_none_is_stored(tmp_path, spoil):
    async with running_edge(tmp_path, embedder=BadEmbedder(spoil)) as edge:
        (job,) = await ends(edge, [await send(edge, "one", text_about("Cedar"))])
        assert (job["status"], job["code"], stored_vectors(edge)) == ("parked", "model_reply_error", 0)
        assert "embedding model" in job["reason"]
        assert job["next_step"]
        (good,) = await ends(edge, [await send(edge, "two", text_about("Alder"))])
        assert (good["status"], stored_vectors(edge)) == ("indexed", 1)


async def test_without_the_check_bad_vectors_are_stored(tmp_path, monkeypatch):
    """The null control."""
    monkeypatch.setattr(edge_node.build, "CheckedEmbedder", lambda embedder: embedder)
    async with running_edge(tmp_path, embedder=BadEmbedder(SPOILT["nan"])) as edge:
        await ends(edge, [await send(edge, "one", text_about("Cedar"))])
        assert stored_vectors(edge) == 1


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
async def test_a_question_with_a_bad_vector_gets_a_clear_error(tmp_path, spoil):
    async with running_edge(tmp_path, embedder=BadEmbedder(spoil)) as edge:
        await edge.add("two", text_about("Alder"))
        response = await edge.http.post("/v1/query", json={"question": "Who keeps the Cedar Pump?"})
        assert (response.status_code, response.json()["code"]) == (502, "model_reply_error")
