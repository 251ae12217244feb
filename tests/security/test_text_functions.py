"""No text makes a function that reads texts run away: each takes time linear in the text, or its callers hand it no more than a limit."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import pytest

from edge_node.answering.gate import unmarked
from edge_node.answering.narrowing import units
from edge_node.answering.points import scored
from edge_node.documents.chunking import split
from edge_node.documents.readers import read
from edge_node.extraction.cells import cells_of, stretches
from edge_node.extraction.facts import span_of
from edge_node.extraction.languages import languages_of
from edge_node.extraction.model_extraction import parse_relations
from edge_node.extraction.names import acronym_definitions, name_pairs_of, normalise, terms_of
from edge_node.extraction.nlp import passages_of
from edge_node.extraction.parsing import column_names
from edge_node.extraction.parsing import shortened as description
from edge_node.extraction.titles import named_in, names_of
from edge_node.graph.spellings import alike, alike_pairs
from edge_node.memory.anchors import anchors_of
from edge_node.plugins.parsers.pdf_rows import Line
from edge_node.plugins.parsers.pdf_text import Typography, learned, one_paragraph, passages
from edge_node.policy.hints import Known, Names
from edge_node.policy.persons import may_be_persons
from edge_node.policy.redaction import Redactor, blotted
from edge_node.policy.rules import Redact
from shared.errors import UnreadableDocument
from shared.http.json_shape import shape_of
from shared.models.fake import WordTokenizer
from shared.ports import Message
from shared.records import Answer, Chunk, Document, Evidence
from shared.text import same_question, support
from shared.text.citations import MAX_ANSWER_CHARS, checked_answer, cite
from shared.text.fence import Fence, one_line, without_control_tokens
from shared.text.inert import inert
from shared.text.marks import names_among
from shared.text.plain import csv_cell, plain
from shared.text.quoting import is_copy
from shared.text.refusals import is_refusal
from shared.text.sentences import content_words, names_in, questions_in, sentences
from shared.text.support import by_words
from shared.wire import MAX_EVIDENCE_CHARS, MAX_QUESTION_CHARS
from tests.support.adversarial import HAND, TooSlowError, cpu_seconds

pytestmark = pytest.mark.campaign

SMALL, MIDDLE, LARGE = 8_000, 64_000, 1_000_000  # characters
NEXT = 3  # of the slowest short texts, that are tried at MIDDLE; the slowest of these at LARGE
LINEAR = 4  # times what a linear function takes for a longer text, after what it took for the one before
TRIES = 3  # of a measurement: a busy machine is slow once, what runs away always
LEAST_S, MOST_S = 2.0, 20.0  # CPU time that is always granted, as what is shorter is no attack, and that is never passed
SPOKEN = (
    *(
        "Ann Lee (AL) said so. ",
        "The pump failed [1]. ",
        "from a ",
        "ab, and which b ",
        "A of the ",
        "no ",
        "Q. ",
        "Of ",
        "a?\n",
        "a.\n",
        "x\ny",
    ),
    *("1_", "4111 ", "DE89 ", "a@b.", "+49 30 ", "[name]█", "&amp;", "中文。", "привет ", "\u200b", "[1] ", "Score: 1\n", "well-\nknown "),
    *(
        "<div>",
        "<p>",
        "<table><tr><td>",
        "[a](b) ",
        "**a**",
        "``",
        "```\n",
        "|a",
        "|a|b|\n",
        "a | b | c\n",
        "# a\n",
        "- a\n",
        "> ",
        "---\n",
    ),
    *('"a",', "a,", '{"a":', "\\", "title: a\n", f" based on{' ' * 590}x\n"),
)

FORMS = list(dict.fromkeys((*HAND, *SPOKEN, "")))  # "": words of which each is another one


@dataclass(frozen=True, slots=True)
class Working:
    """What works on a text, and how many characters its callers hand over at most."""

    name: str
    on: Callable[[str], object]
    most: int = LARGE


def evidence(text: str) -> Evidence:
    return Evidence("ward", "d1", "a.md", "d1:0", (0, len(text)), text, 0.5)


def reading(name: str) -> Working:
    def on(text: str) -> object:
        try:
            return read(name, text.encode())
        except UnreadableDocument as error:
            return error

    return Working(f"reader of {name}", on)


SAID = "The pump a 1 A failed in May, said Ann Lee [1]."
NAMES = Redactor.of(Redact(names=["Ann Lee", "a a a a a a", "1 1 1 1"], types=["person"], patterns=["PAT-[0-9]{6}"]), ["Q Obermayer"])
PASSAGE, QUESTION = MAX_EVIDENCE_CHARS, MAX_QUESTION_CHARS  # a chunk of 200 tokens has 12,800 characters at most


def saying(text: str) -> str:
    """A passage with all words of ``SAID`` in its last line: nothing is decided before all of it is read."""
    return f"{text}\nand {SAID}"


def paragraph_of_pdf(text: str) -> object:
    """As a PDF's lines become one, with their hyphens undone."""
    rows = [Line(row, 50, 550, 12.0 * at, 12.0 * at + 10, 10, is_bold=False) for at, row in enumerate(text.split("\n"))]
    vocabulary = learned(rows)
    list(passages(rows, Typography.of(rows), vocabulary))
    return one_paragraph(text, vocabulary)


FUNCTIONS = [
    *map(reading, ("a.txt", "a.md", "a.csv", "a.html")),
    Working("a paragraph of a PDF", paragraph_of_pdf),
    Working("cutting", lambda text: split(Document("d", "d.md", "t", text), WordTokenizer())),
    Working("sentences", sentences),
    Working("content words", content_words),
    Working("names in", names_in),
    Working("inert", inert),
    Working("one line", one_line),
    Working("control tokens", without_control_tokens),
    Working("a fence that is given away", lambda text: Fence("7f3a").is_given_away(text, [Message("system", text)])),
    Working("shape of JSON", lambda text: shape_of(text.encode(), most_values=10)),
    Working("a copy", lambda text: is_copy(text, text), MIDDLE),
    Working("a copy of other words", lambda text: is_copy(text, text.upper()[::-1]), MIDDLE),
    Working("is a refusal", is_refusal),
    Working("citing in an answer", lambda text: cite(text, [evidence(SAID)]), MAX_ANSWER_CHARS),
    Working("citing a passage", lambda text: cite(SAID, [evidence(text)]), PASSAGE),
    Working("checked answer", lambda text: checked_answer(Answer("q", text, (), "cloud"))),
    Working("support of a sentence", lambda text: by_words(text, [SAID])),
    Working("support by a passage", lambda text: by_words(SAID, [saying(text)])),
    Working("units of a passage", lambda text: units([evidence(text)])),
    Working("score of an answer", scored),
    Working("unmarked", unmarked),
    Working("the same way", lambda text: same_question.is_same_way(text, f"{text} b"), QUESTION),
    Working("a single question", same_question.is_single),
    Working("a narrower question", lambda text: same_question.is_narrower(text, text)),
    Working("an answer that fits", lambda text: same_question.fits(text, text, text)),
    Working("questions in", questions_in),
    Working("known names in a text", lambda text: names_among(text, lambda _: False)),
    Working("named in a question", lambda text: named_in(text, lambda _: None), QUESTION),
    Working("hints", Names({"a a": Known("person", 1)}, frozenset({"a"})).pieces),
    Working("normal form of a name", lambda text: normalise(text)),
    Working("names of a title", names_of),
    Working("acronyms", acronym_definitions),
    Working("spelled alike", lambda text: alike(text, f"{text}s"), MIDDLE),
    Working("spellings", lambda text: alike_pairs({normalise(word) for word in text.split()})),
    Working("blocks of a passage", passages_of),
    Working("column names", column_names),
    Working("rows of tables", lambda text: list(stretches(Chunk("d:0", "d", 0, text, 0, len(text), 9, ((0, "row 1"),))))),
    Working("cells of a row", cells_of),
    Working("a description", description),
    Working("span of a sentence", lambda text: span_of(f"{text[:-9]} x", text)),
    Working("relations of a reply", lambda text: parse_relations(text, ["a", "A"])),
    Working("terms", terms_of),
    Working("pairs of names", name_pairs_of),
    Working("anchors", lambda text: anchors_of(text, ["a", "Ann Lee"])),
    Working("masks of names", NAMES.mask, PASSAGE),
    *(
        Working(f"masks of {kind}", Redactor.of(Redact(identifiers=[kind])).mask, PASSAGE)
        for kind in ("email", "iban", "card", "ssn", "record")
    ),
    Working("names by how they are written", lambda text: list(may_be_persons(text)), PASSAGE),
    Working("masks of telephones", Redactor.of(Redact(identifiers=["phone"])).mask, PASSAGE),
    Working("blotted", blotted),
    Working("languages", lambda text: languages_of("", [text]), PASSAGE),
    Working("a line of the terminal", plain),
    Working("a cell of a table", csv_cell),
]


def written(unit: str, length: int) -> str:
    return unit * (length // len(unit)) if unit else " ".join(f"Wd{number}x" for number in range(length // 8))


def spent(working: Working, unit: str, length: int, budget_s: float) -> float:
    """CPU seconds of the first of TRIES that keeps to the budget: what others do to the caches passes, and no growth does. TooSlowError."""
    for _ in range(TRIES - 1):
        with suppress(TooSlowError):
            return cpu_seconds(partial(working.on, written(unit, length)), budget_s=budget_s)
    return cpu_seconds(partial(working.on, written(unit, length)), budget_s=budget_s)


def runaway(working: Working, forms: Sequence[str] = FORMS) -> str:
    """What the text on which the function runs away repeats, and how long it is; "": there is none.

    CPU time of this process alone counts, and what is told apart is far apart: from 64,000 to 1,000,000 characters a quadratic function
    takes 244 times as long, a linear one 16 times, and 62 times is granted. A busy machine changes it by a factor of two or three.
    """
    sizes = [size for size in (SMALL, MIDDLE, LARGE) if size < working.most] + [working.most]
    before = dict[str, float]()
    working.on("A warm ward.")
    for row, size in enumerate(sizes):
        took = dict[str, float]()
        for unit in forms:
            grows = LINEAR * size / sizes[row - 1] * before[unit] if row else 0.0
            try:
                took[unit] = spent(working, unit, size, min(max(LEAST_S, grows), MOST_S))
            except TooSlowError:
                return f"{unit!r} up to {size} characters"
        forms, before = sorted(took, key=lambda unit: -took[unit])[: NEXT if row == 0 else 1], took
    return ""


@pytest.mark.parametrize("working", FUNCTIONS, ids=lambda working: working.name)
def test_each_function_takes_time_linear_in_the_text(working):
    assert runaway(working) == ""


def test_each_sentence_of_a_passage_is_looked_at_for_support(monkeypatch):
    """Null control: without the words of what is said, names decide, and no sentence is looked at."""
    looked = []
    monkeypatch.setattr(support, "_is_stated", lambda opening, text: looked.append(text))
    passages = [written(unit, 300) for unit in FORMS]
    assert [by_words(SAID, [saying(text)]) for text in passages] == [None] * len(FORMS)
    assert looked == [saying(text) for text in passages]
    assert (by_words(SAID, passages[:1]), len(looked)) == (False, len(FORMS))


def ends_before(text):
    """The character before each sentence, with all that stands before it cut anew."""
    return [text[:start].rstrip()[-1:] for start, _ in sentences(text)]


def test_a_look_back_that_copies_what_stands_before_each_sentence_is_found():
    assert runaway(Working("ends before", ends_before), ["a.\n"]) != ""


def words_before(text):
    """For each word those before it, cut anew each time."""
    return [len(text[: match.start()].split()) for match in re.finditer(r"\w+", text)]


def test_a_function_that_runs_away_is_found():
    assert runaway(Working("words before", words_before), ["a "]) == f"'a ' up to {MIDDLE} characters"
