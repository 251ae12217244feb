"""E-books are read in the order of their spine."""

import pytest

from edge_node.documents.blocks import to_text
from edge_node.plugins.parsers.ebook import parse_ebook
from shared.errors import UnreadableDocument
from shared.records import place_of
from tests.support.office_files import zipped

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)


def book(*chapters: str, order: tuple[int, ...], **parts: str) -> bytes:
    files = [f'<item id="c{at}" href="c%20{at}.xhtml"/>' for at in range(len(chapters))]
    spine = [f'<itemref idref="c{at}"/>' for at in order]
    title = '<metadata><dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">Pumps</dc:title></metadata>'
    listed = f"{title}<manifest>{''.join(files)}</manifest><spine>{''.join(spine)}</spine>"
    contents = {f"OEBPS/c {at}.xhtml": chapter for at, chapter in enumerate(chapters)}
    return zipped(
        {
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": f'<package xmlns="http://www.idpf.org/2007/opf">{listed}</package>',
            **contents,
            **parts,
        }
    )


def page(body: str) -> str:
    return f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{body}</body></html>'


def test_chapters_come_in_the_order_of_the_spine_and_are_places():
    raw = book(
        page("<h1>Care</h1><p>Clean&nbsp;it &ndash; daily.</p>"),
        page("<h1>Parts</h1><a id='x'/><ul><li>valve</li></ul>"),
        order=(1, 0),
    )
    shown = to_text("a.epub", parse_ebook("a.epub", raw))
    assert shown.text == "# Parts\n\n- valve\n\n# Care\n\nClean it – daily."
    assert shown.title == "Pumps"
    assert place_of(shown.places, (shown.text.index("daily"), len(shown.text))) == "Care"


def test_a_copy_that_is_locked_says_so():
    locked = {"META-INF/encryption.xml": '<e><CipherReference URI="OEBPS/c 0.xhtml"/></e>'}
    with pytest.raises(UnreadableDocument) as caught:
        parse_ebook("a.epub", book("\0\1", order=(0,), **locked))
    assert caught.value.reason == "encrypted"


@pytest.mark.parametrize("data", [b"PK\x03\x04", zipped({"a": ""}), zipped({"META-INF/container.xml": CONTAINER})])
def test_what_is_no_book_is_bad(data: bytes):
    with pytest.raises(UnreadableDocument) as caught:
        parse_ebook("a.epub", data)
    assert caught.value.reason == "bad_office"
