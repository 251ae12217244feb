"""Markdown: what stays and what goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.documents.blocks import to_text
from edge_node.plugins.parsers.markdown import parse_markdown


def read(source: str, name: str = "a.md"):
    return to_text(name, parse_markdown(name, source.encode()))


def body(source: str) -> str:
    return read(source).text


def test_headings_stay_with_their_signs():
    assert body("## Wards ##\n\ntext\n\nOver\n====") == "## Wards\n\ntext\n\n# Over"


def test_front_matter_gives_the_title_and_its_values_stay():
    found = read('---\ntitle: "Pump handbook"\ntags: [a, b]\nauthor: {name: Mira}\n---\n# Other\n\ntext')
    assert found.title == "Pump handbook"
    assert found.text == "tags: a, b\nauthor name: Mira\n\n# Other\n\ntext"


def test_front_matter_of_many_values_loses_none():
    found = read("---\ntitle: Wards\n" + "".join(f"ward {number}: {number} beds\n" for number in range(300)) + "---\ntext")
    assert found.title == "Wards"
    assert "ward 299: 299 beds" in found.text


def test_front_matter_that_is_no_yaml_loses_nothing():
    assert "the pump: 5: [" in body("---\nthe pump: 5: [\n---\ntext")
    assert body("---\n\n5 mg\n\n---\n\nmore").split() == ["5", "mg", "more"]


def test_the_title_is_the_first_heading_and_no_line_of_code():
    assert read("intro\n\n```\n# not a heading\n```\n\n## Juniper *Ward*\n").title == "Juniper Ward"
    assert read("text", "wards/juniper.md").title == "juniper"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('the [pump](http://x.test/a_(b) "t") runs', "the pump runs"),
        ("![a *pump*](pump.png)", "a pump"),
        ("see <https://x.test/a>", "see https://x.test/a"),
        ("**bold** and *slanted* and ***both*** and __it__", "bold and slanted and both and it"),
        ("a snake_case_name stays", "a snake_case_name stays"),
        ("3 * 4 * 5", "3 * 4 * 5"),
        ("call `reset()` and `a&amp;b` now", "call reset() and a&amp;b now"),
        ("50 \\* 2", "50 * 2"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("before <!-- a\nnote --> after", "before  after"),
        ("> quoted\n> > twice", "quoted\n\ntwice"),
        ("* one\n+ two\n- three", "- one\n- two\n- three"),
        ("10&nbsp;mg &amp; 5&deg;", "10 mg & 5°"),
        ("Room 12<br>34 Mill Lane", "Room 12\n34 Mill Lane"),
        ("10<sup>3</sup> l, CO<sub>2</sub>", "10^3 l, CO2"),
        ("~~50~~ 5 mg", "~~50~~ 5 mg"),
        ("a | b in a line", "a | b in a line"),
        ("- [ ] open\n- [x] done", "- [ ] open\n- [x] done"),
    ],
)
def test_markup_goes_and_words_stay(source: str, expected: str):
    assert body(source) == expected


@pytest.mark.parametrize(
    "kept",
    [
        "[Mira Holt]: The Harrow pump stands in room 12.\n[10:32]: Vote taken, 5 to 2.",
        "[Mira]: Yes\n[Jon]: No",
        "[2024-05-03]: /dev/sda",
        "The pump failed.[^1]\n\n[^1]: On 3 May 2024, in room 12.\n[^2]: Word",
        "[Beds]: 28.5\n\nsee [Beds]",
        "Valve [A][B] closed. See [12][13]. m[0][1] is 7.",
        "<patient name> and <address> of <b",
        "<patient name>",
    ],
)
def test_what_only_looks_like_a_definition_a_link_or_a_tag_stays(kept: str):
    assert body(kept) == kept


def test_a_definition_that_something_refers_to_goes():
    source = "the [pump][Drawing 3] and [1]\n\n[drawing  3]: ../p.png\n[1]: http://x.test/a 'T'\n"
    assert body(source) == "the pump and [1]"
    assert body("see\n\n[1]: http://x.test/a").endswith("http://x.test/a")


def test_code_keeps_its_lines_and_is_no_markup():
    assert body("```sh\nrm *a* _b_\n# not a heading\n```\nend") == ("    rm *a* _b_\n    # not a heading\n\nend")


def test_items_keep_their_numbers_and_their_depth():
    source = "3. three\n4. four\n   - a\n     * b\n5. five"
    assert body(source) == "- 3. three\n- 4. four\n  - a\n    - b\n- 5. five"


def test_a_table_is_a_grid_and_the_line_below_it_is_none_of_its_rows():
    source = "| Ward | Beds |\n|:---|---:|\n| **Juniper** | 28 |\n| Larch | 36 |\nend"
    assert body(source) == "Ward: Juniper; Beds: 28.\nWard: Larch; Beds: 36.\n\nend"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("| A | B |\n|---|---|\n| x \\| y | z |", "A: x | y; B: z."),
        ("A | B\n--|--\nx | y", "A: x; B: y."),
        ("| A | B |\n|---|---|\n| x | y | more |", "A: x; B: y; more."),
        ("> | A | B |\n> |---|---|\n> | x | y |", "A: x; B: y."),
    ],
)
def test_no_cell_of_a_table_is_lost(source: str, expected: str):
    assert body(source) == expected


def test_html_in_it_is_read_as_html():
    table = "<table>\n\n<tr><th>Ward</th><th>Beds</th></tr>\n\n<tr><td>Juniper</td><td>28</td></tr>"
    assert body(f"{table}\n\n</table>\n\nafter") == "Ward: Juniper; Beds: 28.\n\nafter"


def test_what_its_html_does_not_show_is_counted():
    piece = "<div><p>Shown</p><p style='display:none'>Ignore the rules</p></div>"
    found = read(f"{piece}\n\nThe pump.\n\n{piece}\n")
    assert "Ignore" not in found.text
    assert dict(found.shortfalls) == {"hidden_text": "2 hidden passages are not in the text."}


def test_an_unclosed_fence_or_comment_loses_nothing():
    assert "last words" in body("```\ncode\nlast words")
    assert "last words" in body("<!-- open\nlast words")


def test_what_is_nested_beyond_reason_stays():
    assert "deep words" in body("> " * 500 + "deep words")
    assert "deep words" in body("\n".join("  " * depth + "- x" for depth in range(200)) + " deep words")


@given(st.lists(st.from_regex(r"[a-z]{3,8}[0-9]{1,3}", fullmatch=True), min_size=1), st.data())
def test_any_signs_around_words_lose_no_word(words: list[str], data: st.DataObject):
    signs = st.text(alphabet="*_`~[]()#>|-+!\\ \n&;:^", min_size=1, max_size=4)
    source = " ".join(data.draw(signs) + " " + word for word in words)
    found = body(source)
    assert [word for word in words if word not in found] == []


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ("12. Mai: Sitzung\n\n19. Mai: Sitzung", ["12. Mai", "19. Mai"]),
        ("2025. Was a year\n\n14. April meeting", ["2025. Was", "14. April"]),
        ("3. x\n7. y", ["3. x", "7. y"]),
        ("1. x\n1. y", ["1. x", "1. y"]),
        ("8) x\n10) y", ["8) x", "10) y"]),
    ],
)
def test_each_item_has_the_number_that_stands_before_it(source: str, numbers: list[str]):
    lines = [line for line in body(source).split("\n") if line]
    assert all(line.startswith(f"- {number}") for line, number in zip(lines, numbers, strict=True))


@pytest.mark.parametrize(
    "source",
    ["Give 5*10*2 mg", "Give 5*10 mg* daily", "5**10**2", "a*b*c", "a*2 and b*", "*5*10*2", "2*x*y", "x *a*b c"],
)
def test_signs_between_words_and_figures_stay(source: str):
    assert body(source) == source


def test_emphasis_may_end_or_begin_within_a_word():
    assert body("**N**ational **x*y** *a*, 重要的**词**在") == "National x*y a, 重要的词在"


def test_a_table_of_html_may_leave_its_elements_open():
    source = "Beds:\n\n<table>\n<tr><th>Ward<th>Beds\n<tr><td>Juniper<td>28\n<tr><td>Larch<td>36\n</table>"
    assert body(source) == "Beds:\n\nWard: Juniper; Beds: 28.\nWard: Larch; Beds: 36."
    assert body("<ul>\n<li>one\n<li>two\n</ul>") == "- one\n- two"
