"""Goal S12: who crawls a site gets a tenth of it a day, and is noticed at a twentieth."""

import json
import logging
import re

from tests.support.policies import Site

PASSAGES = 1_000  # of two entities each that no other passage has


async def crawled(site):
    """The different documents that a walker gets: it asks for everything that is there, one after the other."""
    found = set()
    for number in range(PASSAGES):
        reply = json.loads(await site.reply(f"What does pump{number} of ward{number} do?", "bank-1"))
        found |= {item["document_id"] for item in reply["evidence"]}
    return found


async def filled(site):
    for number in range(PASSAGES):
        await site.bench.add(f"{number}.md", (f"pump{number}", f"ward{number}"), text=f"The pump{number} of ward{number} leaks.")
    await site.load()


async def test_who_crawls_gets_a_tenth_a_day_and_is_named_at_a_twentieth(tmp_path, caplog):
    caplog.set_level(logging.WARNING, logger="dgrag.edge.policy")
    async with Site.opened(tmp_path, naive=True) as site:
        site.obey("[daily]\nshare = 0.1")
        await filled(site)
        assert PASSAGES // 20 < len(await crawled(site)) <= PASSAGES // 10
    (warned,) = [record.getMessage() for record in caplog.records]
    had, there = re.fullmatch(r"bank-1 crawls: it has had (\d+) of (\d+) passages of this site today", warned).groups()
    assert (PASSAGES // 20 <= int(had) < PASSAGES // 10, int(there)) == (True, PASSAGES)


async def test_null_control_without_the_limit_it_gets_nearly_everything(tmp_path):
    async with Site.opened(tmp_path, naive=True) as site:
        site.obey("")
        await filled(site)
        assert len(await crawled(site)) > 0.9 * PASSAGES
