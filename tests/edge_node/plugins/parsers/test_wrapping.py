import textwrap
from pathlib import Path

import pytest

from edge_node.documents.readers import read
from edge_node.plugins.parsers.wrapping import unwrapped
from shared.text.sentences import sentences

SAMPLES = sorted((Path(__file__).parents[4] / "deploy" / "samples").glob("*/*.md"))
PUMP = "In October 2023 Pavel Drozd replaced the\nfeed pump of boiler 2, after a leak had flooded the pellet store."


def prose(text):
    """The paragraphs of a document that are neither heading, list nor table, and hold more than one sentence."""
    return [part for part in text.split("\n\n") if part[:1].isalpha() and "\n" not in part and part.endswith(".") and len(part) > 200]


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_each_sentence_of_a_wrapped_paragraph_is_whole(width):
    paragraphs = [part for file in SAMPLES for part in prose(file.read_text())]
    assert len(paragraphs) > 30
    for paragraph in paragraphs:
        found = unwrapped(textwrap.fill(paragraph, width, break_on_hyphens=False))
        assert " ".join(found.split()) == " ".join(paragraph.split())
        wanted = [paragraph[start:end].strip() for start, end in sentences(paragraph)]
        assert [found[start:end].strip() for start, end in sentences(found)] == wanted


@pytest.mark.parametrize(
    "kept",
    [
        "Name: Ann Lee\nPhone: 12\nWard: Juniper",
        "Elmfield Workshop\nHarbour Street 12\nPellham",
        "2024-01-01 12:00:01 the pump of boiler two has been started by the night shift\n"
        "2024-01-01 12:00:07 the pump of boiler two has been stopped by the night shift\n"
        "2024-01-01 12:00:09 the pump of boiler two has been started by the night shift",
        "- the first pump of boiler two was replaced in October by it\n- the second pump of boiler two was never replaced by it",
        "server_name = the one that answers for all of the northern stations\nport = 8443 and nothing else that anybody has ever asked for",
        "    for pump in all_of_the_pumps_of_the_northern_stations_of_the_river:\n        replace(pump)",
        "the pump of boiler two   12   34   replaced by the night shift\nthe pump of boiler six   13   35   replaced by the day shift",
        "Who replaced the pump of boiler two in October, and who has paid for it?\nnobody knows.",
        "# The feed pump of boiler 2 and everything that has been said of it\nthe text",
    ],
)
def test_lines_that_stand_by_themselves_stay(kept):
    assert unwrapped(kept) == kept


@pytest.mark.parametrize(
    ("wrapped", "whole"),
    [
        (PUMP, PUMP.replace("\n", " ")),
        ("- In October 2023 Pavel Drozd replaced the\n  feed pump.", "- In October 2023 Pavel Drozd replaced the feed pump."),
        (
            "the old pump of boiler two, which was a well-\nknown one of Pellham",
            "the old pump of boiler two, which was a well-known one of Pellham",
        ),
        (
            "The north quay of Pellham was surveyed by Captain Maud\nOkafor of the Harbour Office in Tessel, and then by\nPavel Drozd.",
            "The north quay of Pellham was surveyed by Captain Maud Okafor of the Harbour Office in Tessel, and then by Pavel Drozd.",
        ),
    ],
)
def test_a_sentence_that_was_wrapped_is_one_line(wrapped, whole):
    assert unwrapped(wrapped) == whole


def test_markdown_text_and_mails_are_read_so_and_code_and_hard_breaks_are_not():
    whole, windows = PUMP.replace("\n", " "), PUMP.replace("\n", "\r\n")
    assert whole in read("a.md", f"# Log\n\n{PUMP}\n".encode()).text
    assert whole in read("a.txt", f"Log\r\n\r\n{windows}\r\n".encode()).text
    assert whole in read("a.eml", f"Subject: x\n\n{PUMP}\n".encode()).text
    assert PUMP.replace("\n", "\n    ") in read("a.md", f"```\n{PUMP}\n```\n".encode()).text
    assert "replaced the feed" not in read("a.md", PUMP.replace("\n", "  \n").encode()).text


def test_a_long_block_takes_time_in_line_with_its_length():
    lines = "\n".join(["the pump was replaced by the night shift of the station and"] * 200_000)
    assert unwrapped(lines).count("\n") == 0
