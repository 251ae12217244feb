"""Archives and mails, made by the test that reads them."""

import io
import zipfile
from collections.abc import Callable
from textwrap import dedent

import pytest

from edge_node.documents.readers import ReadText, read
from shared.errors import UnreadableDocument
from shared.records import place_of
from tests.edge_node.documents.readers.conftest import make_docx, make_pdf

__all__ = ["make_docx", "make_pdf"]

Read = Callable[[str, bytes | str], ReadText]


@pytest.fixture
def zipped() -> Callable[[dict[str, bytes]], bytes]:
    """Parts by their names, packed as .zip."""

    def make(parts: dict[str, bytes]) -> bytes:
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in parts.items():
                archive.writestr(name, data)
        return target.getvalue()

    return make


@pytest.fixture
def reason_of() -> Callable[[str, bytes], str]:
    """Why a file cannot be read."""

    def make(name: str, data: bytes) -> str:
        with pytest.raises(UnreadableDocument) as caught:
            read(name, data)
        return caught.value.reason

    return make


@pytest.fixture
def place() -> Callable[[ReadText, str], str]:
    """Where a piece of a text stands."""

    def find(found: ReadText, piece: str) -> str:
        start = found.text.index(piece)
        return place_of(found.places, (start, start + len(piece)))

    return find


@pytest.fixture
def mail() -> Callable[..., bytes]:
    """A mail of a head and a part of MIME, whose lines may be indented as the test is."""
    head = "From: Mira <m@x.test>\nTo: j@x.test\nSubject: Pump\nMIME-Version: 1.0\n"

    def make(part: str, encoding: str = "utf-8") -> bytes:
        return (head + dedent(part).lstrip("\n")).encode(encoding)

    return make
