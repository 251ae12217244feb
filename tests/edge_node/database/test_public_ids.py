import pytest

from edge_node.database.public_ids import PublicIds
from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore
from tests.support.storing import SetClock


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "edge.db")
    yield opened
    opened.close()


def test_an_id_is_opened_again_and_one_of_no_document_is_not(database):
    known = [DocumentStore(database, SetClock()).accept(name, b"pump", reader="a.md").document_id for name in "abc"]
    ids = PublicIds(database)
    assert [ids.opened(ids.of(identity)) for identity in known] == known
    assert (ids.opened(known[0]), ids.opened("")) == (None, None)


def test_a_store_keeps_its_secret_and_another_one_has_another(database, tmp_path):
    other = Database(tmp_path / "other.db")
    assert PublicIds(database).of("d") == PublicIds(database).of("d") != PublicIds(other).of("d")
    other.close()


def test_a_report_has_an_id_of_the_store_that_is_no_documents_and_none_has_none(database, tmp_path):
    ids, other = PublicIds(database), Database(tmp_path / "other.db")
    told = ids.of_report("c0ffee")
    assert (told, ids.of_report("")) == (PublicIds(database).of_report("c0ffee"), "")
    assert len({told, "c0ffee", ids.of("c0ffee"), ids.of_report("c0ffed"), PublicIds(other).of_report("c0ffee")}) == 5
    other.close()


def test_a_chunk_keeps_its_number(database):
    ids = PublicIds(database)
    assert ids.of_chunk("d:12") == f"{ids.of('d')}:12"
