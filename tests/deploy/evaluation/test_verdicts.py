"""Verdicts and figures, by hand, on answers as services give them."""

from dataclasses import replace

import pytest

from deploy.evaluation.figures import by_site, changes, figures
from deploy.evaluation.intervals import Estimate
from deploy.evaluation.questions import OwnQuestion
from deploy.evaluation.text import claims, is_told
from deploy.evaluation.verdicts import Reply, judged
from shared.records import Answer, ChunkId, Citation, DocumentId, EdgeId, EdgeReport, TraceStep

PACK = OwnQuestion(2, "Which pack replaces the CX-40 in the pump?", "The CX-42 battery pack replaces the CX-40 battery pack.", ("plant",))
LOAN = OwnQuestion(3, "How much was lent, and who lent it?", "4.2 million crowns were lent, and Pellworth Bank lent them.", ("bank",))
NOBODY = OwnQuestion(4, "How many lifeboats are there?", "")


def cited(n: int, edge: str, quote: str = "") -> Citation:
    return Citation(n, EdgeId(edge), DocumentId("d"), "d.md", ChunkId("d:0"), (0, 9), quote, 0.5)


def reply(asked: OwnQuestion, text: str, *citations: Citation, seconds: float = 2.0, **fields: object) -> Reply:
    trace = TraceStep("samples", 9.0, calls=1, tokens_in=90, tokens_out=10), TraceStep("cloud: generate", 9.0, tokens_in=100)
    answer = Answer("q", text, citations, "local", trace=trace)
    return Reply(asked.question, seconds, replace(answer, **fields))  # type: ignore[arg-type]


RIGHT = judged(PACK, reply(PACK, "The CX-42 battery pack does [1]. It is new.", cited(1, "plant", "Line Four makes it."), seconds=1.0))
HALF = judged(LOAN, reply(LOAN, "It lent 4.2 million crowns [1].", cited(1, "ward", "It is so."), seconds=4.0))
FAILED = judged(replace(PACK, line=5, question="And before?"), Reply("And before?", 9.0, None, "the edge is busy"))
REFUSED = judged(NOBODY, reply(NOBODY, "No document tells.", answered=False, seconds=3.0))


def test_an_answer_is_judged_by_claims_by_where_it_comes_from_and_by_what_supports_it():
    assert (RIGHT.correct, RIGHT.hit, RIGHT.answered, RIGHT.sentences, RIGHT.supported, RIGHT.tokens) == (True, True, True, 2, 1, 200)
    assert [(one.text, one.is_told) for one in HALF.claims] == [
        ("4.2 million crowns were lent", True),
        ("Pellworth Bank lent them", False),
    ]
    assert (HALF.correct, HALF.score, HALF.hit) == (False, 0.5, False)
    assert (FAILED.correct, FAILED.answered, FAILED.hit, FAILED.sentences) == (False, False, False, 0)


def test_where_no_document_holds_an_answer_it_is_right_to_say_so_and_wrong_to_answer():
    assert (REFUSED.correct, REFUSED.hit, REFUSED.claims) == (True, None, ())
    assert not judged(NOBODY, reply(NOBODY, "Three [1].", cited(1, "ward", "Three."))).correct
    assert not judged(NOBODY, Reply(NOBODY.question, 1.0, None, "the edge is busy")).correct


def test_an_answer_that_says_that_it_has_none_tells_no_claim_whatever_its_words():
    assert not judged(PACK, reply(PACK, "Nothing here tells of a CX-42 battery pack.", answered=False)).correct


def test_a_passage_is_found_where_quotes_hold_each_claim_or_where_each_named_site_gave_one():
    quotes = cited(1, "ward", "Lent were 4.2 million crowns."), cited(2, "ward", "Pellworth Bank was the lender; it lent all.")
    assert judged(LOAN, reply(LOAN, "So it is [1][2].", *quotes)).hit
    assert not judged(LOAN, reply(LOAN, "So it is [1].", quotes[0])).hit
    gave = EdgeReport(EdgeId("bank"), "evidence", "answered", 9.0, 100, 3)
    both = replace(LOAN, sites=("bank", "plant"))
    found = judged(both, reply(both, "No.", answered=False, edges=(gave, replace(gave, edge=EdgeId("plant"), evidence=0))))
    assert (found.hit, found.sites_asked) == (False, 2)
    assert judged(LOAN, reply(LOAN, "No.", answered=False, edges=(gave, replace(gave, status="skipped", evidence=0)))).sites_asked == 1
    assert judged(LOAN, reply(LOAN, "No.", answered=False, edges=(gave,))).hit


def test_sentences_that_the_service_left_out_count_as_not_supported():
    said = "2 sentences of the model's left out: no passage supports them"
    one = judged(PACK, reply(PACK, "The CX-42 battery pack does [1].", cited(1, "plant"), reason=said))
    assert (one.supported, one.sentences) == (1, 3)


def test_the_figures_are_those_counted_by_hand():
    total = figures([RIGHT, HALF, FAILED, REFUSED])
    assert (total.questions, total.failed, total.degraded) == (4, 1, 0)
    alone = judged(PACK, reply(PACK, "The CX-42.", degraded=True, reason="the cloud is away"))
    assert (figures([alone]).degraded, alone.trouble, FAILED.trouble) == (1, "degraded: the cloud is away", "failed: the edge is busy")
    assert total.correct == Estimate(0.5, pytest.approx(0.15, abs=0.001), pytest.approx(0.85, abs=0.001), 4)  # type: ignore[arg-type]
    assert total.hit
    assert (total.hit.mean, total.hit.n) == (pytest.approx(1 / 3), 3)
    assert total.answered
    assert total.answered.mean == 0.5
    assert total.claims
    assert (total.claims.mean, total.claims.n) == (0.5, 3)  # two of four claims, of three questions
    assert total.supported
    assert (total.supported.mean, total.supported.n) == (pytest.approx(2 / 3), 2)
    assert (total.seconds_p50, total.seconds_p90, total.tokens) == (3.0, 4.0, 200.0)
    assert {site: found.questions for site, found in by_site([RIGHT, HALF, FAILED, REFUSED]).items()} == {
        "plant": 2,
        "bank": 1,
        "no site named": 1,
    }
    assert figures([FAILED]).seconds_p50 is None
    assert by_site([REFUSED]) == {}


def test_of_two_runs_what_got_worse_stands_first_and_what_only_one_asked_is_left_out():
    wrong = judged(PACK, reply(PACK, "The CX-43 battery pack."))
    full = judged(LOAN, reply(LOAN, "Pellworth Bank lent 4.2 million crowns."))
    assert [(one.question, one.before, one.now) for one in changes([RIGHT, HALF], [full, wrong, REFUSED])] == [
        (PACK.question, 1.0, 0.0),
        (LOAN.question, 0.5, 1.0),
    ]


@pytest.mark.parametrize(
    ("expected", "said", "told"),
    [
        ("Thornby Builders built it in 1998.", "It was built in 1998, by Thornby Builders.", True),
        ("Thornby Builders built it in 1998.", "It was built in 1998, by Thornby Works.", False),
        ("The hall has 6,400 square metres.", "6400 square metres.", True),
        ("The rate is 3.9 percent.", "It is 9.3 percent.", False),
        ("The rate is 3.9 percent.", "It is 3.9 %.", True),
        ("It has a length of 142 kilometres.", "142 km", True),
        ("The tabs are screwed.", "The tabs are welded.", False),
        ("Line Two does not make it.", "Line Two makes it.", False),
        ("Yes, since 2019.", "Yes; since 2019.", True),
        ("Yes, since 2019.", "No, not since 2019.", False),
        ("11", "in 2011", False),
        ("机器学习", "机器学习", True),
        ("Ward B", "Ward C.", False),
        ("Ward B", "It was B [1].", True),
        ("Ward B's pumps failed.", "Ward C's pumps failed.", False),
        ("Vitamin C.", "Vitamin D.", False),
        ("Vitamin C.", "It is vitamin C. It is sour.", True),
        ("Class B.", "It is class A.", False),
        ("Class A.", "It is a class B pump.", False),
        ("Class A.", "It is class A [1].", True),
        ("Class I", "Class A", False),
        ("Class I", "It is of class I.", True),
        ("T-cells", "B-cells", False),
        ("Yes, B.", "Yes, C.", False),
        ("G. Stanley Hall", "Stanley Hall", True),
        ("It was in Ward B. Ann Lee mended it.", "It was in Ward C. Ann Lee mended it.", False),
        ("It was in Ward B. Ann Lee mended it.", "Ann Lee mended it in ward B.", True),
        ("At 5 p.m.", "At 5 pm.", True),
        ("It is 5 m long.", "5 metres.", True),
        ("1.5 litres", "15 litres", False),
        ("1.5 litres", "1.5 l", True),
        ("-5 degrees", "5 degrees", False),
        ("5 degrees", "It was \u22125 degrees.", False),
        ("-5 degrees", "It was minus 5 degrees.", True),
        ("A", "", False),
        ("A", "A pump.", False),
        ("A", "It is A [1].", True),
        ("the", "", False),
        ("+", "", False),
        ("+", "The sign is + [1].", True),
        ("+", "The sign is -.", False),
    ],
)
def test_a_claim_is_told_by_its_names_and_figures_in_whatever_words(expected: str, said: str, told: bool):
    assert all(is_told(claim, said, "Which is it?") for claim in claims(expected)) == told
