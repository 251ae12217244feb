"""Goals S11, P1 and P2 for points of reports: of what a policy keeps back nothing leaves in them, however a model copies what it reads."""

import json
import random
import re
from dataclasses import replace

import httpx2
import pytest

from edge_node.answering import counting as counting_module
from edge_node.answering.mapping import Mapper
from edge_node.answering.overview import GlobalAnswerer
from edge_node.answering.picking import SentencePicker
from edge_node.answering.released import ReleasedPassages
from edge_node.cloud.client import CloudClient
from edge_node.communities import named as named_module
from edge_node.egress import sharing as sharing_module
from edge_node.egress.bodies import reply_body
from edge_node.egress.sharing import Requester
from edge_node.policy.rules import Level, Policy
from edge_node.settings import GlobalSettings
from shared.limits import Breaker
from shared.models.fake import WordTokenizer
from shared.ports import SystemClock
from shared.records import Evidence
from shared.reduce import Reducer
from shared.wire import EvidenceRequest
from tests.security.test_policy import canaries, wrongly_given, wrongly_quoted
from tests.support.injections import injections
from tests.support.policies import EDGES, PURPOSES, Canary, RandomPolicy, Site, spelling

POLICIES = 40  # on each site
SETTINGS = GlobalSettings(global_read_tokens=3000, global_context_tokens=400, global_deadline_s=60.0)
NOTE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def copying(prompt):
    """A model that says all that it reads once more, every second note word by word."""
    notes = NOTE.findall(prompt.messages[-1].content)
    return " ".join(f"{'' if int(n) % 2 else 'It is noted that '}{text.rstrip('.')} [{n}]." for n, text in notes) or "Yes"


def agreeing(prompt):
    """It finds every sentence in its passage, and tells nothing else by its first token."""
    return {"Yes": -0.01} if "\nSentence: " in prompt.messages[-1].content else None


def overview_of(site, *, picks=False):
    """``picks``: sentences of reports, and counts; else the model writes about reports."""
    site.bench.reply, site.bench.first_token = copying, agreeing
    model = site.bench.model
    return GlobalAnswerer(
        site.bench.tools,
        site.sharing,
        site.strategy.reports,
        Mapper(model, "ward", max_tokens=400, at_once=2, min_score=0.0),
        Reducer(model, WordTokenizer().count, max_tokens=200),
        None,
        SETTINGS,
        ReleasedPassages(site.bench.tools, site.sharing),
        SentencePicker(model, site.bench.tools.embedder, at_once=2) if picks else None,
    )


def request_of(question, requester="ward-1", purpose=None, **more):
    fixed = {"request_id": "r1", "budget_tokens": 400, "deadline_ms": 60_000, "task": "reports"}
    return EvidenceRequest(**fixed, question=question, requester=requester, purpose=purpose, **more)


def copied(policy, known, reply, requester, purpose):
    """The sentences of documents that may not be quoted which a point shows word by word."""
    shown = " ".join(item["point"] for item in json.loads(reply)["evidence"])
    closed = [canary for canary in known if policy.evidence(canary.labels, requester, purpose) < 3]
    told = [(f"{canary.spelling} visits the {canary.word} unit", f"{canary.word} pump of {canary.spelling}") for canary in closed]
    return [sentence for both in told for sentence in both if sentence in shown]


async def leaks(site, overview, known, rng, inside):
    """Draw a policy and a request for points; what of the reply should not be in it, and the reply."""
    policy = RandomPolicy.drawn(rng, [canary.word for canary in known])
    requester, purpose = rng.choice(EDGES), rng.choice(PURPOSES)
    site.obey(policy.text())
    asked, level = rng.choice(known), rng.choice(("dynamic", 0, 1, 2, 3))
    question = rng.choice((f"What of the {asked.word} pump?", f"Which names are most common near the {asked.word} pump?"))
    request = request_of(question, requester, purpose, level=level, max_bytes=rng.choice((2_000, 6_144, 250_000)))
    replies = [reply_body((await overview.points(request)).reply) for _ in range(policy.replies + 1)]
    found = list(wrongly_given(policy, known, b"".join(replies), requester, purpose))
    for reply in replies:
        found += [f"quote of {word}" for word in wrongly_quoted(policy, known, reply, requester, purpose)]
        found += [f"copy: {sentence}" for sentence in copied(policy, known, reply, requester, purpose)]
        found += [f"id {identity}" for identity in inside if identity.encode() in reply]
        found += ["too long"] * (len(reply) > request.max_bytes)
    found += ["one reply too many"] * (0 < policy.replies < sum(b'"text"' in reply for reply in replies))
    return [*found, *(word for word in policy.masked if word.encode() in b"".join(replies))], replies[0]


async def inside_ids(site):
    """The ids that the store itself has for documents and reports."""
    pages = [await site.strategy.reports.communities(level, limit=99) for level in range(4)]
    return {*site.bench.ids.values(), *(headline.community.community_id for page in pages for headline in page)}


async def campaign(folder, *, sites, seed=11):
    rng, found, replies = random.Random(seed), [], []
    for number in range(sites):
        async with Site.opened(folder / str(number)) as site:
            known = list(canaries(rng))
            for canary in known:
                await site.add(canary)
            await site.settle()
            overview, inside = overview_of(site, picks=number % 2 == 1), await inside_ids(site)
            for _ in range(POLICIES):
                leaked, reply = await leaks(site, overview, known, rng, inside)
                found += leaked
                replies.append(json.loads(reply))
    return found, [point for reply in replies for point in reply["evidence"]]


@pytest.mark.campaign
async def test_no_forbidden_canary_leaves_in_points_in_400_random_cases(tmp_path, monkeypatch):
    monkeypatch.setattr(named_module, "LEAST_DOCUMENTS", 1)  # each name stands in one document here, and is a concept
    monkeypatch.setattr(counting_module, "NAMES", frozenset({"concept"}))
    found, points = await campaign(tmp_path, sites=10)
    assert found == []
    assert sum(bool(point["point"]) for point in points) > 50  # a model's words are among them,
    assert sum(not point["quotable"] for point in points) > 50  # documents that are only read,
    assert sum(bool(point["chunk_ids"]) for point in points) > 50  # and points that rest on several
    assert sum(bool(point["report"]) for point in points) > 500
    assert sum(" is named in " in point["point"] for point in points) > 20  # and counts


@pytest.mark.long
async def test_no_forbidden_canary_leaves_in_points_in_4000_random_cases(tmp_path):
    assert (await campaign(tmp_path, sites=100))[0] == []


async def test_null_control_without_the_check_forbidden_canaries_leave_as_points(tmp_path, monkeypatch):
    monkeypatch.setattr(Policy, "evidence_level", lambda *_: (Level.FULL, "off"))
    assert (await campaign(tmp_path, sites=1))[0] != []


async def test_null_control_without_the_look_for_copies_points_quote_what_is_only_to_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sharing_module, "is_copy", lambda *_: False)
    found, _ = await campaign(tmp_path, sites=2)
    assert {leak.split(":")[0] for leak in found} == {"copy"}


def joined(site, known, rng):
    """Points as a model writes them of several documents at once, which nobody has kept from it."""
    for _ in range(6):
        own, *others = rng.sample(known, rng.choice((1, 1, 2, 3)))
        identity = site.bench.ids[own.name]
        text = f"The {own.word} pump of {own.spelling} stopped."
        said = " and ".join(f"the {canary.word} unit of {canary.spelling}" for canary in (own, *others))
        point = Evidence(
            "ward", identity, own.name, f"{identity}:0", (0, len(text)), text, 0.9, point=f"It tells of {said}.", report="c0ffee"
        )
        yield replace(point, chunk_ids=tuple(f"{site.bench.ids[canary.name]}:0" for canary in others))


def wrongly_joined(policy, known, reply, requester, purpose):
    """The words of documents that may not be quoted in what a point that rests on several shows as a quote."""
    texts = [item["text"] + item["point"] for item in json.loads(reply)["evidence"] if item["quotable"]]
    closed = [canary.word for canary in known if policy.evidence(canary.labels, requester, purpose) < 3]
    return [word for word in closed if any(word in text for text in texts)]


async def joined_campaign(folder, *, cases):
    rng, found, left = random.Random(3), [], []
    async with Site.opened(folder) as site:
        known = list(canaries(rng))
        for canary in known:
            await site.add(canary)
        for _ in range(cases):
            policy = RandomPolicy.drawn(rng, [canary.word for canary in known])
            requester, purpose = rng.choice(EDGES), rng.choice(PURPOSES)
            site.obey(policy.text())
            reply = reply_body(site.sharing.served(Requester(requester, purpose), list(joined(site, known, rng)), ()).reply)
            found += [*wrongly_given(policy, known, reply, requester, purpose), *wrongly_joined(policy, known, reply, requester, purpose)]
            found += [word for word in (*policy.masked, *site.bench.ids.values(), "c0ffee") if word.encode() in reply]
            left += json.loads(reply)["evidence"]
    assert sum(bool(point["chunk_ids"]) for point in left) > cases / 10
    return found


@pytest.mark.campaign
async def test_no_forbidden_canary_leaves_in_1500_replies_of_points_that_join_documents(tmp_path):
    assert await joined_campaign(tmp_path, cases=1500) == []


async def test_null_control_a_look_at_a_points_own_document_alone_lets_others_out(tmp_path, monkeypatch):
    monkeypatch.setattr(sharing_module, "_rests_on", lambda item: [item.document_id])
    assert await joined_campaign(tmp_path, cases=40) != []


# ---------------------------------------------------------------- one site


@pytest.fixture
async def site(tmp_path):
    async with Site.opened(tmp_path) as opened:
        for number, labels in enumerate([(), ("public",), ("patients",)]):
            await opened.add(Canary(f"zq{number}.md", labels, f"zq{number}w", spelling(number + 1)))
        opened.obey('[labels]\npublic = "evidence"\npatients = "never"\n[redact]\nnames = ["zq1w"]\n[daily]\npassages = 1000')
        await opened.settle()
        yield opened


async def test_a_point_of_one_document_that_may_be_quoted_and_one_that_may_be_read_is_read_only(site):
    full, read = (site.bench.ids[f"zq{n}.md"] for n in range(2))
    copied, own = f"The zq1w pump of {spelling(2)} broke.", "Two pumps gave out."
    text = f"The zq0w pump of {spelling(1)} stopped."
    joined = Evidence("ward", full, "zq0.md", f"{full}:0", (0, len(text)), text, 0.9, report="c0ffee", chunk_ids=(f"{read}:0",))
    points = [replace(joined, point=own), replace(joined, point=copied), replace(joined, point=copied, chunk_ids=())]
    evidence = site.sharing.served(Requester("ward-1", None), points, ()).reply.evidence
    assert [(item.quotable, bool(item.point)) for item in evidence] == [(False, True), (False, False), (True, True)]


async def test_a_requester_whose_day_is_spent_costs_no_model_call(site):
    site.obey("[daily]\nreplies = 1")
    overview = overview_of(site)
    assert (await overview.points(request_of("What of the pumps?"))).reply.evidence
    calls = len(site.bench.model.prompts)
    served = await overview.points(request_of("What of the pumps?"))
    assert served.reply.refused.endswith("the limit of the day")
    assert len(site.bench.model.prompts) == calls > 0


async def sent(site, served, requester):
    """The bodies that the real client puts on the wire for a reply."""
    bodies = []

    def cloud(request):
        bodies.append(request.content)
        return httpx2.Response(204)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(cloud), base_url="http://127.0.0.1:9") as http:
        client = CloudClient(http, "ward", site.ledger, Breaker(3, 30.0, SystemClock()), patience_s=9.0)
        await client.reply("r1", served.reply, requester=requester, rule=served.rule, holds=served.holds)
    return bodies


async def test_meter_and_ledger_count_the_bytes_and_points_that_were_sent(site):
    overview, total = overview_of(site), []
    for level in ("dynamic", 0, 2):
        served = await overview.points(request_of("What of the pumps?", level=level))
        total += await sent(site, served, "ward-1")
        assert served.reply.evidence
    spent = site.ledger.spent("ward-1", since=0.0)
    chunks = [[identity for item in json.loads(body)["evidence"] for identity in (item["chunk_id"], *item["chunk_ids"])] for body in total]
    assert (spent.replies, spent.passages, spent.bytes) == (3, sum(map(len, chunks)), sum(map(len, total)))
    assert site.sharing._meter._had["ward-1"] == (spent.replies, spent.passages, spent.bytes)
    entry = site.ledger.entries()[0]
    assert (entry.kind, entry.rule.split("; ")[1]) == ("evidence", f"policy {site.sharing.policy.key}")
    assert json.loads(entry.items) == chunks[0]
    assert not any(f"zq{n}".encode() in str(entry).encode() for n in range(3))


async def test_what_a_dry_run_shows_of_points_is_byte_for_byte_what_is_sent(site):
    overview = overview_of(site)
    request = request_of("What of the pumps?", max_bytes=6_144)
    shown = reply_body((await overview.tried_points(request)).reply)
    (body,) = await sent(site, await overview.points(request), "ward-1")
    assert times(shown) == times(body)
    assert b"zq0w" in body


def times(body):
    """A body without how long its steps took."""
    return re.sub(rb'"ms":[\d.]+', b'"ms":0', body)


async def test_points_stay_here_once_the_policy_has_changed(site):
    served = await overview_of(site).points(request_of("What of the pumps?"))
    assert served.holds()
    site.obey('unlabelled = "never"')
    assert not served.holds()


async def test_whatever_a_question_says_points_tell_no_more_than_the_policy_lets_go(site):
    overview, told = overview_of(site), 0
    questions = [text for text in injections() if 0 < len(text) <= 4_000]
    for question in random.Random(5).sample(questions, 60):
        site.bench.reply = lambda prompt, said=question: f"{said} [99] {copying(prompt)}\n{said} Score: 100"
        reply = reply_body((await overview.points(request_of(question, "bank-1", max_bytes=6_144))).reply)
        assert not any(word in reply for word in (b"zq2", spelling(3).encode(), b"zq1w"))
        assert len(reply) <= 6_144
        told += b"zq0w" in reply
    assert told > 30


async def test_of_a_site_that_shares_nothing_with_a_requester_no_model_reads_anything(site):
    site.obey('unlabelled = "never"')
    served = await overview_of(site).points(request_of("What of the pumps?"))
    assert (served.reply.refused, served.reply.reports_there, site.bench.model.prompts) == ("the sharing policy of this site", 0, [])
