import random

import pytest

from edge_node.policy.patterns import bounded
from edge_node.policy.rules import STANDARD, Level, Policy, parse
from shared.errors import InputError
from tests.support.policies import EDGES, LABELS, PURPOSES, RandomPolicy

WARDS = """
version = 1
[labels]
public = "full"
patients = "summary"
secret = "never"
[[exceptions]]
labels = ["patients"]
edges = ["ward-*"]
purposes = ["treatment"]
share = "evidence"
[[exceptions]]
edges = ["bank-1"]
share = "never"
"""


def test_the_standard_policy_shares_everything_without_a_label_and_nothing_with_one():
    policy = parse(STANDARD)
    assert (policy.summary_level(()), policy.summary_level(("public",)), policy.questions) == (Level.FULL, Level.NEVER, "yes")


@pytest.mark.parametrize(
    ("labels", "requester", "purpose", "expected"),
    [
        (("public",), "ward-1", None, (Level.FULL, "label public")),
        (("patients",), "ward-1", "treatment", (Level.EVIDENCE, "exception 1")),
        (("patients",), "ward-1", "billing", (Level.SUMMARY, "label patients")),
        (("patients",), "plant-1", "treatment", (Level.SUMMARY, "label patients")),
        (("patients", "secret"), "ward-1", "treatment", (Level.NEVER, "label secret")),
        (("patients", "unheard"), "ward-1", "treatment", (Level.NEVER, "unknown label")),
        (("public",), "bank-1", None, (Level.NEVER, "exception 2")),
        (("unheard",), "bank-1", None, (Level.NEVER, "unknown label")),
        ((), "ward-1", None, (Level.FULL, "unlabelled")),
        ((), "bank-1", None, (Level.NEVER, "exception 2")),
    ],
)
def test_the_strictest_label_decides_and_the_first_exception_that_fits_it(labels, requester, purpose, expected):
    assert parse(WARDS).evidence_level(labels, requester, purpose) == expected


def test_exceptions_are_of_evidence_and_change_no_summary():
    assert parse(WARDS).summary_level(("patients",)) == Level.SUMMARY


def test_an_exception_to_the_evidence_does_not_make_the_summaries_anew():
    without = parse(WARDS.split("[[exceptions]]")[0])
    assert (without.summaries_key == parse(WARDS).summaries_key, without.key == parse(WARDS).key) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "version = 1\nunknown = 1",
        "version = 1\nunlabelled = 'some'",
        "version = 1\nminimum_support = '2'",
        "version = 1\n[[exceptions]]\nshare = 'full'",
        "version = 1\n[[exceptions]]\nlabels = ['x']\nedges = ['*']\nshare = 'full'",
        "version = 1\n[redact]\nidentifiers = ['dna']",
        "version = 1\n[redact]\npatterns = ['(a+)+$']",
        "version = 1\nfault = 'x'",
        "unlabelled = 'full'",
        "version = ",
    ],
)
def test_a_policy_with_a_mistake_is_refused_in_words(text):
    with pytest.raises(InputError, match="the sharing policy cannot be read: "):
        parse(text)


@pytest.mark.parametrize(
    ("policy", "client", "expected"),
    [
        ("yes", None, "yes"), ("yes", "ask", "ask"), ("yes", "no", "no"), ("ask", None, "ask"), ("ask", "yes", "yes"),
        ("ask", "ask", "ask"), ("no", "yes", "no"), ("no", None, "no"), ("no", "ask", "no"),
    ],
)  # fmt: skip
def test_a_question_leaves_only_if_policy_and_client_let_it(policy, client, expected):
    assert parse(f'version = 1\nquestions = "{policy}"').escalation(client) == expected


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "a*", "(a{1,9}){2}", "(?=a)", r"(a)\1", "a{2,}", "x" * 201, "a{1,40}b{1,40}", "a?", "[", "a{1,65}"]
)
def test_a_pattern_whose_search_could_run_away_is_refused(pattern):
    with pytest.raises(InputError, match="cannot be used"):
        bounded(pattern)


@pytest.mark.parametrize(("pattern", "text"), [("PAT-[0-9]{6}", "PAT-004711"), (r"(?:A|B)\d{2,4}", "b123"), (r"\bK\.?\d{3}", "K.123")])
def test_a_pattern_with_bounded_choices_is_taken(pattern, text):
    assert bounded(pattern).fullmatch(text)


# ------------------------------------------------------------ memories


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("public",), Level.NEVER),  # exception 2 is of every label
        ((), Level.NEVER),
        (("unheard",), Level.NEVER),
    ],
)
def test_for_all_an_exception_without_labels_counts_for_every_document(labels, expected):
    assert parse(WARDS).level_for_all(labels) == expected


@pytest.mark.parametrize(
    ("labels", "share", "expected"),
    [
        (("public",), "evidence", Level.FULL),
        (("patients",), "evidence", Level.SUMMARY),
        (("patients",), "never", Level.NEVER),
        (("public", "patients"), "never", Level.NEVER),
        (("public", "secret"), "full", Level.NEVER),
        ((), "never", Level.FULL),
    ],
)
def test_for_all_the_least_of_base_and_exceptions_counts_and_none_gives_more(labels, share, expected):
    assert parse(WARDS.split("[[exceptions]]\nedges")[0].replace('"evidence"', f'"{share}"')).level_for_all(labels) == expected


def test_what_all_may_have_each_requester_may_have():
    rng = random.Random(5)
    for _ in range(500):
        policy = RandomPolicy.drawn(rng)
        labels = rng.sample([*LABELS, "unheard"], rng.randrange(3))
        for_all = parse(f"version = 1\n{policy.text()}").level_for_all(labels)
        assert for_all <= policy.summary(labels)
        assert for_all <= min(policy.evidence(labels, requester, purpose) for requester in EDGES for purpose in PURPOSES)


def test_a_policy_that_cannot_be_read_tells_nobody_anything():
    policy = Policy.nothing("gone").model_copy(update={"unlabelled": "full"})
    assert (policy.level_for_all(()), policy.memories.share) == (Level.NEVER, "off")


def test_memories_stay_here_unless_the_file_says_otherwise():
    assert (parse("version = 1").memories, parse(STANDARD).memories.share) == (parse(STANDARD).memories, "off")


@pytest.mark.parametrize(
    "memories",
    [
        "share = 'all'", "names = ['product']", "epsilon = 0", "epsilon = 11", "epsilon = nan", "epsilon_budget = inf",
        "epsilon_budget = -1", "most = 0", "hints = true",
    ],
)  # fmt: skip
def test_a_mistake_in_what_memories_may_tell_is_refused(memories):
    with pytest.raises(InputError, match="line 3: memories"):
        parse(f"version = 1\n[memories]\n{memories}")


def test_epsilon_may_be_a_whole_number():
    assert parse("version = 1\n[memories]\nepsilon = 1\nepsilon_budget = 3").memories.epsilon == 1.0


def test_only_what_concerns_memories_has_them_told_anew():
    without = parse(WARDS)
    share, limit = parse(f"{WARDS}[memories]\nshare = 'hints'"), parse(f"{WARDS}[daily]\nreplies = 1")
    shut = parse(WARDS.split("[[exceptions]]")[0])
    assert [policy.memories_key == without.memories_key for policy in (share, limit, shut)] == [False, True, False]
    assert share.summaries_key == without.summaries_key


def test_a_file_of_before_has_the_limits_of_a_new_one_and_zero_lifts_one():
    for old in ("version = 1", "version = 1\n[daily]\nshare = 0\n[daily_all]"):
        assert (parse(old).daily, parse(old).daily_all) == (parse(STANDARD).daily, parse(STANDARD).daily_all)
    lifted = parse("version = 1\n[daily]\npassages = 0\n[daily_all]\nreplies = 0")
    assert (lifted.daily.replies, lifted.daily.passages) == (1_000, 0)
    assert (lifted.daily_all.replies, lifted.daily_all.passages) == (0, 50_000)
