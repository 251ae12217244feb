"""Hostile files of every format end with a text or a reason, within the limits of their reader."""

import pytest

from benchmarks.files.hostile_formats import good, hostile
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from shared.errors import UnreadableDocument

pytestmark = pytest.mark.process

SOUND = good()
MUST_PARK = ("password", "misnamed", "bomb", "nested", "noise")
MOST_CHARS = 10_000  # of text from any of these: what is not parked costs the queue little
ROWS = {"quote.csv", "quote.tsv"}  # behind a quote that is never closed, which swallows none of them
MOST_NAMED = 4  # times the bytes of such rows: each names its columns
REASONS = {
    *("bad_archive", "bad_docx", "bad_html", "bad_image", "bad_json", "bad_mail", "bad_office", "bad_pdf", "bad_sheet", "bad_table"),
    *("empty", "encrypted", "no_text", "not_text", "too_large", "too_slow"),
}


@pytest.fixture(scope="module")
def pool():
    made = ReaderPool(ReaderLimits(20, 2**30), at_once=1)
    yield made
    made.close()


@pytest.mark.parametrize("suffix", SOUND)
async def test_ten_hostile_files_of_a_format_end_with_a_text_or_a_clear_reason(pool: ReaderPool, suffix: str):
    ends = {}
    for name, raw in hostile(suffix, SOUND[suffix]):
        try:
            text = (await pool.read(name, raw)).text
            most = MOST_NAMED * len(raw) if name in ROWS else MOST_CHARS
            ends[name] = "" if 0 < len(text) <= most else f"{len(text)} characters"
        except UnreadableDocument as error:
            ends[name] = error.reason if error.next_step else "without a next step"
    assert len(ends) == 10
    assert set(ends.values()) <= REASONS | {""}
    assert all(reason for name, reason in ends.items() if name.startswith(MUST_PARK))
    assert ends[f"password{suffix}"] == "encrypted"
