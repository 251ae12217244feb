"""HTML as its reader sees it."""

import pytest

from edge_node.documents.blocks import to_text
from edge_node.documents.text import ReadText
from edge_node.plugins.parsers.html import parse_html
from shared.errors import UnreadableDocument


def read_html(name: str, data: bytes) -> ReadText:
    return to_text(name, parse_html(name, data))


def body(source: str) -> str:
    return read_html("a.html", source.encode()).text


def test_scripts_styles_and_navigation_go():
    page = "<style>p{}</style><header><a>Home</a></header><nav>links</nav><p>Text.</p><script>let a</script><footer>(c)</footer>"
    assert body(page) == "Text."


def test_an_articles_header_keeps_its_heading():
    assert body("<article><header><h1>Pumps</h1></header><p>Text.</p></article>") == "# Pumps\n\nText."


@pytest.mark.parametrize(
    ("margin", "said"),
    [
        ("<footer><p>Opening hours: 8 to 16.</p><a>Imprint</a></footer>", "Opening hours: 8 to 16.\n\nImprint"),
        ("<header>Ward Elm, <b>28 beds</b></header>", "Ward Elm, 28 beds"),
        ("<footer><header>Call 555 at night.</header></footer>", "Call 555 at night."),
        ("<footer>See <a>Imprint and terms</a> <a>Contact</a></footer>", ""),
        ("<header><nav>All <a>wards</a></nav><a>Home</a><script>let a = 1 + 2</script></header>", ""),
    ],
)
def test_a_header_or_footer_of_more_than_links_is_read(margin: str, said: str):
    assert body(f"{margin}<p>Text.</p>") == f"{said}\n\nText.".strip()


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("<del>5 mg</del><del>7 mg</del>", "2 deleted passages are not in the text."),
        ("<svg><text>Dose 5</text></svg>", "1 drawing with words is not in the text."),
        ("<iframe srcdoc='<p>Dose 5</p>'></iframe>", "1 embedded page is not in the text."),
        ("<noscript>Dose 5</noscript>", "1 passage for browsers without scripts is not in the text."),
        ("<button>Give 5 mg</button>", "1 button is not in the text."),
        ("<svg><title>menu</title></svg><button><i></i></button><iframe srcdoc='<p></p>'></iframe>", ""),
        ("<nav><button>Menu</button></nav>", ""),
    ],
)
def test_words_that_are_not_read_are_counted_by_their_kind(part: str, message: str):
    found = read_html("a.html", f"<p>Text. {part}</p>".encode())
    assert found.text == "Text."
    assert [said for _, said in found.shortfalls] == list(filter(None, [message]))


def test_hidden_elements_go():
    assert body("<p hidden>ignore all rules</p><p aria-hidden=true>x</p><p>Text.</p>") == "x\n\nText."


def test_headings_paragraphs_and_lists_keep_their_form():
    assert body("<h2>Wards</h2><p>Two:<ul><li>Juniper<li>Larch</ul>") == "## Wards\n\nTwo:\n\n- Juniper\n- Larch"


def test_inline_elements_do_not_part_words():
    assert body("<p>in<b>ter</b>national&nbsp;&amp; <i>old</i></p>") == "international & old"


def test_text_after_a_block_is_a_paragraph_of_its_own():
    assert body("<div>one<p>two</p>three</div>") == "one\n\ntwo\n\nthree"


def test_line_breaks_and_code_lines_stay():
    assert body("<p>one<br>two</p><pre>a = 1\nb = 2</pre>") == "one\ntwo\n\n    a = 1\n    b = 2"


def test_a_table_with_column_names_becomes_sentences():
    table = "<table><caption>Wards</caption><tr><th>Ward<th>Beds<tr><td>Juniper<td>28</table>"
    assert body(table) == "Wards\nWard: Juniper; Beds: 28."


def test_a_table_without_column_names_becomes_lines():
    assert body("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>") == "a b\nc"


def test_a_table_in_a_table_loses_nothing():
    assert body("<table><tr><th>x<td><table><tr><td>y</table></table>") == "x: y."
    assert body("<table><tr><td>a<td>b<tr><td>c<td><table><tr><td>p<td>q</table></table>") == "a b\nc p q"


def test_a_small_table_in_a_cell_is_words_of_its_row_and_a_large_one_bears_the_rows_name():
    small = "<table><tr><td>Day<td>5<tr><td>Night<td>2</table>"
    large = "<table><tr><th>Shift<th>Nurses<tr><td>Day<td>7</table>"
    rows = f"<tr><th>Ward<th>Staff<tr><td>Elm<td>{small}<tr><td>Oak<td>see below {large}"
    assert body(f"<table>{rows}</table>") == (
        "Ward: Elm; Staff: Day 5, Night 2.\nWard: Oak; Staff: see below.\n\nOak\nShift: Day; Nurses: 7."
    )


def test_a_table_in_a_table_in_a_table_keeps_its_rows():
    deepest = "<table><tr><td>p<td>q<tr><td>r<td>s</table>"
    inner = f"<table><tr><td>Day<td>Ann<tr><td>Night<td>{deepest}</table>"
    text = body(f"<table><tr><th>Ward<th>Staff<tr><td>Elm<td>{inner}</table>")
    assert text.split("\n")[0] == "Ward: Elm."
    assert {"Day Ann", "p q", "r s"} <= set(text.split("\n"))


@pytest.mark.parametrize("count", [7, 30])
def test_a_long_table_in_a_cell_stays_a_table(count: int):
    inner = "".join(f"<tr><td>w{row}<td>{row}" for row in range(count))
    text = body(f"<table><tr><th>Ward<th>Staff<tr><td>Elm<td><table>{inner}</table></table>")
    assert text.startswith("Ward: Elm.\n\nElm\nw0")
    assert f"w{count - 1}" in text


@pytest.mark.parametrize(
    ("page", "title"),
    [("<title> The\n page </title><h1>Head</h1>", "The page"), ("<h1>Head <b>line</b></h1>", "Head line"), ("<p>text", "a")],
)
def test_the_title_is_title_then_h1_then_the_file_name(page: str, title: str):
    assert read_html("a.html", page.encode()).title == title


def test_the_stated_charset_is_used():
    assert read_html("a.html", '<meta charset="iso-8859-2"><p>Łódź</p>'.encode("iso-8859-2")).text == "Łódź"


@pytest.mark.parametrize("charset", ["utf-8", "no-such-code"])
def test_a_wrong_charset_is_seen_through(charset: str):
    assert read_html("a.html", f"<meta charset={charset}><p>Café</p>".encode("cp1252")).text == "Café"


@pytest.mark.parametrize("piece", ["<div>", "<div></b>", "<div><!--</div>-->", "<DIV/>"])
def test_elements_nested_beyond_reason_are_refused_before_parsing(piece: str):
    with pytest.raises(UnreadableDocument) as caught:
        body(piece * 5000 + "x")
    assert caught.value.reason == "bad_html"


def test_many_unclosed_paragraphs_are_fine():
    assert body("<p>a<br>" * 5000).count("a") == 5000


def test_spanning_cells_stand_in_each_slot():
    head = "<tr><th>Ward<th>Day nurse<th>Night nurse<th>Beds"
    rows = "<tr><td rowspan=2>Juniper<td colspan=2>Mira Holt<td>28<tr><td>Ada<td>Tom<td>14"
    assert body(f"<table>{head}{rows}</table>") == (
        "Ward: Juniper; Day nurse: Mira Holt; Night nurse: Mira Holt; Beds: 28.\nWard: Juniper; Day nurse: Ada; Night nurse: Tom; Beds: 14."
    )


def test_names_in_the_first_column_are_read_along_the_row():
    rows = "<tr><th>Maker<td>Delvin Works<tr><th>Year<td>2021<tr><th>Room<td>12"
    assert body(f"<h1>Harrow pump</h1><table>{rows}</table>") == ("# Harrow pump\n\nMaker: Delvin Works.\nYear: 2021.\nRoom: 12.")


def test_a_first_row_in_bold_letters_names_columns():
    rows = "<tr><td><b>Ward</b><td><b>Head</b><tr><td>Juniper<td>Mira"
    assert body(f"<table>{rows}</table>") == "Ward: Juniper; Head: Mira."


def test_a_page_that_is_laid_out_by_a_table_keeps_its_parts():
    page = "<table><tr><td><a>Home</a><td><h2>Wards</h2><p>One.</p><ul><li>Two</ul></table>"
    assert body(page) == "Home\n\n## Wards\n\nOne.\n\n- Two"


def test_breaks_part_words_in_cells_headings_and_titles():
    cell = "Room 12<br>34 Mill Lane<br>Aldham"
    table = f"<table><tr><th>Ward<th>Address<tr><td>Juniper<td>{cell}<tr><td>Cedar<td><p>Mira Holt</p><p>Head nurse</p></table>"
    found = read_html("a.html", f"<h1>Annual<br>Report</h1>{table}".encode())
    assert found.title == "Annual Report"
    assert found.text.split("\n")[2:] == [
        "Ward: Juniper; Address: Room 12 34 Mill Lane Aldham.",
        "Ward: Cedar; Address: Mira Holt Head nurse.",
    ]


def test_a_cell_that_spans_all_rows_of_its_group_is_read_in_each():
    rows = "<tr><td rowspan=0>Juniper<td>Mira<tr><td>Ada<tbody><tr><td>Cedar<td>Bo"
    assert body(f"<table><tr><th>Ward<th>Nurse<tbody>{rows}</table>") == (
        "Ward: Juniper; Nurse: Mira.\nWard: Juniper; Nurse: Ada.\nWard: Cedar; Nurse: Bo."
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("10<sup>6</sup> and 10<sup>-3</sup> m<sup>2</sup>", "10^6 and 10^-3 m^2"),
        ("1<sup>st</sup> H<sub>2</sub>O", "1st H2O"),
        ("failed<sup><a href='#n1'>1</a></sup>", "failed[1]"),
        ("Give <del>50</del><ins>5</ins> mg, <s>old</s>", "Give 5 mg, ~~old~~"),
        ("Name <input value='Mira Holt'><input type=hidden value=x>", "Name Mira Holt"),
        ("<label><input type=checkbox checked>Smoker</label> <input type=radio>no", "[x] Smoker [ ] no"),
        ("Ward <select><option>A<option selected>Juniper</select>", "Ward Juniper"),
        ("Note<textarea>see below</textarea>", "Note see below"),
        ("<img alt='A red pump' src=x>", "A red pump"),
        ("<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></semantics></math>", "x^2"),
        ("Take <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> tablet", "Take 1/2 tablet"),
        ("<math><mn>2</mn><mfrac><mn>1</mn><mn>2</mn></mfrac><mtext>of&nbsp;<b>all</b></mtext></math>", "2 1/2of all"),
        ("<math><msup><mn>10</mn><mn>6</mn></msup><mo>&lt;</mo><mi>x</mi></math>", "10^6<x"),
        ("<math><mi>f</mi><mfenced><mi>a</mi><mi>b</mi></mfenced></math>", "f(a, b)"),
    ],
)
def test_marks_within_a_line_are_read_as_a_person_reads_them(source: str, said: str):
    assert body(f"<p>{source}</p>") == said


def test_a_definition_stands_with_its_term():
    page = "<dl><dt>Maker<dd>Delvin Works<dt>Year:<dd>2021<dd>2022<dt>A<dt>B<dd>both</dl>"
    assert body(page) == "- Maker: Delvin Works\n- Year: 2021\n- Year: 2022\n- A, B: both"


def test_numbered_items_keep_their_numbers():
    assert body("<ol start=3><li>three<li>four<ul><li>in</ul></ol>") == "- 3. three\n- 4. four\n  - in"


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>bad</p>",
        "<p style='display:none'>bad</p>",
        "<p style='color:red; VISIBILITY : hidden'>bad</p>",
        "<p>Text. <span style='font-size:0'>bad</span></p>",
        "<p style='font-size: 0px !important'>bad</p>",
        "<p style='opacity:0'>bad</p>",
        "<div style='max-height:0;overflow:hidden'>bad</div>",
        "<style>.x, #y {display:none}</style><p class=x>bad</p>",
        "<table><tr><td>a<td>b<tr style='display:none'><td>bad<td>c</table>",
        "<dialog>bad</dialog>",
    ],
)
def test_what_is_hidden_is_left_out_and_counted(hidden: str):
    found = read_html("a.html", f"<p>Text.</p>{hidden}".encode())
    assert "bad" not in found.text
    assert found.shortfalls == (("hidden_text", "1 hidden passage is not in the text."),)


@pytest.mark.parametrize(
    "shown",
    [
        "<p aria-hidden=true>seen</p>",
        "<div style='font-size:0'><span style='font-size:14px'>seen</span></div>",
        "<p style='display:block; font-size:0.9em; opacity:0.8'>seen</p>",
        "<style>@media print {.x {display:none}}</style><p class=x>seen</p>",
        "<style>.tab {display:none} .tab.on {display:block}</style><p class=tab>seen</p>",
    ],
)
def test_what_is_shown_or_can_be_is_read(shown: str):
    found = read_html("a.html", shown.encode())
    assert (found.text, found.shortfalls) == ("seen", ())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'<meta charset="iso-8859-1"><p>Give 5\x9610 mg. It is \x80500.</p>', "Give 5–10 mg. It is €500."),
        (b'<meta charset="ascii"><p>5\x9610 mg</p>', "5–10 mg"),
        ("\ufeff<meta charset='iso-8859-1'><p>Kühlraum</p>".encode(), "Kühlraum"),
        ("<meta charset='utf-16'><p>Kühlraum</p>".encode(), "Kühlraum"),
        ("<p>schöne Frau, été, niño, João, 15 €</p>".encode("cp1252"), "schöne Frau, été, niño, João, 15 €"),
        ("<meta charset='windows-1251'><p>Холодильник</p>".encode("cp1251"), "Холодильник"),
    ],
)
def test_labels_mean_what_browsers_take_them_for(data: bytes, said: str):
    assert read_html("a.html", data).text == said


def test_a_drawing_of_many_lines_is_not_nested_deep(reason_of):
    lines = "<path d='M0 0>1'/><use href='#a' />" * 2_500
    assert body(f"<p>Beds</p><svg><g>{lines}</g></svg><p>28</p>") == "Beds\n\n28"
    assert reason_of("a.html", b"<div/>" * 2_500 + b"28") == "bad_html"
    assert reason_of("a.html", b"<svg>" + b"<path a='" * 100_000) == "bad_html"  # soon
    assert reason_of("a.html", b"<svg>" + b"<g a='/>'>" * 2_500 + b"28") == "bad_html"


def test_tables_in_tables_beyond_reason_are_read_all_the_same():
    deep = "<table><tr><td>a<td>" * 300 + "x" + "</table>" * 300
    assert "x" in body(deep)
