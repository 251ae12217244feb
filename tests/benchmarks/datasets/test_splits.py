from collections import Counter

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from benchmarks.datasets import open_corpus, split_of
from benchmarks.datasets.corpus import DatasetError
from benchmarks.datasets.passages import Passages
from benchmarks.datasets.splits import ALL, domain_split, federated_split, mixed_split, stride
from benchmarks.datasets.ultradomain import UltraDomain
from benchmarks.records import Question, SourceDocument

SEEDS = st.integers(0, 2**32)


class Made:
    """A corpus in memory: ``sizes`` domains of so many documents, and as many questions of each."""

    def __init__(self, *sizes, questions=12):
        self._documents = tuple(
            SourceDocument(f"d{domain}-{n}", f"domain{domain}", "", 1) for domain, size in enumerate(sizes) for n in range(size)
        )
        self._questions = tuple(
            Question(f"q{domain}-{n}", "?", f"domain{domain}", (), gold=(f"d{domain}-{n % size}",))
            for domain, size in enumerate(sizes)
            for n in range(questions)
        )

    def documents(self):
        return self._documents

    def questions(self):
        return self._questions


@given(st.integers(0, 60), st.integers(0, 60), SEEDS)
def test_a_stride_is_so_many_distinct_items_in_order_and_evenly_spaced(size, count, seed):
    chosen = stride(range(size), count, seed=seed)
    assert len(chosen) == min(size, count)
    gaps = np.diff(chosen)
    assert not len(gaps) or (gaps.min() >= 1 and gaps.max() - gaps.min() <= 1)


def test_a_stride_of_all_is_all_and_less_than_that_is_refused():
    assert stride("abc", ALL, seed=0) == ("a", "b", "c")
    with pytest.raises(ValueError, match="-2 questions"):
        stride("abc", -2, seed=0)


def test_other_seeds_start_elsewhere():
    assert len({stride(range(40), 4, seed=seed) for seed in range(20)}) > 3


def test_in_the_domain_split_an_edge_is_a_domain():
    split = domain_split(Made(2, 1), name="domain", within=1, out=0, seed=0)
    assert split.documents == {"domain0": ("d0-0", "d0-1"), "domain1": ("d1-0",)}
    assert split.name == "domain"


def test_in_the_domain_split_the_same_questions_are_asked_at_home_and_away():
    split = domain_split(Made(1, 1, 1), name="s", within=4, out=4, seed=5)
    home = [asking for asking in split.asked if asking.scenario == "within"]
    away = [asking for asking in split.asked if asking.scenario == "out"]
    assert [one.question for one in home] == [one.question for one in away]
    assert all(one.edge == one.question.domain for one in home)
    assert all(one.edge != one.question.domain for one in away)
    assert Counter(one.question.domain for one in home) == {"domain0": 4, "domain1": 4, "domain2": 4}


def test_questions_away_from_home_go_round_the_other_edges():
    """12 questions of a domain and three other edges: four each."""
    split = domain_split(Made(1, 1, 1, 1), name="s", within=0, out=ALL, seed=0)
    by_domain = Counter((one.question.domain, one.edge) for one in split.asked)
    assert set(by_domain.values()) == {4}
    assert len(by_domain) == 12


def test_a_sample_at_the_rounds_own_distance_still_meets_every_other_edge():
    split = domain_split(Made(1, 1, 1, 1, questions=120), name="s", within=0, out=ALL, seed=0)
    asked = [one.edge for one in split.asked if one.question.domain == "domain0"]
    assert set(asked[::3]) == {"domain1", "domain2", "domain3"}


def test_a_question_is_out_of_domain_only_where_its_document_is_not(tmp_path, row, write_jsonl):
    """art and cs share document A; law has its own. So a question on A goes to law alone, and one on B, which all have, nowhere."""
    for domain, books in (("art", "AB"), ("cs", "AB"), ("law", "BL")):
        write_jsonl(tmp_path / f"{domain}.jsonl", [row(f"{domain}{book}", book, domain=domain) for book in books])
    split = domain_split(UltraDomain.read(tmp_path, ["*.jsonl"]), name="s", within=0, out=ALL, seed=0)
    assert {one.edge for one in split.asked if one.question.gold == ("id-A",)} == {"law"}
    assert {one.edge for one in split.asked if one.question.gold == ("id-L",)} <= {"art", "cs"}
    assert len(split.asked) == 3


def test_one_domain_has_no_question_out_of_domain():
    with pytest.raises(DatasetError, match="there is one domain, 'domain0'"):
        domain_split(Made(3), name="s", within=1, out=1, seed=0)
    assert domain_split(Made(3), name="s", within=1, out=0, seed=0).asked


@given(st.lists(st.integers(20, 40), min_size=1, max_size=4), st.integers(1, 3), st.floats(5, 50), SEEDS)
def test_in_the_mixed_split_every_document_is_at_exactly_one_edge(sizes, edges, alpha, seed):
    corpus = Made(*sizes)
    try:
        split = mixed_split(corpus, name="mixed", edges=edges, alpha=alpha, count=2, seed=seed)
    except DatasetError:  # an edge would have none: this deal is refused
        reject()
    dealt = [document for ids in split.documents.values() for document in ids]
    assert sorted(dealt) == sorted(document.document_id for document in corpus.documents())
    assert list(split.documents) == ["edge-01", "edge-02", "edge-03"][:edges]


def test_in_the_mixed_split_each_edge_asks_about_one_domain_and_no_question_twice():
    """Two domains of 12 questions over five edges: three edges share the first domain, two the second."""
    split = mixed_split(Made(40, 40), name="mixed", edges=5, alpha=10.0, count=ALL, seed=1)
    domains = {edge: {one.question.domain for one in split.asked if one.edge == edge} for edge in split.documents}
    assert list(domains.values()) == [{"domain0"}, {"domain1"}, {"domain0"}, {"domain1"}, {"domain0"}]
    assert len({one.question.question_id for one in split.asked}) == len(split.asked) == 24
    assert {one.scenario for one in split.asked} == {"mixed"}


def test_more_domains_than_edges_leave_the_last_domains_unasked():
    split = mixed_split(Made(9, 9, 9), name="mixed", edges=2, alpha=10.0, count=3, seed=1)
    assert Counter((one.edge, one.question.domain) for one in split.asked) == {("edge-01", "domain0"): 3, ("edge-02", "domain1"): 3}


def test_a_large_alpha_deals_evenly_and_a_small_one_does_not():
    def largest_share(alpha):
        split = mixed_split(Made(2000), name="mixed", edges=4, alpha=alpha, count=0, seed=3)
        return max(len(ids) for ids in split.documents.values()) / 2000

    assert largest_share(1000.0) < 0.3 < largest_share(0.5)


def test_a_document_of_two_domains_is_dealt_once(tmp_path, row, write_jsonl):
    for domain in ("art", "cs"):
        write_jsonl(tmp_path / f"{domain}.jsonl", [row(1, "A", domain=domain)])
    split = mixed_split(UltraDomain.read(tmp_path, ["*.jsonl"]), name="mixed", edges=1, alpha=1.0, count=ALL, seed=0)
    assert split.documents == {"edge-01": ("id-A",)}


def test_an_edge_without_documents_and_impossible_shares_are_refused():
    with pytest.raises(DatasetError, match=r"3 documents leave edge-\d\d with none") as raised:
        mixed_split(Made(3), name="mixed", edges=9, alpha=10.0, count=1, seed=0)
    assert raised.value.next_step == "take fewer edges or another seed"
    for edges, alpha in ((0, 1.0), (2, 0.0)):
        with pytest.raises(DatasetError, match="alpha above 0"):
            mixed_split(Made(3), name="mixed", edges=edges, alpha=alpha, count=1, seed=0)


def test_in_the_federated_split_documents_and_questions_are_where_the_set_puts_them(multihop):
    split = federated_split(Passages.read(multihop, "client_iid"), name="hops", count=ALL, seed=0)
    assert split.documents == {"client-0": ("a", "b"), "client-1": ("c",), "client-2": ("d",)}
    assert [(one.question.question_id, one.edge, one.scenario) for one in split.asked] == [
        ("q-within", "client-0", "within"),
        ("q-across", "client-1", "mixed"),
        ("q-homeless", "client-2", "mixed"),
        ("q-home", "client-0", "mixed"),
    ]


@given(SEEDS)
def test_one_seed_gives_one_split(seed):
    corpus = Made(30, 30)
    made = [mixed_split(corpus, name="m", edges=2, alpha=10.0, count=3, seed=seed) for _ in range(2)]
    assert made[0] == made[1]
    assert domain_split(corpus, name="d", within=3, out=3, seed=seed) == domain_split(corpus, name="d", within=3, out=3, seed=seed)


@pytest.mark.data
def test_the_papers_settings_can_be_made_of_the_evaluation_files(data_folder):
    corpus = UltraDomain.read(data_folder, ["standin_textbooks/*.jsonl", "ultradomain_mix/mix.jsonl"])
    mixed = mixed_split(corpus, name="mixed", edges=10, alpha=10.0, count=5, seed=7)
    assert sum(map(len, mixed.documents.values())) == 69
    assert {len([one for one in mixed.asked if one.edge == edge]) for edge in mixed.documents} == {5}


@pytest.mark.data
@pytest.mark.parametrize("client", ["client_iid", "client_grouped"])
def test_the_evaluation_sets_local_marks_agree_with_the_split(data_folder, client):
    """`local_grouped` and `local_iid` say whether all gold is at the question's home."""
    import orjson

    folder = data_folder / "multihop" / "hotpotqa"
    rows = [orjson.loads(line) for line in (folder / "questions.jsonl").read_bytes().splitlines()]
    split = federated_split(Passages.read(folder, client), name="s", count=ALL, seed=0)
    marks = {row["id"]: row[client.replace("client", "local")] for row in rows}
    assert {one.question.question_id: one.scenario == "within" for one in split.asked} == marks


class Configured:
    """The fields of a split's configuration that deal documents."""

    name, files, edges, alpha, client, set, out = "s", ("books/*.jsonl",), 1, 10.0, "client_iid", "set", 3
    documents, questions, clients, among, asked = ALL, "", 0, (), ALL

    def __init__(self, kind):
        self.kind = kind


@pytest.mark.parametrize(("kind", "edges", "askings"), [("domain", ["art", "cs", "law"], 20), ("mixed", ["edge-01"], 3)])
def test_a_configuration_deals_all_questions_of_ultradomain_files(domains, kind, edges, askings):
    corpus = open_corpus(Configured(kind), domains)
    split = split_of(Configured(kind), corpus, seed=0)
    assert (list(split.documents), len(split.asked)) == (edges, askings)


def test_a_configuration_deals_a_federated_set(multihop):
    split = split_of(Configured("federated"), open_corpus(Configured("federated"), multihop.parent), seed=0)
    assert (list(split.documents), len(split.asked)) == (["client-0", "client-1", "client-2"], 4)


def test_an_edge_whose_domain_asks_nothing_is_asked_nothing(domains, tmp_path):
    configured = Configured("domain")
    configured.questions = tmp_path / "one.jsonl"
    configured.questions.write_text('{"id": "q", "question": "What are the themes?"}')
    split = split_of(configured, open_corpus(configured, domains), seed=0)
    assert [(one.edge, one.scenario) for one in split.asked] == [("art", "within"), ("cs", "out")]
