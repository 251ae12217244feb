"""A document that ends the process, each time that it is indexed, is set aside; an orderly stop is held against none."""

import subprocess
import sys

import pytest

from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore
from shared.ports import SystemClock

pytestmark = pytest.mark.process

LIFE = """
import asyncio, os, sys
from pathlib import Path
from edge_node.strategies.index import Index
from tests.support.running_edge import running_edge

folder, first = Path(sys.argv[1]), sys.argv[2] == "first"
add, begun, both = Index.add, [], asyncio.Event()

async def deadly(self, chunks, progress, turn):
    begun.append(chunks)
    if first and len(begun) == 2:
        both.set()
    if first:
        await both.wait()
    if "poison" in chunks[0].text:
        os._exit(9)
    if first:
        await asyncio.Event().wait()
    return await add(self, chunks, progress, turn)

async def life():
    async with running_edge(folder, workers=2, min_free_bytes=0) as edge:
        for text in ("innocent", "poison") if first else ():
            await edge.http.post("/v1/documents", json={"name": text, "text": text})
        await edge.settled()

Index.add = deadly
asyncio.run(life())
"""


@pytest.fixture
def live(tmp_path, root):
    def lived(which):
        command = [sys.executable, "-c", LIFE, str(tmp_path), which]
        return subprocess.run(command, cwd=root, capture_output=True, timeout=60, check=False).returncode

    return lived


def documents(folder):
    database = Database(folder / "edge.db")
    found = {view["name"]: view for view in DocumentStore(database, SystemClock()).list(limit=10)}
    database.close()
    return found


def test_a_document_that_kills_the_process_three_times_is_parked_and_its_neighbour_is_indexed(live, tmp_path):
    assert live("first") == 9
    assert live("second") == 9
    assert documents(tmp_path)["innocent"]["status"] != "parked"
    assert live("third") == 9
    assert live("fourth") == 0
    found = documents(tmp_path)
    assert (found["innocent"]["status"], found["innocent"]["attempts"]) == ("indexed", 2)
    poison = found["poison"]
    assert (poison["status"], poison["code"], poison["attempts"]) == ("parked", "crashed", 3)
    assert "retry the job" in poison["next_step"]
