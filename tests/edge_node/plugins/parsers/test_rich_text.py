"""Rich text is read with its tables, notes and characters."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from edge_node.documents.blocks import to_text
from edge_node.plugins.parsers.rich_text import parse_rich_text
from shared.errors import UnreadableDocument


def parsed(body: str):
    return parse_rich_text("a.rtf", b"{\\rtf1\\ansi\\ansicpg1252 " + body.encode("latin-1") + b"}")


def text_of(body: str) -> str:
    return to_text("a.rtf", parsed(body)).text


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (r"Gr\'fc\'dfe", "Grüße"),
        (r"\u8364?500 \u-10240?\u-8398?", "€500 𐌲"),
        (r"\uc2\u1087 pp\uc0\u1088 end", "прend"),
        (r"{\fonttbl{\f1\fcharset128 Mincho;}{\f2\fcharset204 Arial;}}{\f1 \'83\'5c\'83\'8b}{\f2 \'ef}", "ソルп"),
        (r"{\fonttbl{\f3\fcharset2 Symbol;}}{\f3 m} = 4", "μ = 4"),
        (r"{\fonttbl{\f3\fcharset2 Webdings;}{\f4\fcharset2 Code39;}}{\f3 a} {\f4 ab}", "✓ □□"),
        (r"P\_7\~\endash  a\{b\}\\", "P-7 – a{b}\\"),
        (r"10{\super 6} cells", "10⁶ cells"),
        (r"12 m{\super 2} of the ward{\super 3}", "12 m² of the ward3"),
        (r"{\upr{old}{\*\ud{new}}}", "new"),
        (r"{\field{\*\fldinst HYPERLINK x}{\fldrslt the link}}", "the link"),
        (r"a{\*\unknown gone}{\pict 0102}\bin3 {{{b", "ab"),
        (r"Give {\deleted 50}{\revised 5} mg", "Give 5 mg"),
    ],
)
def test_characters_and_groups(body: str, shown: str):
    assert text_of(body) == shown


def test_ticks_and_choices_of_form_fields_are_read():
    def form(code: str, words: str) -> str:
        field = rf"{{\*\formfield{{{words}{{\*\ffname Field1}}\ffdefres0}}}}"
        return rf"{{\field{{\*\fldinst {{ {code} {{\*\datafield 650000}}{field}}}}}{{\fldrslt }}}}"

    choice = r"\fftype2\ffres1{\*\ffl oral}{\*\ffl s.c.}"
    boxes = form("FORMCHECKBOX", r"\fftype1\ffres1"), form("FORMCHECKBOX", r"\fftype1\ffres25")
    body = f"Fasting {boxes[0]} or {boxes[1]}, by {form('FORMDROPDOWN', choice)}."
    assert text_of(body) == "Fasting ☒ or ☐, by s.c.."


def test_an_equation_is_a_line():
    sum_of = r"{\mnary{\*\mnaryPr{\mchr \u8721?}}{\msub{\mr i=1}}{\msup{\mr n}}{\me{\mr\mscr0\msty2 \u-10187?\u-9115?}}}"
    fraction = r"{\mf{\mfPr{\mctrlPr\f34}}{\mnum{\mr a+b}}{\mden{\mr 2}}}"
    body = rf"A is {{\mmath{{\*\moMath{{\mr x=}}{fraction}}}}} here\par {{\*\moMathPara{{\*\moMathParaPr x}}{{\*\moMath{sum_of}}}}}"
    assert text_of(body) == "A is x=(a+b)/2 here\n\n∑_(i=1)^n 𝑥"


def row(*cells: str, edges: str) -> str:
    return rf"\trowd {edges}\pard\intbl " + "".join(rf"{cell}\cell " for cell in cells) + r"\row "


def test_a_table_is_a_grid_whose_cells_span_by_their_edges():
    """A5: Word writes a cell over two columns as one that is wider."""
    edges = r"\cellx1000\cellx2000\cellx3000"
    rows = row("Drug", "Dose", "Route", edges=edges) + row("Heparin 5000", "s.c.", edges=r"\cellx2000\cellx3000")
    shown = text_of(rows + r"\pard behind\par")
    assert shown.split("\n")[0].endswith("Route: s.c.")
    assert shown.endswith("\n\nbehind")
    tall = row("Ward", "Room", edges=r"\cellx1000\cellx2000") + "".join(
        row(ward, room, edges=rf"\{merge}\cellx1000\cellx2000") for ward, room, merge in (("Juniper", "A1", "clvmgf"), ("", "A2", "clvmrg"))
    )
    assert text_of(tall).split("\n")[1] == "Ward: Juniper; Room: A2."


def test_a_table_in_a_cell_stands_behind_the_table_around_it():
    nested = (
        r"\trowd\cellx1000\cellx2000\pard\intbl Outer\cell Beds\cell\row\trowd\cellx1000\cellx2000\pard\intbl Juniper\cell "
        r"\pard\intbl\itap2 Inner\nestcell Bed\nestcell{\*\nesttableprops\trowd\cellx100\cellx200\nestrow}{\nonesttables\par}"
        r"A1\nestcell 7\nestcell{\*\nesttableprops\trowd\cellx100\cellx200\nestrow}\pard\intbl\itap1 28\cell\row\pard"
    )
    assert text_of(nested) == "Outer: Juniper; Beds: 28.\n\nInner: A1; Bed: 7."


def test_notes_comments_boxes_and_margins_are_read_once():
    body = (
        r"{\header Letter\par}{\headerf Letter\par}{\footer{\field{\*\fldinst PAGE}{\fldrslt 7}}\par}{\headerr 4711\par}"
        r"Closed{\super\chftn{\footnote\chftn  Since May.}}."
        r"{\*\atnid AQ}{\*\atnauthor Ada Quist}\chatn{\*\annotation Why?}"
        r"{\shp{\*\shpinst{\sp{\sn x}{\sv y}}{\shptxt Boxed\par}}{\shprslt Boxed\par}}\par"
    )
    assert text_of(body) == ("Letter\n\n4711\n\nClosed[^1].\n\n[^1]: Since May.\n\nComment by Ada Quist: Why?\n\nBoxed")


def test_headings_and_lists_have_their_levels_and_numbers():
    styles = r"{\stylesheet{\s1 heading 2;}{\s2\outlinelevel0 Own;}}"
    item = r"\pard{\listtext\pard\plain 1.\tab}\ilvl1 clean it\par{\pntext\f1\'B7\tab}\pard dry it\par"
    body = rf"{styles}\pard\s1 Care\par\pard\s2 Parts\par{item}\pard end\par"
    assert text_of(body) == "## Care\n\n# Parts\n\n  - 1. clean it\n- dry it\n\nend"


def test_the_title_and_hidden_text_are_known():
    found = parsed(r"{\info{\title Handbook}{\author A}}seen{\v hidden}")
    assert (found.title, found.blocks[0].text) == ("Handbook", "seen")
    assert found.shortfalls == (("left_out", "1 hidden passage is not in the text."),)


@pytest.mark.parametrize("data", [b"plain", b"{\\rtf1" + bytes(range(256)) * 99])
def test_what_is_no_rich_text_is_bad(data: bytes):
    with pytest.raises(UnreadableDocument) as caught:
        parse_rich_text("a.rtf", data)
    assert caught.value.reason == "bad_office"


WORDS = (
    r"{ } \par  \cell  \row  \trowd \cellx9 \intbl \itap3 \nestcell  \nestrow  \upr \*\ud  \footnote  \header "
    r" \*\moMath  \mr  \mnaryPr  \mchr  \mnum "
    r" \listtext  \* \u99999999999  \uc9  \s1  x \fonttbl \f1  \fcharset2  \stylesheet \bin9  \'8 \'85 \clvmrg \pard \\"
)
words = some.sampled_from(WORDS.split(" "))


@given(some.lists(words, max_size=60))
def test_any_order_of_words_is_read(body: list[str]):
    assert isinstance(text_of("".join(body)), str)


@pytest.mark.parametrize(
    "body",
    [
        "{" * 100_000,
        r"\'e9" * 200_000,
        r"\u8364?" * 100_000,
        r"{\*\moMath{\mr" + r"\u8364?" * 100_000,
        r"{\*\moMath" + r"{\me" * 50_000,
        r"\itap9 x\nestcell " * 20_000,
    ],
)
def test_long_and_deep_files_are_read_in_linear_time(body: str):
    began = time.process_time()
    parsed(body)
    assert time.process_time() - began < 15
