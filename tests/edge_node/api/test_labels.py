"""Other labels for a document that is here: who may give them, and what leaves under them."""

import asyncio

import pytest

from edge_node.documents.changing import relabel
from shared.errors import NotFound
from shared.models.fake import HashEmbedder
from tests.support.federation import PLANT, REFUSAL, WARD, federation
from tests.support.running_edge import running_edge
from tests.support.waiting import until

PATIENTS = 'version = 1\n[labels]\npatients = "never"\npublic = "full"\n'


async def labelled(edge, document, labels):
    return await edge.http.put(f"/v1/documents/{document}/labels", json={"labels": labels})


async def test_a_document_gets_other_labels_by_either_id_and_is_told_what_may_leave(tmp_path):
    async with running_edge(tmp_path) as edge:
        (tmp_path / "policy.toml").write_text(PATIENTS)
        document = (await edge.add("a.md", "Juniper Ward has a pump.", labels=["public"]))["document_id"]
        outside = edge.node.sharing.outside_ids.of(document)
        for identity, labels, share, unnamed in (
            (document, ["patients", "public"], "never", []),
            (outside, ["strange"], "never", ["strange"]),
            (document, ["public"], "full", []),
        ):
            told = (await labelled(edge, identity, labels)).json()
            assert told == {"document_id": document, "labels": labels, "share": share, "unnamed_labels": unnamed}
            assert (await edge.http.get(f"/v1/documents/{document}")).json()["labels"] == labels
        assert (await edge.http.get(f"/v1/documents/{document}")).json()["status"] == "indexed"


@pytest.mark.parametrize(
    ("body", "status"), [({"labels": [""]}, 422), ({"labels": ["a" * 65]}, 422), ({}, 422), ({"labels": ["a"] * 33}, 422)]
)
async def test_labels_that_cannot_be_are_refused_and_an_unknown_document_is_not_found(tmp_path, body, status):
    async with running_edge(tmp_path) as edge:
        document = (await edge.add("a.md", "A pump."))["document_id"]
        assert (await edge.http.put(f"/v1/documents/{document}/labels", json=body)).status_code == status
        assert (await labelled(edge, "nothing", [])).status_code == 404


@pytest.mark.parametrize("label", ["ward 7, night", " ward", "ward\t", ",", " "])
async def test_a_label_with_a_comma_or_outer_blanks_is_refused_with_words_and_one_that_a_store_has_is_read(tmp_path, label):
    async with running_edge(tmp_path) as edge:
        document = edge.node.documents.accept("a.md", b"A pump.", reader="text.txt", labels=(label,)).document_id
        for refused in (
            await labelled(edge, document, [label]),
            await edge.http.post("/v1/documents", json={"name": "b.md", "text": "A pump.", "labels": [label]}),
        ):
            assert (refused.status_code, "a label has no comma" in refused.json()["detail"]) == (422, True)
        assert (await edge.http.get(f"/v1/documents/{document}")).json()["labels"] == [label]
        assert (await labelled(edge, document, ["ward 7", "night"])).status_code == 200


async def test_a_document_that_is_damaged_keeps_its_labels(tmp_path):
    async with running_edge(tmp_path) as edge:
        document = (await edge.add("a.md", "A pump."))["document_id"]
        with edge.node.documents.database.write() as tx:
            tx.execute("UPDATE documents SET title = 'other'")
        assert (await labelled(edge, document, ["public"])).status_code == 409


class Waiting(HashEmbedder):
    """The text of a new version waits until it may go on."""

    def __init__(self):
        super().__init__()
        self.may_go = asyncio.Event()

    async def embed(self, texts):
        if any("new version" in text for text in texts):
            await self.may_go.wait()
        return await super().embed(texts)


@pytest.mark.parametrize("sent_with", [{}, {"labels": ["public"]}])
@pytest.mark.parametrize("of_waiting", [False, True])
async def test_labels_are_those_of_the_name_and_no_version_that_waits_undoes_them(tmp_path, sent_with, of_waiting):
    embedder = Waiting()
    async with running_edge(tmp_path, embedder=embedder) as edge:
        old = (await edge.add("a.md", "The old version."))["document_id"]
        new = (await edge.http.post("/v1/documents", json={"name": "a.md", "text": "The new version.", **sent_with})).json()["document_id"]
        assert (await labelled(edge, new if of_waiting else old, ["patients"])).status_code == 200
        versions = edge.node.documents.list(limit=9)
        assert [(one["document_id"], one["labels"], one["served"]) for one in versions] == [
            (old, ["patients"], True),
            (new, ["patients"], False),
        ]
        embedder.may_go.set()
        await edge.settled()
        (left,) = edge.node.documents.list(limit=9)
        assert (left["document_id"], left["labels"], left["served"], left["status"]) == (new, ["patients"], True, "indexed")
        assert edge.node.sharing.beyond(frozenset()) == {new}


async def test_labels_that_change_while_a_document_gets_another_name_are_kept_or_refused(tmp_path, monkeypatch):
    async with running_edge(tmp_path) as edge:
        document = (await edge.add("a.md", "Juniper Ward has a pump."))["document_id"]
        database, wake = edge.node.documents.database, edge.node.worker.wake
        monkeypatch.setattr("edge_node.node.require_space", lambda *_, **__: relabel(database, document, ["secret"]))  # before it is there

        def woken():  # after it is there
            with pytest.raises(NotFound):
                relabel(database, document, ["late"])
            wake()

        monkeypatch.setattr(edge.node.worker, "wake", woken)
        assert (await edge.http.put(f"/v1/documents/{document}/name", json={"name": "b.md"})).status_code == 202
        await edge.settled()
        (view,) = edge.node.documents.list(limit=2)
        assert (view["name"], view["labels"], view["status"]) == ("b.md", ["secret"], "indexed")


async def test_what_was_shared_under_the_former_labels_is_withdrawn_from_the_cloud_and_is_not_served_again(tmp_path):
    sites = {"ward": (WARD, REFUSAL), "plant": (PLANT, "Lot L-7713 caused it [1].")}
    async with federation(tmp_path, cloud_answer="Lot L-7713 of the battery pack caused it [1].", edge_answers=sites) as (edges, _, cloud):
        plant, question = edges["plant"], "Which lot of the battery pack caused the failure of infusion pumps?"
        (tmp_path / "plant" / "policy.toml").write_text(PATIENTS)
        before = await edges["ward"].ask(question)
        assert {one["edge"]: one["status"] for one in before["edges"]}["plant"] == "answered"
        (document,) = plant.node.documents.list(limit=2)
        assert (await labelled(plant, document["document_id"], ["patients"])).json()["share"] == "never"
        refused = await edges["ward"].ask(question, memory=False)  # at once, before anything is made anew
        assert "L-7713" not in refused["answer"]
        await until(lambda: not [one for edge in cloud.edges() if edge.edge == "plant" for one in range(edge.summaries)])
