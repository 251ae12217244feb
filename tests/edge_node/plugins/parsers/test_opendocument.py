"""OpenDocument texts and presentations are read as Writer and Impress show them."""

import pytest

from edge_node.documents.blocks import to_text
from edge_node.documents.readers import read
from edge_node.plugins.parsers.opendocument import parse_open_drawing, parse_open_slides, parse_open_text
from shared.errors import UnreadableDocument
from shared.records import place_of
from tests.support.office_files import open_file, zipped


def text_of(body: str, styles: str = "", **parts: str) -> str:
    return to_text("a.odt", parse_open_text("a.odt", open_file("text", body, styles=styles, **parts))).text


def p(inside: str) -> str:
    return f"<text:p>{inside}</text:p>"


def table(*rows: list[str]) -> str:
    """A cell is its text, its paragraphs, or a whole element."""
    lines = []
    for cells in rows:
        made = (
            cell if cell.startswith("<table:") else f"<table:table-cell>{cell if cell.startswith('<') else p(cell)}</table:table-cell>"
            for cell in cells
        )
        lines.append(f"<table:table-row>{''.join(made)}</table:table-row>")
    return f"<table:table>{''.join(lines)}</table:table>"


def test_all_paragraphs_lists_and_spans_of_a_cell_are_read():
    """B5."""
    items = f"<text:list><text:list-item>{p('Bo Lind')}</text:list-item></text:list>"
    nurses = p("<text:span>Mira Holt</text:span>") + p("Ada Quist") + items
    assert text_of(table(["Ward", "Nurse"], [p("Juniper <text:span>East</text:span>"), nurses])) == (
        "Ward: Juniper East; Nurse: Mira Holt Ada Quist Bo Lind."
    )


def test_links_tabs_breaks_and_spaces_are_read():
    """B5."""
    link = '<text:a xlink:href="https://a.example"><text:span>R&amp;D</text:span></text:a>'
    inside = f'Room<text:tab/>12<text:line-break/>Key<text:s text:c="3"/>in\n   {link}'
    assert text_of(p(inside)) == "Room\t12\nKey   in R&D"


def test_spanned_cells_stand_in_each_slot():
    """A5."""
    wide = '<table:table-cell table:number-columns-spanned="2"><text:p>Mira Holt</text:p></table:table-cell>'
    covered = "<table:covered-table-cell/>"
    shown = text_of(table(["Ward", "Day nurse", "Night nurse", "Beds"], ["Juniper", wide, covered, "28"]))
    assert shown.endswith("Beds: 28.")
    assert "Night nurse: 28" not in shown
    tall = '<table:table-cell table:number-rows-spanned="2"><text:p>Juniper</text:p></table:table-cell>'
    rows = text_of(table(["Ward", "Room", "Beds"], [tall, "A1", "28"], [covered, "A2", "14"]))
    assert rows.split("\n")[1] == "Ward: Juniper; Room: A2; Beds: 14."


def test_deleted_and_hidden_text_is_left_out_and_hidden_text_is_counted():
    styles = '<style:style style:name="H"><style:text-properties text:display="none"/></style:style>'
    body = (
        f"<text:tracked-changes><text:changed-region><text:deletion>{p('50 mg')}</text:deletion>"
        f"</text:changed-region></text:tracked-changes>{p('Give <text:change-start/>5 mg.')}"
        f'<text:section text:display="none">{p("secret")}</text:section>' + p('<text:span text:style-name="H">covert</text:span>seen')
    )
    parsed = parse_open_text("a.odt", open_file("text", body, styles=styles))
    assert [block.text for block in parsed.blocks] == ["Give 5 mg.", "seen"]
    assert parsed.shortfalls == (("left_out", "2 hidden passages are not in the text."),)


def test_what_was_filled_into_a_form_is_read():
    controls = {
        "c1": '<form:text form:id="c1" form:current-value="Mira Holt"/>',
        "c2": '<form:checkbox form:id="c2" form:label="fasting" form:current-state="checked"/>',
        "c3": '<form:radio form:id="c3" form:label="urgent"/>',
        "c4": '<form:listbox form:id="c4"><form:option form:label="oral"/>'
        '<form:option form:label="s.c." form:current-selected="true"/></form:listbox>',
        "c5": '<form:password form:id="c5" form:current-value="hunter2"/>',
    }
    forms = f"<office:forms><form:form>{''.join(controls.values())}</form:form></office:forms>"
    shown = [f'<draw:control draw:control="{name}"/>' for name in controls]
    assert text_of(forms + p("Form: " + ", ".join(shown))) == "Form: Mira Holt, ☒ fasting, ☐ urgent, s.c.,"
    assert text_of(forms + shown[0] + p("End.")) == "Mira Holt\n\nEnd."
    kind = "vnd.oasis.opendocument.field.FORM"
    checked = '<field:param field:name="Checkbox_Checked" field:value="true"/>'
    assert text_of(p(f'Ready <field:fieldmark field:type="{kind}CHECKBOX">{checked}</field:fieldmark>')) == "Ready ☒"


def test_notes_comments_and_text_boxes_stand_behind_their_paragraph():
    note = f"<text:note><text:note-citation>1</text:note-citation><text:note-body>{p('Since May.')}</text:note-body></text:note>"
    comment = f"<office:annotation><dc:creator>Ada Quist</dc:creator>{p('Why?')}</office:annotation>"
    box = f"<draw:frame><draw:text-box>{p('Boxed')}</draw:text-box></draw:frame>"
    shape = f"<draw:custom-shape>{p('Shaped')}</draw:custom-shape>"
    assert text_of(p(f"Closed{note}.{comment}{box}{shape} Yes.")) == (
        "Closed[^1]. Yes.\n\n[^1]: Since May.\n\nComment by Ada Quist: Why?\n\nBoxed\n\nShaped"
    )


LISTS = """<text:list-style style:name="L"><text:list-level-style-number text:level="1"
style:num-format="1" style:num-prefix="Art. " text:start-value="3"/><text:list-level-style-number
text:level="2" style:num-format="a" text:display-levels="2" style:num-suffix=")"/></text:list-style>"""


def test_numbers_of_lists_are_those_that_writer_shows():
    inner = f"<text:list><text:list-item>{p('wards')}</text:list-item><text:list-item>{p('stores')}</text:list-item></text:list>"
    first = f'<text:list text:style-name="L"><text:list-item>{p("Scope")}{inner}</text:list-item></text:list>'
    more = '<text:list text:style-name="L" text:continue-numbering="true">'
    body = first + p("between") + f"{more}<text:list-item>{p('Term')}</text:list-item></text:list>"
    assert text_of(body, LISTS) == "- Art. 3 Scope\n  - 3.a) wards\n  - 3.b) stores\n\nbetween\n\n- Art. 4 Term"


def test_a_formula_and_a_chart_are_read_in_their_place():
    math = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><msup><mi>r</mi><mn>2</mn></msup><mo>=</mo>'
        "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>"
    )
    formula = f"<draw:frame><draw:object>{math}</draw:object></draw:frame>"
    drawn = '<draw:frame><draw:object xlink:href="./Object 1"/><draw:image/></draw:frame>'
    rows = table(["", "Beds"], ["Juniper", "28"], ["Cedar", "14"])
    rows = rows.replace("<table:table>", '<table:table table:name="local-table">')
    chart = (
        f"<office:body><office:chart><chart:chart><chart:title>{p('Beds')}</chart:title>{rows}</chart:chart></office:chart></office:body>"
    )
    shown = text_of(p(f"Now {formula} holds.") + p(drawn), **{"Object 1__content": chart})
    assert shown.startswith("Now r^2=(a+b)/2 holds.\n\nChart: Beds\n")
    assert shown.endswith("Category: Juniper; Beds: 28.\nCategory: Cedar; Beds: 14.")


def test_slides_are_read_title_first_then_by_place_with_notes_and_without_hidden_ones():
    def frame(text: str, left: int, top: int, kind: str = "") -> str:
        marked = f' presentation:class="{kind}"' if kind else ""
        place = f'svg:x="{left}cm" svg:y="{top}cm" svg:width="4cm" svg:height="2cm"'
        return f"<draw:frame{marked} {place}><draw:text-box>{p(text)}</draw:text-box></draw:frame>"

    styles = '<style:style style:name="dp"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    notes = f"<presentation:notes>{frame('Ask Anna.', 0, 0, 'notes')}{frame('3', 0, 0, 'page-number')}</presentation:notes>"
    shapes = frame("right", 10, 5) + frame("left", 1, 5) + frame("Pumps", 1, 1, "title")
    pages = f'<draw:page draw:style-name="dp">{p("secret")}</draw:page><draw:page>{shapes}{notes}</draw:page>'
    parsed = parse_open_slides("a.odp", open_file("presentation", pages, styles=styles))
    shown = to_text("a.odp", parsed)
    assert shown.text == "# Pumps\n\nleft\n\nright\n\nAsk Anna."
    assert place_of(shown.places, (0, 3)) == "slide 2"
    assert parsed.shortfalls == (("left_out", "1 hidden slide is not in the text."),)


def test_footers_and_typed_days_of_slides_are_read_once():
    declared = (
        '<presentation:footer-decl presentation:name="f1">Delvin Works</presentation:footer-decl>'
        '<presentation:date-time-decl presentation:name="d1" presentation:source="fixed">3 May 2024</presentation:date-time-decl>'
        '<presentation:date-time-decl presentation:name="d2" presentation:source="current-date">x</presentation:date-time-decl>'
    )
    styles = '<style:style style:name="bare"><style:drawing-page-properties presentation:display-footer="false"/></style:style>'
    used = 'presentation:use-footer-name="f1" presentation:use-date-time-name='
    pages = (
        f'<draw:page draw:style-name="bare" {used}"d2">{p("Pumps")}</draw:page>'
        f'<draw:page {used}"d1">{p("Valves")}</draw:page><draw:page {used}"d1">{p("End")}'
        f'<draw:frame presentation:class="footer"><draw:text-box>{p("Internal")}</draw:text-box></draw:frame></draw:page>'
    )
    shown = to_text("a.odp", parse_open_slides("a.odp", open_file("presentation", declared + pages, styles=styles))).text
    assert shown == "Pumps\n\nValves\n\nDelvin Works\n\n3 May 2024\n\nEnd\n\nInternal"


def test_a_section_that_is_hidden_by_a_condition_is_shown_until_that_is_met():
    def section(more: str) -> str:
        return f'<text:section text:display="condition" text:condition="x" {more}>{p("Give 5 mg.")}</text:section>'

    assert text_of(p("Rules") + section("")) == "Rules\n\nGive 5 mg."
    assert text_of(p("Rules") + section('text:is-hidden="true"')) == "Rules"


def test_the_texts_of_a_drawing_are_read_page_by_page():
    box = f'<draw:custom-shape svg:x="1cm" svg:y="1cm">{p("Pump P-7")}</draw:custom-shape>'
    drawing = open_file("graphics", f"<draw:page>{box}</draw:page>")
    found = to_text("a.odg", parse_open_drawing("a.odg", drawing))
    assert (found.text, found.places[0][1]) == ("Pump P-7", "page 1")


def test_collapsed_rows_are_left_out_and_counted():
    body = table(["Ward", "Beds"], ["Juniper", "28"], ["Ghost", "1"])
    body = '<table:table-row table:visibility="collapse">'.join(body.rsplit("<table:table-row>", 1))
    parsed = parse_open_text("a.odt", open_file("text", body))
    assert to_text("a.odt", parsed).text == "Ward: Juniper; Beds: 28."
    assert parsed.shortfalls == (("left_out", "1 hidden row is not in the text."),)


def test_a_number_in_a_header_is_one_of_a_page_only_where_a_field_counts_them():
    number = "<text:page-number>3</text:page-number>"
    margins = f"<style:header>{p('4711')}</style:header><style:footer>{p(number)}</style:footer>"
    assert text_of(p("Rules"), common=margins) == "4711\n\nRules"


@pytest.mark.parametrize("content", ["", "<a", "<a><b/></a>"])
def test_what_is_no_document_is_bad_or_empty(content: str):
    parts = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content}
    with pytest.raises(UnreadableDocument) as caught:
        read("a.odt", zipped(parts))
    assert caught.value.reason in ("bad_office", "empty")


def test_a_file_behind_a_password_says_so():
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": b"\0",
        "META-INF/manifest.xml": "<encryption-data/>",
    }
    with pytest.raises(UnreadableDocument) as caught:
        read("a.odt", zipped(parts))
    assert caught.value.reason == "encrypted"


def test_repeated_cells_and_rows_stay_few():
    many = '<table:table-cell table:number-columns-repeated="999999"><text:p>x</text:p></table:table-cell>'
    rows = table(["a", "b"], [many]).replace("<table:table-row>", '<table:table-row table:number-rows-repeated="999999">')
    assert len(text_of(rows)) < 100_000
