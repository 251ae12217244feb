"""How passages stand in a prompt."""

from __future__ import annotations

import pytest

from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from shared.text.prompts import listed


def passage(document: str, *, edge: str = "bank", text: str = "A loan.") -> Evidence:
    return Evidence(EdgeId(edge), DocumentId(document), document, ChunkId(f"{document}:0"), (0, len(text)), text, 0.5)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("e5ff5ad5e6f83d2a8c38c5a1c2b9f8ab", "e5ff5ad5"),
        ("550e8400-e29b-41d4-a716-446655440000.pdf", "550e8400.pdf"),
        ("Bericht E5FF5AD5E6F83D2A8C38C5A1C2B9F8AB.txt", "Bericht E5FF5AD5.txt"),
        ("report-2023-11-05.pdf", "report-2023-11-05.pdf"),
        ("IMG_20231105_123456789.jpg", "IMG_20231105_123456789.jpg"),
        ("deadbeef", "deadbeef"),
    ],
)
def test_of_a_hash_in_a_name_the_first_digits_are_shown(name: str, shown: str) -> None:
    assert listed([passage(name)]).startswith(f"bank, {shown}:\n")


def test_two_documents_whose_hashes_begin_alike_stand_under_two_headers() -> None:
    first, second = "e5ff5ad5" + "0" * 24, "e5ff5ad5" + "1" * 24
    assert listed([passage(first), passage(second)]).count("bank, e5ff5ad5:") == 2


def test_passages_of_one_document_share_its_header() -> None:
    assert listed([passage("a.md"), passage("a.md"), passage("a.md", edge="plant")]).splitlines() == [
        "bank, a.md:",
        "[1] A loan.",
        "[2] A loan.",
        "plant, a.md:",
        "[3] A loan.",
    ]
