"""Goal S16: nobody gets what was found for somebody else, for another purpose, or under another policy. Replies are not cached at all."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.wire import EvidenceRequest
from tests.support.running_edge import running_edge

QUESTION = "Which lot of the battery pack caused the failure"
SECRET = "Lot L-7713 of the battery pack caused the failure."
POLICY = """
version = 1
[labels]
patients = "summary"
[[exceptions]]
labels = ["patients"]
edges = ["ward-*"]
purposes = ["treatment"]
share = "evidence"
"""
NOTHING = 'version = 1\n[labels]\npatients = "summary"\n'
ASKED = st.tuples(
    st.sampled_from(["ward-1", "ward-2", "ward", "bank", "ward-1 ", "WARD-1", ""]),
    st.sampled_from(["treatment", "research", "treatment_", None]),
    st.sampled_from(["", "?", " ?", "??", "\u200b?", "  ", "\u00a0?"]),
)


@pytest.fixture
async def edge(tmp_path):
    (tmp_path / "policy.toml").write_text(POLICY)
    async with running_edge(tmp_path) as running:
        body = {"name": "report.md", "text": SECRET, "labels": ["patients"]}
        assert (await running.http.post("/v1/documents", json=body)).status_code == 202
        await running.settled()
        yield running


async def told(edge, requester, purpose, end):
    request = EvidenceRequest(
        request_id="r", question=QUESTION + end, requester=requester, purpose=purpose, budget_tokens=300, deadline_ms=5_000
    )
    return bool((await edge.node.for_others.evidence(request)).reply.evidence)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.lists(ASKED, min_size=100, max_size=100))
async def test_near_identical_questions_never_cross(edge, asked):
    """1,000 questions in all: each gets what its own requester and purpose may have, whoever asked before."""
    for requester, purpose, end in asked:
        assert await told(edge, requester, purpose, end) == (requester in ("ward-1", "ward-2", "ward-1 ") and purpose == "treatment")


async def test_a_changed_policy_holds_for_the_very_next_of_the_same_questions(edge, tmp_path):
    for policy, given_away in [(POLICY, True), (NOTHING, False)] * 20:
        (tmp_path / "policy.toml").write_text(policy)
        assert await told(edge, "ward-1", "treatment", "?") == given_away


async def test_a_deleted_document_is_not_remembered(edge):
    assert await told(edge, "ward-1", "treatment", "?")
    (document,) = (await edge.http.get("/v1/documents")).json()["documents"]
    await edge.http.delete(f"/v1/documents/{document['document_id']}")
    assert not await told(edge, "ward-1", "treatment", "?")


async def test_a_cache_by_question_alone_is_seen_to_cross(edge, monkeypatch):
    """The null control: replies remembered as many systems have it."""
    evidence, cache = edge.node.for_others.evidence, {}

    async def remembered(request):
        if request.question not in cache:
            cache[request.question] = await evidence(request)
        return cache[request.question]

    monkeypatch.setattr(edge.node.for_others, "evidence", remembered)
    assert await told(edge, "ward-1", "treatment", "?")
    with pytest.raises(AssertionError):
        await test_near_identical_questions_never_cross.hypothesis.inner_test(edge, [("bank", "treatment", "?")])
