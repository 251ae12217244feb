"""Presentations are read slide by slide, as one reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from edge_node.documents.blocks import to_text
from edge_node.plugins.parsers.reading_order import Box, reading_order
from edge_node.plugins.parsers.slides import parse_slides
from shared.errors import UnreadableDocument
from shared.records import place_of
from tests.support.office_files import chart, element, shape, show_file, zipped


def shown(*slides: str, **parts: str):
    return to_text("a.pptx", parse_slides("a.pptx", show_file(*slides, **parts)))


def frame(inside: str) -> str:
    return f"<p:graphicFrame><a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic></p:graphicFrame>"


def cell(text: str, attributes: str = "") -> str:
    return f"<a:tc {attributes}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"


def test_the_title_comes_first_then_columns_whole():
    texts = [
        shape("right text", at=(6000, 3500), size=4000),
        shape("right head", at=(6000, 2000), size=1400),
        shape("left text", at=(0, 3500), size=4000),
        shape("left head", at=(0, 2000), size=1400),
        shape("Pumps", kind="title", at=(0, 9000)),
    ]
    assert shown("".join(texts)).text == "# Pumps\n\nleft head\n\nleft text\n\nright head\n\nright text"


def test_a_group_is_read_where_it_lies():
    place = (
        '<p:grpSpPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="1000" cy="1000"/>'
        '<a:chOff x="90000" y="90000"/><a:chExt cx="1000" cy="1000"/></a:xfrm></p:grpSpPr>'
    )
    group = f"<p:grpSp>{place}{shape('first', at=(90000, 90000))}</p:grpSp>"
    assert shown(shape("second", at=(0, 5000)) + group).text == "first\n\nsecond"


def test_points_are_items_with_their_levels_and_numbers():
    lines = (
        '<a:p><a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr><a:r><a:t>Stop it</a:t></a:r></a:p>'
        '<a:p><a:pPr lvl="1"/><a:r><a:t>slowly</a:t></a:r></a:p>'
        '<a:p><a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr><a:r><a:t>Call</a:t></a:r><a:br/><a:r><a:t>Bo</a:t></a:r></a:p>'
    )
    body = shape("", kind="body").replace("<a:p><a:r><a:t></a:t></a:r></a:p>", lines)
    assert shown(body).text == "- 1. Stop it\n  - slowly\n- 2. Call Bo"


def test_a_sign_is_that_of_its_font():
    font = '<a:r><a:rPr><a:sym typeface="Wingdings"/></a:rPr>'
    assert shown(shape("\uf0fc Pumps").replace("<a:r>", font)).text == "✓ Pumps"


def test_a_table_has_its_spans():
    """A5."""
    heads = "".join(map(cell, ("Ward", "Day nurse", "Night nurse", "Beds")))
    wide = cell("Juniper") + cell("Mira Holt", 'gridSpan="2"') + cell("", 'hMerge="1"') + cell("28")
    text = shown(frame(f"<a:tbl><a:tr>{heads}</a:tr><a:tr>{wide}</a:tr></a:tbl>")).text
    assert text.endswith("Beds: 28.")
    assert "Night nurse: 28" not in text


def test_a_chart_is_rows_of_categories_and_values():
    """C13."""
    bars = chart("Beds", {"2024": {"Juniper": 28, "Cedar": 14, "Alder": 8.1999999999999993}})
    assert shown(frame('<c:chart r:id="chart"/>'), chart=bars).text == (
        "Chart: Beds\nCategory: Juniper; 2024: 28.\nCategory: Cedar; 2024: 14.\nCategory: Alder; 2024: 8.2."
    )


def test_days_and_percents_of_a_chart_are_shown_by_their_formats():
    growth = {"Beds": {"45413": 0.25, "45444.5": 0.0375}}
    drawn = frame('<a:graphic><c:chart r:id="chart"/></a:graphic>')
    assert shown(drawn, chart=chart("Growth", growth, ("m/d/yyyy", "0%"))).text == (
        "Chart: Growth\nCategory: 2024-05-01; Beds: 25%.\nCategory: 2024-06-01; Beds: 4% (0.0375)."
    )


def test_a_diagram_is_a_list_below_its_parents():
    def point(identifier: int, text: str) -> str:
        words = f"<dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t>"
        return f'<dgm:pt modelId="{identifier}">{words}</dgm:pt>'

    def link(above: int, below: int, order: int) -> str:
        return f'<dgm:cxn srcId="{above}" destId="{below}" srcOrd="{order}"/>'

    points = '<dgm:pt modelId="0" type="doc"/>' + point(3, "wards") + point(1, "Holt") + point(2, "Quist")
    links = link(0, 2, 1) + link(0, 1, 0) + link(1, 3, 0)
    data = element("dgm:dataModel", f"<dgm:ptLst>{points}</dgm:ptLst><dgm:cxnLst>{links}</dgm:cxnLst>")
    drawn = frame('<dgm:relIds r:dm="diagramData"/>')
    assert shown(drawn, diagramData=data).text == "- Holt\n  - wards\n- Quist"


def test_notes_and_comments_stand_below_their_slide():
    notes = element("p:notes", f"<p:cSld><p:spTree>{shape('Ask Anna.', kind='body')}{shape('7', kind='sldNum')}</p:spTree></p:cSld>")
    comments = element("p:cmLst", '<p:cm authorId="0"><p:text>Why?</p:text></p:cm>')
    found = shown(shape("Pumps", kind="title"), notesSlide=notes, comments=comments)
    assert found.text == "# Pumps\n\nAsk Anna.\n\nComment: Why?"


def test_hidden_slides_are_left_out_and_counted_and_numbers_stay_those_of_the_program():
    parsed = parse_slides("a.pptx", show_file("show=0|" + shape("secret"), shape("Pumps")))
    found = to_text("a.pptx", parsed)
    assert (found.text, place_of(found.places, (0, 5))) == ("Pumps", "slide 2")
    assert parsed.shortfalls == (("left_out", "1 hidden slide is not in the text."),)


def test_hidden_shapes_and_groups_are_left_out_and_counted():
    hidden = shape("secret").replace('name="x"', 'name="x" hidden="1"')
    group = f'<p:grpSp><p:nvGrpSpPr><p:cNvPr id="3" name="g" hidden="1"/></p:nvGrpSpPr>{shape("covert")}</p:grpSp>'
    parsed = parse_slides("a.pptx", show_file(shape("Pumps") + hidden + group))
    assert [block.text for block in parsed.blocks[1:]] == ["Pumps"]
    assert parsed.shortfalls == (("left_out", "2 hidden shapes are not in the text."),)


def test_a_day_that_was_typed_is_read_and_one_that_the_program_puts_in_is_not():
    typed = shape("3 May 2024", kind="dt")
    automatic = shape("x", kind="dt").replace("<a:r><a:t>x</a:t></a:r>", '<a:fld type="datetime1"><a:t>9/9/2029</a:t></a:fld>')
    assert shown(shape("Pumps") + typed, shape("Valves") + typed, shape("End") + automatic).text == "Pumps\n\n3 May 2024\n\nValves\n\nEnd"


def test_the_number_of_a_slide_and_a_footer_that_recurs_are_read_once_or_never():
    slide = shape("Pumps") + shape("Delvin Works", kind="ftr") + shape("7", kind="sldNum")
    assert shown(slide, slide).text == "Pumps\n\nDelvin Works\n\nPumps"


@pytest.mark.parametrize("data", [b"PK\x03\x04", zipped({"ppt/presentation.xml": "<p"}), zipped({"a": ""})])
def test_what_is_no_presentation_is_bad(data: bytes):
    with pytest.raises(UnreadableDocument) as caught:
        parse_slides("a.pptx", data)
    assert caught.value.reason == "bad_office"


numbers = some.integers(0, 20)
boxes = some.builds(lambda left, top, width, height: Box(left, top, left + width, top + height), numbers, numbers, numbers, numbers)


@given(some.lists(boxes, max_size=30))
def test_each_shape_is_read_once_whatever_overlaps(shapes: list[Box]):
    assert sorted(reading_order(shapes)) == list(range(len(shapes)))


@given(some.lists(boxes, max_size=12, unique_by=lambda box: (box.left, box.top)), some.randoms())
def test_the_order_does_not_depend_on_the_order_in_the_file(shapes: list[Box], rng):
    mixed = shapes.copy()
    rng.shuffle(mixed)
    assert [shapes[at] for at in reading_order(shapes)] == [mixed[at] for at in reading_order(mixed)]
