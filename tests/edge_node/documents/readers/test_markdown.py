"""Markdown: what stays and what goes."""

import pytest

from edge_node.documents.readers.markdown import read_markdown


def body(source: str) -> str:
    return read_markdown("a.md", source.encode()).text


def test_headings_stay_with_their_signs():
    assert body("## Wards ##\n\ntext") == "## Wards\n\ntext"


def test_front_matter_goes_and_gives_the_title():
    found = read_markdown("a.md", b'---\ntitle: "Pump handbook"\ntags: [a]\n---\n# Other\n\ntext')
    assert (found.title, found.text) == ("Pump handbook", "# Other\n\ntext")


def test_the_title_is_the_first_heading():
    assert read_markdown("a.md", b"intro\n\n## Juniper *Ward*\n").title == "Juniper Ward"


def test_without_a_heading_the_title_is_the_file_name():
    assert read_markdown("wards/juniper.md", b"text").title == "juniper"


def test_a_ruler_in_the_text_is_no_front_matter():
    assert body("text\n\n---\n\nmore").split() == ["text", "more"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('the [pump](http://x.test/a_(b) "t") runs', "the pump runs"),
        ("the [pump][1] runs", "the pump runs"),
        ("![a pump](pump.png)", "a pump"),
        ("see <https://x.test/a>", "see https://x.test/a"),
        ("**bold** and *slanted* and ***both***", "bold and slanted and both"),
        ("__bold__ and _slanted_", "bold and slanted"),
        ("a snake_case_name stays", "a snake_case_name stays"),
        ("3 * 4 * 5", "3 * 4 * 5"),
        ("call `reset()` now", "call reset() now"),
        ("50 \\* 2", "50 * 2"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("one<br>two", "one two"),
        ("before <!-- a\nnote --> after", "before  after"),
        ("> quoted\n> > twice", "quoted\ntwice"),
        ("* one\n+ two\n- three", "- one\n- two\n- three"),
        ("marks[0] stay", "marks[0] stay"),
    ],
)
def test_markup_goes_and_words_stay(source: str, expected: str):
    assert body(source) == expected


def test_link_definitions_go():
    assert body("see [1]\n\n[1]: http://x.test/a 'T'\n").strip() == "see [1]"


def test_code_keeps_its_lines_as_they_are():
    assert body("```sh\nrm *a* _b_\n# not a heading\n```\nend") == "rm *a* _b_\n# not a heading\nend"


def test_a_table_becomes_sentences_that_name_their_columns():
    assert body("| Ward | Beds |\n|:---|---:|\n| **Juniper** | 28 |\n| Larch | 36 |\nend") == (
        "Ward: Juniper; Beds: 28.\nWard: Larch; Beds: 36.\nend"
    )


def test_an_escaped_bar_stays_in_its_cell():
    assert body("| A | B |\n|---|---|\n| x \\| y | z |") == "A: x | y; B: z."


def test_an_unclosed_fence_or_comment_loses_nothing():
    assert "last words" in body("```\ncode\nlast words")
    assert "last words" in body("<!-- open\nlast words")
