"""What a crash left between two steps, and damage to it: the document is read again, not finished without what it lost."""

import pytest

from edge_node.database.schema import Database
from edge_node.documents.jobs import JobQueue
from edge_node.documents.store import DocumentStore
from edge_node.maintenance import open_store
from shared.ports import SystemClock
from tests.support.storing import serve


@pytest.mark.parametrize("damaged", [True, False])
def test_a_committed_document_that_lost_a_chunk_before_its_settle_is_read_again(tmp_path, damaged):
    database = Database(tmp_path / "edge.db")
    accepted = DocumentStore(database, SystemClock()).accept("a.md", b"text", reader="a.md")
    JobQueue(database, SystemClock()).take_next(())
    serve(database, accepted.document_id)
    if damaged:
        with database.write() as tx:
            tx.execute("UPDATE chunks SET text = 'another text'")
    database.close()
    mended = open_store(tmp_path / "edge.db", SystemClock())
    committed = JobQueue(mended, SystemClock()).recover()
    assert committed == (() if damaged else (accepted.job_id,))
    mended.close()
