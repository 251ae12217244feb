"""The processes that parse: their deaths and their rest cost nobody anything but time."""

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from edge_node.extraction.nlp import MODEL
from edge_node.extraction.parser_process import ParserProcesses
from edge_node.extraction.parsing import Passage
from shared.errors import ModelUnavailable
from shared.records import Chunk, ChunkId, DocumentId
from tests.support.waiting import eventually

TEXT = "Ann Lee replaced the CX-40 battery."
PASSAGE = Passage(Chunk(ChunkId("d:0"), DocumentId("d"), 0, TEXT, 0, len(TEXT), 6), TEXT, False)


@pytest.fixture
def process():
    made = ParserProcesses(MODEL)
    yield made
    made.close()


def names(readings):
    return [[candidate.name for _, candidate in sorted(reading.candidates.items())] for reading in readings]


def test_nothing_runs_before_the_first_passage_nor_after_the_end(process):
    assert process.pids == []
    assert names(process.read([PASSAGE], with_facts=False)) == [["Ann Lee", "battery"]]
    assert len(process.pids) == 1
    process.close()
    assert process.pids == []


def test_one_that_is_killed_is_replaced_and_nothing_is_lost(process):
    before = process.read([PASSAGE], with_facts=True)
    os.kill(process.pids[0], signal.SIGKILL)
    assert process.read([PASSAGE], with_facts=True) == before


def test_one_that_cannot_live_is_a_failure_that_may_pass():
    class Dying(ParserProcesses):
        def _start(self):
            child = super()._start()
            child.process.kill()
            child.process.wait()
            return child

    process = Dying(MODEL)
    with pytest.raises(ModelUnavailable, match="ended while it read"):
        process.read([PASSAGE], with_facts=False)
    assert process.pids == []


def test_it_ends_when_nobody_has_asked_it_for_a_while():
    process = ParserProcesses(MODEL, idle_s=0.05)
    process.phrases("Who replaced the CX-40 battery?")
    if child := process._children[0].now:
        child.process.wait(30)
    assert process.phrases("Who replaced the CX-40 battery?") == ["battery"]
    process.close()


def test_it_ends_when_the_edge_has_gone(process):
    process.read([PASSAGE], with_facts=False)
    child = process._children[0].now
    child.line.close()
    assert child.process.wait(30) == 0


def test_it_is_told_nothing_of_the_environment(process, monkeypatch):
    monkeypatch.setenv("DGRAG_MODEL_API_KEY", "canary")
    process.read([PASSAGE], with_facts=False)
    assert b"canary" not in Path(f"/proc/{process.pids[0]}/environ").read_bytes()


def test_all_read_at_once_and_the_readings_are_in_their_order_also_where_some_are_killed():
    several = ParserProcesses(MODEL, most=3)
    texts = [f"Ann Lee replaced the CX-{number} battery of Juniper Ward." for number in range(12)]
    batches = [[Passage(PASSAGE.chunk, text, False)] for text in texts]
    with closing(several):
        several.read(batches[0], with_facts=True)
        assert len(several.pids) == 1
        readings = several.read_all(batches, with_facts=True)
        first = next(readings)
        assert eventually(lambda: len(several.pids) == 3)
        for pid in several.pids:
            os.kill(pid, signal.SIGKILL)
        at_once = [first, *readings]
    with closing(ParserProcesses(MODEL)) as one:
        assert at_once == [one.read(batch, with_facts=True) for batch in batches]
