"""The marks of documents' titles: which ones the cloud gets with a summary, and when they are told anew."""

import pytest

from shared.text.marks import mark_of, packed
from tests.support.settling import Bench


@pytest.fixture
async def bench(tmp_path):
    async with Bench.opened(tmp_path) as opened:
        yield opened


def marks(bench):
    return {one.titles for one in bench.graph.summaries()}


async def test_a_summary_has_the_marks_of_the_titles_that_name_its_entities(bench):
    await bench.add("mill.md", ("Orrin Mill", "Heron Gate"), related=[("Orrin Mill", "Heron Gate")], title="Orrin Mill")
    await bench.settle()
    assert marks(bench) == {packed([mark_of("Orrin Mill")])}


async def test_a_title_without_its_qualifier_is_marked_as_well(bench):
    await bench.add("mill.md", ("Orrin Mill (film)", "Orrin Mill"), title="Orrin Mill (film)")
    await bench.settle()
    assert {mark for one in marks(bench) for mark in (one[:3], one[3:]) if mark} == {
        packed([mark_of("Orrin Mill")]), packed([mark_of("Orrin Mill (film)")]),
    }  # fmt: skip


async def test_a_file_without_a_title_is_marked_by_nothing(bench):
    await bench.add("Orrin Mill.md", ("Orrin Mill",))
    await bench.settle()
    assert marks(bench) == {b""}


async def test_the_cloud_learns_that_a_document_with_a_title_came_to_what_it_knew_and_that_it_went(bench):
    await bench.add("1.md", ("Orrin Mill",), text="same")
    await bench.settle()
    before = bench.graph.version()
    await bench.add("2.md", ("Orrin Mill",), title="Orrin Mill")
    await bench.settle()
    assert (marks(bench), bench.graph.version() > before) == ({packed([mark_of("Orrin Mill")])}, True)
    await bench.remove("2.md")
    await bench.settle()
    assert marks(bench) == {b""}
