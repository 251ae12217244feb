"""Goal S11: of what a policy keeps back, no byte is in anything that leaves, and a change holds from the next request on."""

import json
import random
from base64 import b64decode
from dataclasses import replace

import pytest

from edge_node.egress.policy_file import NAME, WITHDRAWN_AFTER_S
from edge_node.egress.sharing import Sharing
from edge_node.graph.release import SummaryRelease
from edge_node.policy.rules import Level, Policy
from shared.text.marks import mark_of, unpacked
from tests.support.policies import EDGES, LABELS, PURPOSES, Canary, RandomPolicy, Site, spelling
from tests.support.storing import SetClock

DOCUMENTS = 6
POLICIES = 50  # on each site


def canaries(rng):
    for number in range(DOCUMENTS):
        labels = tuple(rng.sample([*LABELS, "unheard-of"], rng.choice((0, 1, 1, 2))))
        yield Canary(f"file-zq{number}f.md", labels, f"zq{number}w", spelling(number + 1))


def forbidden(canary, level, *, needed):
    words = [canary.word, f"zq{canary.name[7]}f", canary.spelling]
    return [word.encode() for word in words] if level < needed else []


async def leaks(site, known, rng):
    """Draw a policy and a request; count the forbidden canaries in the sync, in the replies and in the question that leaves.

    In a quarter of the cases the real client sends them, and tries to sync before the summaries obey the policy too.
    """
    policy = RandomPolicy.drawn(rng, [canary.word for canary in known])
    requester, purpose = rng.choice(EDGES), rng.choice(PURPOSES)
    site.obey(policy.text())
    assert not site.sharing.policy.fault, site.sharing.policy.fault
    real = rng.random() < 0.25
    sync = await site.pushed() if real else b""
    await site.settle()
    assert site.sharing.is_told()
    sync += await site.pushed() if real else site.sync()
    asked = rng.choice(known)
    question, client = f"What of the {asked.word} pump of {asked.spelling}?", rng.choice((None, "yes", "ask", "no"))
    titles = [f"{canary.word} unit" for canary in known] if rng.random() < 0.5 else []
    replies = [await site.reply(question, requester, purpose, titles) for _ in range(policy.replies + 1)]
    escalated = await site.escalated(question, client) if real else b""
    found = [*wrongly_told(policy, known, sync), *wrongly_given(policy, known, b"".join(replies), requester, purpose)]
    found += [f"quote of {word}" for reply in replies for word in wrongly_quoted(policy, known, reply, requester, purpose)]
    found += ["one reply too many"] * (0 < policy.replies < sum(b'"text"' in reply for reply in replies))
    found += wrongly_titled(policy, known, sync)
    found += ["question"] * (bool(escalated) and not policy.lets_leave(client))
    found += [word for word in policy.masked if word.encode() in sync + b"".join(replies) + escalated]
    return found, sync, replies[0], escalated


def marks_in(sync):
    told, left = [], sync.decode().strip()
    while left:  # bodies stand behind one another
        body, end = json.JSONDecoder().raw_decode(left)
        told, left = told + body["upserts"], left[end:].strip()
    return {mark for one in told for mark in unpacked(b64decode(one.get("titles", "")))}


def wrongly_titled(policy, known, sync):
    """Titles that may not leave, and whose marks do."""
    marks = marks_in(sync)
    for canary in known:
        kept = policy.summary(canary.labels) < Level.EVIDENCE or policy.k > 1 or canary.word in policy.masked
        yield from ["title"] * (kept and mark_of(f"{canary.word} unit") in marks)


def wrongly_told(policy, known, sync):
    for canary in known:
        yield from (word for word in forbidden(canary, policy.summary(canary.labels), needed=1) if word in sync)
        if policy.k > 1 and canary.word.encode() in sync:
            yield canary.word


def wrongly_given(policy, known, replies, requester, purpose):
    for canary in known:
        given = policy.evidence(canary.labels, requester, purpose)
        yield from (word for word in forbidden(canary, given, needed=2) if word in replies)


def wrongly_quoted(policy, known, reply, requester, purpose):
    texts = [item["text"] for item in json.loads(reply)["evidence"] if item["quotable"]]
    closed = [canary.word for canary in known if policy.evidence(canary.labels, requester, purpose) < 3]
    return [word for word in closed if any(word in text for text in texts)]


async def campaign(folder, *, sites, naive=False):
    rng, found, told, titled, given, left = random.Random(7 + naive), [], 0, 0, 0, 0
    for number in range(sites):
        async with Site.opened(folder / str(number), naive=naive) as site:
            known = list(canaries(rng))
            for canary in known:
                await site.add(canary)
            await site.load()
            for _ in range(POLICIES):
                leaked, sync, reply, escalated = await leaks(site, known, rng)
                found += leaked
                told += b"zq" in sync
                titled += bool(marks_in(sync))
                given += b"zq" in reply
                left += b"pump" in escalated
    assert told or naive
    assert titled or naive
    assert given
    assert left
    return found


@pytest.mark.campaign
async def test_no_forbidden_canary_leaves_in_1500_random_cases(tmp_path):
    assert await campaign(tmp_path, sites=30) == []


@pytest.mark.campaign
async def test_no_forbidden_canary_leaves_a_site_without_a_graph_in_500_random_cases(tmp_path):
    assert await campaign(tmp_path, sites=10, naive=True) == []


@pytest.mark.long
async def test_no_forbidden_canary_leaves_in_10000_random_cases(tmp_path):
    assert await campaign(tmp_path, sites=200) == []


async def test_null_control_without_the_check_forbidden_canaries_leave_as_evidence(tmp_path, monkeypatch):
    monkeypatch.setattr(Policy, "evidence_level", lambda *_: (Level.FULL, "off"))
    assert await campaign(tmp_path, sites=1) != []


async def test_null_control_without_the_release_forbidden_canaries_leave_in_summaries(tmp_path, monkeypatch):
    monkeypatch.setattr(SummaryRelease, "is_all", property(lambda _: True))
    assert await campaign(tmp_path, sites=1) != []


async def test_null_control_without_the_level_of_passages_marks_of_titles_leave_that_may_not(tmp_path, monkeypatch):
    summaries = Sharing.summaries
    monkeypatch.setattr(Sharing, "summaries", lambda sharing: replace(summaries(sharing), untitled=frozenset()))
    assert set(await campaign(tmp_path, sites=1)) == {"title"}


@pytest.fixture
async def site(tmp_path):
    async with Site.opened(tmp_path, clock=SetClock()) as opened:
        await opened.add(Canary("open.md", (), "zqopen", spelling(1)))
        await opened.add(Canary("shut.md", ("patients",), "zqshut", spelling(2)))
        await opened.settle()
        yield opened


async def test_a_label_that_the_policy_does_not_name_keeps_a_document_here(site):
    assert b"zqopen" in site.sync()
    assert b"zqshut" not in site.sync()
    assert b"zqshut" not in await site.reply("What of the zqshut pump?", "ward-1")


@pytest.mark.parametrize(
    "content", [b"version = 1\nunlabelled = ", b"\xff\xfe", b"version = 1\nsurprise = 1", b"version = 2", b"x" * 300_000]
)
async def test_a_policy_that_cannot_be_read_shares_nothing_and_local_answers_go_on(site, content):
    (site.bench.database.path.parent / NAME).write_bytes(content)
    assert not site.sharing.is_told()
    await withdrawn(site)
    assert (b"zq" in site.sync(), site.bench.graph.summaries()[0].text) == (False, "")
    assert json.loads(await site.reply("What of the zqopen pump?"))["refused"] == "the sharing policy of this site"
    assert (await site.strategy.retrieve("zqopen pump", budget_tokens=100, top_k=5)).evidence


async def withdrawn(site):
    """While a policy cannot be read, no sync goes; at first what the cloud holds stays as it is, and then it is withdrawn."""
    await site.settle()
    assert (b"zq" in site.sync(), site.sharing.is_told()) == (True, False)
    site.bench.documents.clock.time += WITHDRAWN_AFTER_S
    assert not site.sharing.is_told()
    await site.settle()
    assert site.sharing.is_told()


async def test_a_policy_that_is_saved_in_two_writes_changes_no_summary(site):
    file, version = site.bench.database.path.parent / NAME, site.bench.graph.version()
    content = file.read_bytes()
    for part in (b"", content[:40], content):
        file.write_bytes(part)
        await site.settle()
    assert (site.bench.graph.version(), site.sharing.is_told()) == (version, True)


async def test_what_is_deleted_while_no_policy_can_be_read_leaves_the_summaries(site):
    (site.bench.database.path.parent / NAME).unlink()
    await site.bench.remove("open.md")
    await site.settle()
    assert b"zqopen" not in site.sync()


async def test_a_policy_that_is_gone_shares_nothing(site):
    (site.bench.database.path.parent / NAME).unlink()
    assert "No such file" in site.sharing.policy.fault
    assert b"zq" not in await site.reply("What of the zqopen pump?")
    await withdrawn(site)
    assert b"zq" not in site.sync()


async def test_a_changed_policy_holds_from_the_next_request_on(site):
    assert b"zqopen" in await site.reply("What of the zqopen pump?")
    site.obey('unlabelled = "never"\n[labels]\npatients = "full"')
    reply = await site.reply("What of the zqopen pump?")
    assert (b"zqopen" in reply, b"zqshut" in reply) == (False, True)
    assert not site.sharing.is_told()
    await site.settle()
    assert (b"zqopen" in site.sync(), b"zqshut" in site.sync(), site.sharing.is_told()) == (False, True, True)


async def test_other_labels_hold_at_once_and_the_summaries_follow(site):
    site.obey('[labels]\npatients = "never"\npublic = "full"')
    await site.settle()
    text = site.bench.database.row("SELECT raw FROM documents WHERE name = 'shut.md'")["raw"]
    site.bench.documents.accept("shut.md", text, reader="a.md", labels=("public",))
    assert not site.sharing.is_told()
    assert b"zqshut" in await site.reply("What of the zqshut pump?")
    await site.settle()
    assert b"zqshut" in site.sync()
    site.bench.documents.accept("shut.md", text, reader="a.md", labels=("public", "patients"))
    assert b"zqshut" not in await site.reply("What of the zqshut pump?")
    await site.settle()
    assert b"zqshut" not in site.sync()


async def test_withheld_passages_do_not_displace_others(site):
    for number in range(30):
        await site.add(Canary(f"more-{number}.md", ("patients",), f"zqmore{number}", spelling(4)))
    await site.settle()
    assert b"zqopen" in await site.reply("What of the zqshut pump?", "ward-1")


async def test_a_shared_name_is_spelled_as_a_shared_document_spells_it(site):
    for number in range(3):
        await site.add(Canary(f"often-{number}.md", ("patients",), f"zqoften{number}", spelling(2)))
    await site.settle()
    assert (spelling(1).encode() in site.sync(), spelling(2).encode() in site.sync()) == (True, False)


async def test_entities_of_too_few_documents_stay_out_of_summaries(site):
    site.obey("minimum_support = 2\n[labels]\npatients = 'full'")
    await site.settle()
    assert (b"zqopen" in site.sync(), b"ghtingale" in site.sync()) == (False, True)
    site.obey("minimum_support = 3\n[labels]\npatients = 'full'")
    await site.settle()
    assert b"ghtingale" not in site.sync()


async def test_the_limits_of_a_day_are_kept_for_each_requester(site):
    site.obey("[daily]\nreplies = 2")
    replies = [json.loads(await site.reply("What of the zqopen pump?", "ward-1")) for _ in range(3)]
    assert [bool(reply["evidence"]) for reply in replies] == [True, True, False]
    assert "the limit of the day" in replies[2]["refused"]
    assert json.loads(await site.reply("What of the zqopen pump?", "ward-2"))["evidence"]


async def test_a_reply_names_the_rule_of_its_passages_for_the_ledger(site):
    served = await site.served("What of the zqopen pump?", "ward-1")
    assert served.rule == f"unlabelled; policy {site.sharing.policy.key}"


async def test_what_a_model_wrote_of_a_document_is_gone_once_it_is_withheld(tmp_path):
    async with Site.opened(tmp_path, summaries="model") as site:
        site.bench.reply = lambda prompt: "The zqshut unit is told of here at length."
        await site.add(Canary("shut.md", (), "zqshut", spelling(1)))
        await site.add(Canary("open.md", ("public",), "zqopen", spelling(2)))
        site.obey('[labels]\npublic = "full"')
        await site.settle()
        await site.bench.refine()
        assert b"zqshut" in site.sync()
        site.obey('unlabelled = "evidence"\n[labels]\npublic = "full"')
        site.obey('unlabelled = "never"\n[labels]\npublic = "full"')
        await site.settle()
        assert b"zqshut" not in site.sync()


async def test_a_stricter_label_of_a_version_that_still_waits_holds_for_the_one_that_is_served(site):
    site.obey('[labels]\npatients = "never"')
    await site.settle()
    assert b"zqopen" in site.sync()
    waiting = site.bench.documents.accept("open.md", b"The zqopen plan is another.", reader="a.md", labels=("patients",))
    assert (b"zqopen" in await site.reply("What of the zqopen pump?"), site.sharing.is_told()) == (False, False)
    await site.settle()
    assert b"zqopen" not in site.sync()
    site.bench.documents.remove(waiting.document_id)
    await site.settle()
    assert (b"zqopen" in site.sync(), b"zqopen" in await site.reply("What of the zqopen pump?")) == (True, True)


@pytest.mark.parametrize("waits", ["", "patients"])
async def test_a_milder_label_of_a_version_that_still_waits_opens_nothing(site, waits):
    site.obey('[labels]\npatients = "never"\npublic = "full"')
    site.bench.documents.accept("shut.md", b"The zqshut plan is another.", reader="a.md", labels=("public", *filter(None, [waits])))
    await site.settle()
    assert (b"zqshut" in site.sync(), b"zqshut" in await site.reply("What of the zqshut pump?")) == (False, False)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("public", [False, True])
async def test_that_two_names_mean_one_thing_is_told_only_if_a_shared_document_says_so(tmp_path, k, public):
    async with Site.opened(tmp_path) as site:
        site.obey(f"minimum_support = {k}\n[labels]\nsecret = 'never'")
        meaning = [("Project Falcon", "PF")]
        await site.bench.add("one.md", ("PF", "Ward"), related=[("PF", "Ward")])
        await site.bench.add("two.md", ("Project Falcon", "Budget"), related=[("Project Falcon", "Budget")], definitions=meaning * public)
        await site.bench.add("shut.md", ("Project Falcon", "PF"), definitions=meaning, labels=["secret"])
        await site.settle()
        sent = site.sync().decode()
        assert any(told in sent for told in ("Budget – has – PF", "PF – has – Budget")) is (public and k == 1)
        assert ("PF" in sent) is (public or k == 1)


async def test_all_requesters_together_have_a_limit_whatever_names_the_cloud_makes_up(site):
    site.obey("[daily_all]\nreplies = 3")
    given = [bool(json.loads(await site.reply("What of the zqopen pump?", f"ghost-{n}"))["evidence"]) for n in range(6)]
    assert given == [True] * 3 + [False] * 3


async def test_documents_are_given_for_marks_of_their_titles_and_no_other_than_the_policy_lets_go(tmp_path):
    async with Site.opened(tmp_path) as site:
        known = [Canary("a.md", ("public",), "zq0w", "Nightingale"), Canary("b.md", ("patients",), "zq1w", "nIghtingale")]
        for canary in known:
            await site.add(canary)
        await site.load()
        titles = [f"{canary.word} unit" for canary in known]

        async def given(policy, *marked):
            site.obey(policy)
            reply = (await site.served("What stopped?", "ward-2", titles=marked, titles_only=True)).reply
            return {word for word in ("zq0w", "zq1w") if any(word in one.text for one in reply.evidence)}

        open_to_all = '[labels]\npublic = "full"\npatients = "full"\n'
        assert await given(open_to_all, *titles) == {"zq0w", "zq1w"}
        assert await given(open_to_all) == await given(open_to_all, "zq7w unit") == set()
        assert await given('[labels]\npublic = "full"\npatients = "summary"\n', *titles) == {"zq0w"}
        assert await given(f'[redact]\nnames = ["zq0w"]\n{open_to_all}', titles[0]) == set()


async def test_a_mark_does_not_tell_that_a_document_with_this_title_is_parked_or_waits(tmp_path):
    async with Site.opened(tmp_path) as site:
        await site.add(Canary("a.md", ("public",), "zq0w", "Nightingale"))
        await site.load()
        site.obey('[labels]\npublic = "full"\n')
        site.bench.documents.accept("b.md", b"Not read yet.", reader="a.md", title="zq1w unit", labels=("public",))
        assert not (await site.served("What stopped?", "ward-2", titles=["zq1w unit"], titles_only=True)).reply.evidence


async def test_passages_found_by_a_mark_obey_the_settings_of_whole_passages_and_push_none_of_the_questions_own_out(tmp_path):
    async with Site.opened(tmp_path) as site:
        known = [Canary(f"{n}.md", ("public",), f"zq{n}w", "Nightingale") for n in range(8)]
        for canary in known:
            await site.add(canary)
        await site.load()
        site.obey('[labels]\npublic = "full"\n')
        usual = site.search.settings

        async def given(question="Which zq0w pump stopped?", **asked):
            settings = usual.model_copy(update={name: asked.pop(name) for name in ("reader_passages", "reader_threshold") if name in asked})
            site.search.settings = settings
            reply = (await site.served(question, "ward-2", titles=[f"{one.word} unit" for one in known[1:]], whole=True, **asked)).reply
            return [one.title for one in reply.evidence]

        assert len(await given()) == len(set(await given())) == 8
        assert (await given(reader_passages=2))[0] == "zq0w unit"
        assert len(await given(reader_passages=2)) == 2
        assert await given(titles_only=True, reader_threshold=1.0) == []
        assert (await given(deadline_ms=0))[0] == "zq0w unit"
        assert await given(deadline_ms=0, titles_only=True) == []
