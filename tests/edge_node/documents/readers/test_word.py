"""Word documents."""

import io
import zipfile

import pytest

from edge_node.documents.readers import archive
from edge_node.documents.readers.word import read_word
from shared.errors import UnreadableDocument


def reason_of(data: bytes) -> str:
    with pytest.raises(UnreadableDocument) as caught:
        read_word("a.docx", data)
    return caught.value.reason


def test_paragraphs_headings_lists_and_tables_come_in_document_order(make_docx):
    def fill(document):
        document.add_heading("Pump handbook", level=0)
        document.add_paragraph("It is old.")
        table = document.add_table(rows=2, cols=2)
        for cell, text in zip([*table.rows[0].cells, *table.rows[1].cells], ["Ward", "Pumps", "Juniper", "4"], strict=True):
            cell.text = text
        document.add_heading("Care", level=2)
        document.add_paragraph("clean it", style="List Bullet")
        document.add_paragraph("dry it", style="List Number")
        document.add_paragraph("")
        document.add_paragraph("The end.")

    found = read_word("a.docx", make_docx(fill))
    assert found.text == "# Pump handbook\n\nIt is old.\n\nWard: Juniper; Pumps: 4.\n\n## Care\n\n- clean it\n- dry it\n\nThe end."
    assert found.title == "Pump handbook"


def test_the_stated_title_comes_first(make_docx):
    def fill(document):
        document.core_properties.title = "Handbook"
        document.add_heading("Other")

    assert read_word("a.docx", make_docx(fill)).title == "Handbook"


def test_a_merged_cell_comes_once(make_docx):
    def fill(document):
        table = document.add_table(rows=1, cols=3)
        table.rows[0].cells[0].merge(table.rows[0].cells[2]).text = "all three"

    assert read_word("a.docx", make_docx(fill)).text == "all three."


def test_a_list_at_the_end_is_kept(make_docx):
    assert read_word("a.docx", make_docx(lambda document: document.add_paragraph("last", style="List Bullet"))).text == "- last"


@pytest.mark.parametrize("cut", [10, 100, 2000, -30])
def test_half_a_file_is_bad(make_docx, cut: int):
    assert reason_of(make_docx(lambda document: document.add_paragraph("text"))[:cut]) == "bad_docx"


def test_a_zip_without_a_document_is_bad():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    assert reason_of(target.getvalue()) == "bad_docx"


def _with_document_xml(data: bytes, xml: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in source.infolist():
            archive.writestr(part.filename, xml if part.filename == "word/document.xml" else source.read(part))
    return target.getvalue()


def test_broken_xml_is_bad(make_docx):
    assert reason_of(_with_document_xml(make_docx(lambda document: None), b"<w:document><w:body>")) == "bad_docx"


def test_a_zip_bomb_is_refused_before_it_is_unzipped(make_docx, monkeypatch: pytest.MonkeyPatch):
    bomb = _with_document_xml(make_docx(lambda document: None), b" " * 3_000_000)
    assert len(bomb) < 100_000
    monkeypatch.setattr(archive, "MAX_UNZIPPED_BYTES", 1_000_000)
    assert reason_of(bomb) == "too_large"


def test_external_entities_are_not_followed(make_docx):
    document_type = b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
    namespace = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    paragraph = b"<w:p><w:r><w:t>safe &x;</w:t></w:r></w:p>"
    xml = document_type + b'<w:document xmlns:w="' + namespace + b'"><w:body>' + paragraph + b"</w:body></w:document>"
    assert read_word("a.docx", _with_document_xml(make_docx(lambda document: None), xml)).text == "safe"
