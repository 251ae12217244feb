"""Kept replies: whose they are, and which are never kept."""

import pytest

from edge_node.database import replies
from edge_node.database.replies import ReplyCache, delete_replies, prompt_hash, usage
from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore
from shared.errors import DiskFull
from shared.models.fake import ScriptedGenerator
from shared.ports import Message, Prompt, SystemClock

ASK = Prompt((Message("user", "which ward?"),), max_tokens=5)


class Store:
    """A database with two documents, and a model that answers in turn, then with its last answer."""

    def __init__(self, folder):
        self.database = Database(folder / "edge.db")
        documents = DocumentStore(self.database, SystemClock())
        self.one, self.two = (documents.accept(name, name.encode(), reader="text").document_id for name in ("one", "two"))

    def model(self, *texts):
        left = list(texts)
        self.inner = ScriptedGenerator(lambda prompt: left.pop(0) if len(left) > 1 else left[0])
        return ReplyCache(self.inner, self.database, SystemClock())

    @property
    def calls(self):
        return len(self.inner.prompts)

    def kept(self):
        return [row["reply"] for row in self.database.rows("SELECT reply FROM llm_results ORDER BY reply")]

    def sources(self):
        return [row["document_id"] for row in self.database.rows("SELECT document_id FROM llm_sources")]

    def delete_replies(self, document):
        with self.database.write() as tx:
            delete_replies(tx, document)

    def execute(self, sql, *values):
        with self.database.write() as tx:
            tx.execute(sql, values)


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.database.close()


async def test_a_reply_goes_with_its_document(store):
    await store.model("Juniper Ward").generate(ASK, deadline_s=1, document=store.one)
    assert store.sources() == [store.one]
    store.delete_replies(store.one)
    assert (store.kept(), store.sources()) == ([], [])


async def test_a_reply_of_two_documents_goes_with_the_last(store):
    model = store.model("Juniper Ward")
    await model.generate(ASK, deadline_s=1, document=store.one)
    await model.generate(ASK, deadline_s=1, document=store.two)
    assert store.calls == 1
    store.delete_replies(store.one)
    assert store.kept() == ['["Juniper Ward"]']
    store.delete_replies(store.two)
    assert store.kept() == []


async def test_a_documents_second_use_of_a_reply_is_noted_once(store):
    model = store.model("Juniper Ward")
    for _ in range(3):
        await model.generate(ASK, deadline_s=1, document=store.one)
    assert store.sources() == [store.one]


async def test_sources_go_with_the_documents_row(store):
    await store.model("Juniper Ward").generate(ASK, deadline_s=1, document=store.one)
    store.execute("DELETE FROM documents WHERE document_id = ?", store.one)
    assert store.sources() == []
    store.delete_replies(store.one)
    assert store.kept() == []


async def test_nothing_is_kept_for_a_document_that_was_deleted_while_the_model_wrote(store):
    model = store.model("Juniper Ward")
    store.inner._reply = lambda _: store.execute("DELETE FROM documents WHERE document_id = ?", store.one) or "Juniper Ward"
    reply = await model.generate(ASK, deadline_s=1, document=store.one)
    assert reply.texts == ("Juniper Ward",)
    assert (store.kept(), store.sources()) == ([], [])


async def test_a_reply_of_no_document_goes_with_the_next_document_that_is_deleted(store):
    model = store.model("Juniper Ward")
    await model.generate(ASK, deadline_s=1)
    await model.generate(Prompt((Message("user", "whose?"),), 5), deadline_s=1, document=store.one)
    assert len(store.kept()) == 2
    store.delete_replies(store.one)
    assert (store.kept(), store.sources()) == ([], [])


async def test_a_reply_that_is_not_usable_is_returned_and_never_kept(store):
    model = store.model("I cannot say.", "Juniper Ward")
    answers = [(await model.generate(ASK, deadline_s=1, usable=lambda text: "Ward" in text)).texts[0] for _ in range(3)]
    assert answers == ["I cannot say.", "Juniper Ward", "Juniper Ward"]
    assert store.calls == 2


async def test_without_the_check_a_bad_reply_would_be_kept(store):
    """The null control: with everything usable, the bad answer stands for ever."""
    model = store.model("I cannot say.", "Juniper Ward")
    answers = [(await model.generate(ASK, deadline_s=1)).texts[0] for _ in range(3)]
    assert answers == ["I cannot say."] * 3


async def test_a_kept_reply_that_is_no_longer_usable_is_asked_for_again_and_replaced(store):
    model = store.model("I cannot say.", "Juniper Ward")
    await model.generate(ASK, deadline_s=1)
    await model.generate(ASK, deadline_s=1, usable=lambda text: "Ward" in text)
    assert store.kept() == ['["Juniper Ward"]']


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE llm_results SET reply = '[\"Cedar Ward\"]'",
        "UPDATE llm_results SET crc = crc + 1",
        "UPDATE llm_results SET reply = ''",
        "UPDATE llm_results SET reply = CAST(x'ff00fe' AS TEXT)",
    ],
)
async def test_a_damaged_reply_is_not_served_and_is_replaced(store, damage):
    model = store.model("Juniper Ward")
    await model.generate(ASK, deadline_s=1, document=store.one)
    store.execute(damage)
    for _ in range(2):
        assert (await model.generate(ASK, deadline_s=1, document=store.one)).texts == ("Juniper Ward",)
    assert store.calls == 2


def test_how_a_question_is_sampled_is_no_part_of_it():
    assert prompt_hash(ASK) == prompt_hash(Prompt(ASK.messages, 5, temperature=0.3, seed=1))
    assert prompt_hash(ASK) != prompt_hash(Prompt(ASK.messages, 6))
    assert prompt_hash(ASK) != prompt_hash(Prompt(ASK.messages, 5, schema={"type": "object"}))


@pytest.fixture
def full(store, monkeypatch):
    """A disk that is full for replies, and can be emptied."""
    note, disk = ReplyCache._note, {"full": True}

    def fails(self, *given, **more):
        if disk["full"]:
            raise DiskFull("/state")
        note(self, *given, **more)

    monkeypatch.setattr(ReplyCache, "_note", fails)
    return disk


async def test_a_reply_that_a_full_disk_cannot_keep_is_returned_and_never_paid_twice(store, full, caplog):
    model = store.model("Juniper Ward")
    for _ in range(3):
        assert (await model.generate(ASK, deadline_s=1, document=store.one)).texts == ("Juniper Ward",)
    assert (store.calls, store.kept(), usage(store.database)["model_calls"]) == (1, [], 0)
    assert [record.message for record in caplog.records] == ["model replies are held in memory: disk_full"]
    full["full"] = False
    await model.generate(ASK, deadline_s=1, document=store.one)
    assert (store.calls, store.kept(), usage(store.database)["model_calls"]) == (1, ['["Juniper Ward"]'], 1)
    assert store.sources() == [store.one]


async def test_a_reply_in_memory_that_is_not_usable_is_asked_for_again(store, full):
    model = store.model("I cannot say.", "Juniper Ward")
    await model.generate(ASK, deadline_s=1)
    assert (await model.generate(ASK, deadline_s=1, usable=lambda text: "Ward" in text)).texts == ("Juniper Ward",)


async def test_no_more_replies_are_held_in_memory_than_fit(store, full, monkeypatch):
    monkeypatch.setattr(replies, "MAX_UNKEPT", 1)
    model, other = store.model("Juniper Ward"), Prompt((Message("user", "whose?"),), 5)
    for prompt in (ASK, other, ASK, other):
        await model.generate(prompt, deadline_s=1)
    assert store.calls == 3
