"""What is struck through is marked alike in every format."""

import pytest

from edge_node.documents.readers import read
from edge_node.plugins.parsers.struck import mark_struck
from tests.support.office_files import open_file, paragraph, run, shape, show_file, word_file

SHOWN = "Give ~~5 mg~~ 3 mg of it"


def rich(inside: str) -> bytes:
    return b"{\\rtf1\\ansi " + inside.encode() + b"}"


def word(*struck: str) -> bytes:
    runs = "".join(run(text, mark) for mark, text in zip(struck[::2], struck[1::2], strict=True))
    return word_file(f"<w:p>{run('Give ')}{runs}{run('3 mg of it')}</w:p>")


def open_text(styles: str) -> bytes:
    span = '<text:span text:style-name="T1">{}</text:span>'.format
    return open_file("text", f"<text:p>Give {span('5')}{span(' mg')} 3 mg of it</text:p>", styles=styles)


def style(name: str, line: str, parent: str = "") -> str:
    line = f'<style:text-properties style:text-line-through-style="{line}"/>' if line else ""
    return f'<style:style style:name="{name}" style:parent-style-name="{parent}">{line}</style:style>'


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.docx", word("<w:strike/>", "5", "<w:dstrike/>", " mg ")),
        ("a.docx", word("<w:strike/>", "5", "<w:b/>", " ", '<w:strike w:val="true"/>', "mg", '<w:strike w:val="0"/>', " ")),
        ("a.rtf", rich(r"Give {\strike 5 \b mg} 3 mg of it")),
        ("a.rtf", rich(r"Give \strike 5 mg\strike0  3 mg \striked1\plain of it")),
        ("a.html", b'<p>Give <span style="color:red; text-decoration : line-through">5 mg</span> 3 mg of it'),
        ("a.html", b'<p style="text-decoration-line:line-through"></p><p>Give <s>5</s> <strike>mg</strike> 3 mg of it'),
        ("a.html", b"<style>.old{text-decoration:line-through}</style><p>Give <b class=old>5 <i>mg</i></b> 3 mg of it"),
        ("a.odt", open_text(style("T1", "solid"))),
        ("a.odt", open_text(style("Old", "solid") + style("T1", "", "Old"))),
        ("a.md", b"Give ~~5 mg~~ 3 mg of it"),
        ("a.md", b"Give <s>5 mg</s> 3 mg of it"),
    ],
)
def test_text_that_is_struck_through_is_marked(name: str, data: bytes):
    assert read(name, data).text == SHOWN


@pytest.mark.parametrize(
    "data",
    [word('<w:strike w:val="0"/>', "5 mg "), open_text(style("Old", "solid") + style("T1", "none", "Old"))],
)
def test_a_style_may_switch_it_off(data: bytes):
    name = "a.docx" if b"word/document.xml" in data else "a.odt"
    assert read(name, data).text == SHOWN.replace("~~", "")


def test_whole_paragraphs_and_rows_may_be_struck_through():
    mark = '<w:style w:styleId="Old"><w:rPr><w:strike/></w:rPr></w:style>'
    old = paragraph("5 mg", '<w:pStyle w:val="Old"/>')
    assert read("a.docx", word_file(old + paragraph("3 mg"), styles=mark)).text == "~~5 mg~~\n\n3 mg"
    rows = "<tr><th>Drug<th>Dose<tr style='text-decoration:line-through'><td>Heparin<td>5 mg<tr><td>Insulin<td>3 mg"
    shown = read("a.html", f"<table>{rows}</table>".encode()).text
    assert shown == "Drug: ~~Heparin~~; Dose: ~~5 mg~~.\nDrug: Insulin; Dose: 3 mg."


def test_slides_mark_it_too():
    slide = shape("5 mg").replace("<a:r>", '<a:r><a:rPr strike="sngStrike"/>')
    assert read("a.pptx", show_file(slide)).text == "~~5 mg~~"


def test_a_power_is_one_in_struck_text_too():
    assert read("a.rtf", rich(r"{\strike 10{\super 6}} cells")).text == "~~10⁶~~ cells"


def test_many_struck_pieces_take_time_in_line_with_their_number():
    pieces = list[str]()
    for _ in range(100_000):
        pieces.append("x")
        mark_struck(pieces, len(pieces) - 1)
    assert "".join(pieces) == f"~~{'x' * 100_000}~~"
