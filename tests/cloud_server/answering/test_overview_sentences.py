"""A question about everything by the default method: points stand as they are, counts are added up, each site has its turn."""

import pytest

from shared.counts import Count
from shared.joining import MOST_QUOTED
from shared.models.fake import ScriptedGenerator
from tests.cloud_server.answering.test_overview import BEES, MEADOWS, RIVERS, asked, failing, point, reply, sites, yes

OWLS = "Owls hunt mice in the old barn at night."
LIES = [f"Number {number} of the liar's tales tells of {what}." for number, what in enumerate(("gold", "ships", "rain", "kings", "bread"))]


def spoken(answer):
    return [(one.edge, one.quote) for one in answer.citations]


async def test_points_are_told_in_turn_and_each_sites_in_its_own_order_without_a_call(tmp_path, kit):
    model = failing(AssertionError("nobody asks it"))
    async with sites(tmp_path, kit, generator=model, global_method="sentences") as service:
        replies = {"bank": reply(point(RIVERS), point(MEADOWS, chunk="d2:0", document_id="d2")), "ward": reply(point(BEES))}
        answer, _ = await asked(service, kit, replies)
    assert sorted(spoken(answer)[:2]) == [("bank", RIVERS), ("ward", BEES)]
    assert spoken(answer)[2] == ("bank", MEADOWS)
    assert [line.partition(" [")[0] for line in answer.answer.splitlines()] == [quote[:-1] for _, quote in spoken(answer)]


@pytest.mark.parametrize("honest", [3, 5])
async def test_a_site_that_sends_many_points_displaces_no_other_sites_first(tmp_path, kit, honest):
    texts = [BEES, MEADOWS, RIVERS, OWLS, "Storks nest on chimneys near the marsh."][:honest]
    lies = [point(text, chunk=f"d{n}:0", document_id=f"d{n}") for n, text in enumerate(LIES * 6)]
    async with sites(tmp_path, kit, generator=ScriptedGenerator(lambda _: "", yes), global_method="sentences") as service:
        answer, _ = await asked(service, kit, {"liar": reply(*lies), **{f"site{n}": reply(point(text)) for n, text in enumerate(texts)}})
    assert {quote for edge, quote in spoken(answer) if edge != "liar"} == set(texts)
    assert [edge for edge, _ in spoken(answer)[: honest + 2]].count("liar") <= MOST_QUOTED  # of one matter


async def test_counts_of_sites_are_added_up(tmp_path, kit):
    def named(documents, of):
        return point("Anna Holm runs the depot near the marsh.", said=str(Count("Anna Holm", documents, of)))

    async with sites(tmp_path, kit, global_method="sentences") as service:
        answer, _ = await asked(service, kit, {"bank": reply(named(3, 9)), "ward": reply(named(4, 5), point(BEES, chunk="d3:0"))})
    assert answer.answer.splitlines()[0] == "Anna Holm is named in 7 of 14 documents [1]."
    assert (spoken(answer)[0][0], answer.degraded) == ("ward", False)
