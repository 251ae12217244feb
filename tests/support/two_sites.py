"""What the tests of clients ask: an edge with one report, and a bank that finds its answer at a plant."""

import contextlib

from tests.support.federation import PLANT, REFUSAL, federation
from tests.support.live_edge import live, live_edge

PUMPS = "Juniper Ward reported the failure of four infusion pumps. The pumps stopped at night."
WHO = "Which ward reported the failure?"
ANSWER = "Juniper Ward reported it [1]."
WHICH_LOT = "Which lot of the battery pack caused the failure of infusion pumps?"
LOT = "Lot L-7713 caused the failure [1]."
GONE = {"bank": {"question", "refusal"}, "plant": {"evidence"}}  # the cloud asks the bank too


@contextlib.asynccontextmanager
async def filled(folder, **settings):
    async with live_edge(folder, **settings) as (edge, url):
        await edge.add("report.md", PUMPS)
        yield edge, url


@contextlib.asynccontextmanager
async def bank_and_plant(folder):
    members = {"bank": ("The bank lends money to bakeries.", REFUSAL), "plant": (PLANT, REFUSAL)}
    async with federation(folder, cloud_answer=LOT, edge_answers=members) as (edges, _, _), live(edges["bank"]) as url:
        yield edges, url
