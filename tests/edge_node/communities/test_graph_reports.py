"""The report of a community that no model has written."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.communities.drafts import leaf_context
from edge_node.communities.elements import Finding, Line, elements_of
from edge_node.communities.hierarchy import Community
from edge_node.communities.reports import ReportBounds, content_of, headline, lines_of, plain_report
from edge_node.extraction.names import TITLE
from edge_node.graph.knowledge_graph import Graph
from shared.records import ChunkId, Entity, Relation


def words(text):
    return len(text.split())


def entity(key, text, chunks, **more):
    return replace(Entity(key, key.title(), "concept", text, tuple(map(ChunkId, chunks)), len(chunks)), **more)


def graph(*entities, relations=()):
    return Graph({one.key: one for one in entities}, {(one.source, one.target): one for one in relations})


BUILT = "Ann built the mill."
ANN, MILL = entity("ann", f"{BUILT} Ann left.", ["d:0", "d:1"]), entity("mill", f"{BUILT} The mill burnt down.", ["d:0", "e:3"])
MILLS = graph(ANN, MILL, relations=[Relation("ann", "mill", BUILT, ("build",), 1.0, (ChunkId("d:0"),))])
COMMUNITY = Community("c0ffee", 2, "", (), ("ann", "mill"))


def report(part, *, report_tokens=100, most=6, community=COMMUNITY):
    degrees = dict.fromkeys(part.entities, 1)
    return plain_report(community, part, elements_of(part, degrees), ReportBounds(8000, report_tokens, most), count=words)


def test_a_plain_report_says_what_its_community_is_about():
    made = report(MILLS)
    assert (made.community_id, made.level, made.by_model) == ("c0ffee", 2, False)
    assert made.title == "Ann and Mill"
    assert made.summary == "This part is about Ann, Mill."


def test_findings_are_sentences_with_their_chunks_and_elements_the_heaviest_first():
    """Mill is in two lines, all else in one: ann built mill and mill burnt down weigh (1 + 1 + 2) / 3, and the former stands first."""
    assert report(MILLS).findings == (
        Finding(BUILT, (ChunkId("d:0"),), ("ann", "mill", "ann\tmill")),
        Finding("The mill burnt down.", (ChunkId("d:0"), ChunkId("e:3")), ("mill",)),
        Finding("Ann left.", (ChunkId("d:0"), ChunkId("d:1")), ("ann",)),
    )


def test_findings_are_bounded_in_number_and_in_tokens():
    assert [one.text for one in report(MILLS, most=1).findings] == [BUILT]
    assert [one.text for one in report(MILLS, report_tokens=9).findings] == [BUILT, "The mill burnt down."]
    assert [one.text for one in report(MILLS, report_tokens=2).findings] == ["Ann left."]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("It is old.", []),
        ("They closed it at once.", []),
        ("“His mill burnt down.", []),
        ("This was the end.", []),
        ("IT runs the mill.", ["IT runs the mill."]),
        ("Thistles grow there.", ["Thistles grow there."]),
        ("Heaters hum.", ["Heaters hum."]),
    ],
)
def test_a_sentence_that_leans_on_the_one_before_it_is_no_finding(said, told):
    made = report(graph(replace(ANN, description=f"{BUILT} {said}")))
    assert [one.text for one in made.findings if one.text != BUILT] == told


def test_where_every_sentence_leans_on_another_they_are_told_all_the_same():
    assert [one.text for one in report(graph(replace(ANN, description="It is old."))).findings] == ["It is old."]


def test_where_no_sentence_fits_one_is_cut():
    made = report(MILLS, report_tokens=1).findings
    assert [(one.text, one.elements) for one in made] == [("Ann", ("ann", "mill", "ann\tmill"))]


def test_a_finding_names_eight_chunks_at_most():
    made = report(graph(entity("ann", BUILT, [f"d:{number}" for number in range(9)])))
    assert made.findings[0].chunk_ids == tuple(f"d:{number}" for number in range(8))


@pytest.mark.parametrize(("chunks", "rating"), [(0, 0), (1, 1), (2, 1), (3, 2), (37, 5), (1022, 9), (1023, 10), (5000, 10)])
def test_the_rating_is_the_logarithm_of_the_chunks(chunks, rating):
    """The floor of log2(1 + n), 10 at most: log2(38) = 5.2, log2(1023) = 9.99."""
    assert report(graph(entity("ann", "", [f"d:{number}" for number in range(chunks)]))).rating == rating


def test_the_reason_counts_passages_and_documents_of_entities_and_relations():
    """d:0, d:1 and e:3 are of the entities, f:0 of the relation alone."""
    relation = Relation("ann", "mill", BUILT, ("build",), 1.0, (ChunkId("d:0"), ChunkId("f:0")))
    assert report(graph(ANN, MILL, relations=[relation])).reason == "told of in 4 passages of 3 documents"
    assert report(graph(entity("ann", "", ["d:0"]))).reason == "told of in 1 passage of 1 document"


def test_no_title_of_a_document_stands_in_a_title_or_summary():
    secret = entity("merger plan", "It opens.", ["d:0"], type=TITLE)
    assert "merger" not in (report(graph(secret, ANN)).title + report(graph(secret, ANN)).summary).casefold()
    assert (report(graph(secret)).title, report(graph(secret)).summary) == ("", "")


def test_a_community_of_which_nothing_is_said_has_no_findings():
    assert report(graph(entity("ann", "", ["d:0"]))).findings == ()


def test_a_report_stands_above_as_one_line_a_finding():
    made = report(MILLS)
    assert [line.text for line in lines_of(made)] == [one.text for one in made.findings]
    assert lines_of(made)[0].chunk_ids == ("d:0",)
    assert lines_of(made)[0].elements == ("ann", "mill", "ann\tmill")


LINE = Line("Ann", (Finding(BUILT, (ChunkId("d:0"),), ("ann",)),), (ChunkId("d:0"),), ("ann",))


def content(*lines, report_tokens=240, most=6):
    return content_of(lines, ReportBounds(8000, report_tokens, most))


def test_the_same_context_has_the_same_content():
    again = Line("Ann", (Finding("".join([BUILT[:3], BUILT[3:]]), (ChunkId("d:0"),), ("ann",)),), (ChunkId("d:0"),), ("ann",))
    assert content(LINE) == content(again)
    assert len(content(LINE)) == 16
    assert report(MILLS).content == report(MILLS, community=Community("other", 0, "", (), ())).content


def test_whatever_a_report_is_written_from_changes_its_content():
    other = Finding(BUILT, (ChunkId("d:1"),), ("ann",))
    contents = [
        content(LINE),
        content(),
        content(LINE, LINE),
        content(replace(LINE, name="Anna")),
        content(replace(LINE, chunk_ids=(ChunkId("d:1"),))),
        content(replace(LINE, elements=("mill",))),
        content(replace(LINE, findings=(other,))),
        content(LINE, report_tokens=241),
        content(LINE, most=5),
    ]
    assert len(set(contents)) == len(contents)


def test_a_change_below_goes_up_as_far_as_it_can_be_read():
    """The mill's second sentence changes: the report has it, so the context above changes too; a report of one finding does not."""
    changed = graph(ANN, replace(MILL, description=f"{BUILT} The mill was sold off."), relations=MILLS.relations.values())
    assert report(MILLS).content != report(changed).content
    assert content(*lines_of(report(MILLS))) != content(*lines_of(report(changed)))
    assert content(*lines_of(report(MILLS, most=1))) == content(*lines_of(report(changed, most=1)))


SAID = ["Ann built it.", "The pump leaks at night.", "The ward closed.", "And so it was.", "Gates close in Ward 3."]
DESCRIPTIONS = st.lists(st.sampled_from(SAID), max_size=4).map(" ".join)


@given(st.dictionaries(st.sampled_from("abcdef"), DESCRIPTIONS), st.integers(0, 60), st.integers(1, 30), st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_a_report_fits_and_each_finding_is_a_sentence_of_its_context(texts, limit, report_tokens, most):
    part = graph(*(entity(key, text, [f"{key}:0"]) for key, text in texts.items()))
    lines = leaf_context(elements_of(part, {}), limit_tokens=limit, count=words)
    made = plain_report(COMMUNITY, part, lines, ReportBounds(8000, report_tokens, most), count=words)
    backwards = Graph(dict(reversed(part.entities.items())), {})
    told = {finding.text: finding for line in lines for finding in line.findings}
    assert sum(words(one.text) for one in made.findings) <= report_tokens
    assert len(made.findings) <= most
    assert all(
        any(text.startswith(one.text) and one.elements == finding.elements for text, finding in told.items()) for one in made.findings
    )
    assert bool(made.findings) == bool(told)
    assert plain_report(COMMUNITY, backwards, lines, ReportBounds(8000, report_tokens, most), count=words) == made


def test_a_headline_is_title_and_rating_of_the_report_with_its_passages_counted():
    """Of d:0, d:1 and e:3: the floor of log2(4) is 2."""
    told, found = report(MILLS), headline(COMMUNITY, MILLS)
    assert (found.community, found.title, found.rating, found.chunks) == (COMMUNITY, told.title, told.rating, 3)
    assert (found.title, found.rating) == ("Ann and Mill", 2)
