"""Goal S12: who crawls a site gets a tenth of it a day, and is noticed at a twentieth, by whatever names it asks."""

import json
import logging
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from edge_node.egress.meter import EgressMeter
from edge_node.egress.sharing import Requester
from shared.records import Evidence
from shared.wire import MAX_EVIDENCE
from tests.support.policies import Site

pytestmark = pytest.mark.campaign

PASSAGES = 1_000  # of two entities each that no other passage has
CROWD = 8  # replies at once


async def crawled(site, name="bank-1"):
    """The different documents that a walker gets: it asks for everything that is there, one after the other, {} in its name is a number."""
    found = set()
    for number in range(PASSAGES):
        reply = json.loads(await site.reply(f"What does pump{number} of ward{number} do?", name.format(number)))
        found |= {item["document_id"] for item in reply["evidence"]}
    return found


def warned(caplog):
    """Who was warned of, with what it had of how many."""
    told = [re.fullmatch(r"(.+) had (\d+) of (\d+) passages of this site today", record.getMessage()) for record in caplog.records]
    return {found[1]: (int(found[2]), int(found[3])) for found in told}


@pytest.fixture(autouse=True)
def warnings(caplog):
    caplog.set_level(logging.WARNING, logger="dgrag.edge.policy")


async def filled(site):
    for number in range(PASSAGES):
        await site.bench.add(f"{number}.md", (f"pump{number}", f"ward{number}"), text=f"The pump{number} of ward{number} leaks.")
    await site.load()


async def test_who_crawls_gets_a_tenth_a_day_and_is_named_at_a_twentieth(tmp_path, caplog):
    async with Site.opened(tmp_path, naive=True) as site:
        site.obey("[daily]\nshare = 0.1")
        await filled(site)
        assert PASSAGES // 20 < len(await crawled(site)) <= PASSAGES // 10
    assert list(warned(caplog)) == ["the requesters together crawl: they have", "bank-1 crawls: it has"]
    assert all(PASSAGES // 20 <= had < PASSAGES // 10 and there == PASSAGES for had, there in warned(caplog).values())


async def test_who_invents_a_name_for_each_question_gets_no_more_and_is_noticed_as_early(tmp_path, caplog):
    async with Site.opened(tmp_path, naive=True) as site:
        site.obey("[daily_all]\nshare = 0.1")
        await filled(site)
        assert PASSAGES // 20 < len(await crawled(site, "bank-{}")) <= PASSAGES // 10
    assert [(PASSAGES // 20 <= had < PASSAGES // 10, there) for had, there in warned(caplog).values()] == [(True, PASSAGES)]


async def crowd(site, monkeypatch, allowed):
    """How many different chunks leave in replies that all have looked before one of them is counted."""
    chunks = [(identity, f"{identity}:0") for identity in site.bench.ids.values()]
    started = threading.Barrier(CROWD)

    def held_up(meter, *reply):
        started.wait()
        return allowed(meter, *reply)

    def served(number):
        mine = chunks[number * MAX_EVIDENCE : (number + 1) * MAX_EVIDENCE]
        found = [Evidence("ward", document, "a.md", chunk, (0, 9), "The pump ", 0.5) for document, chunk in mine]
        return {told.chunk_id for told in site.sharing.served(Requester("bank-1", None), found, []).reply.evidence}

    with monkeypatch.context() as patched, ThreadPoolExecutor(CROWD) as pool:
        patched.setattr(EgressMeter, "take", held_up)
        return len(frozenset().union(*pool.map(served, range(CROWD))))


async def test_replies_that_are_made_at_once_do_not_pass_the_share_together(tmp_path, monkeypatch):
    """Null control: replies that look first and are counted later take more than five times as much."""
    async with Site.opened(tmp_path, naive=True) as site:
        site.obey("[daily]\nshare = 0.1")
        await filled(site)
        assert await crowd(site, monkeypatch, EgressMeter.allowance) == CROWD * MAX_EVIDENCE > PASSAGES // 2
        assert await crowd(site, monkeypatch, EgressMeter.take) == PASSAGES // 10


@pytest.mark.parametrize(
    ("policy", "name"), [("[daily]\npassages = 0", "bank-1"), pytest.param("[daily]\nshare = 0.1", "bank-{}", marks=pytest.mark.long)]
)
async def test_null_control_without_the_limit_it_gets_nearly_everything(tmp_path, policy, name):
    async with Site.opened(tmp_path, naive=True) as site:
        site.obey(policy)
        await filled(site)
        assert len(await crawled(site, name)) > 0.9 * PASSAGES
