"""The player on a stage of fakes: links without packets, services without processes."""

import asyncio
import time
from functools import partial

import httpx2
import pytest

from deploy.cluster import control
from deploy.cluster.errors import ClusterError
from deploy.lab import play
from deploy.lab.links import Star, obeyed
from deploy.lab.play import Player, Stage
from deploy.lab.scenario import read
from deploy.lab.topology import LinkShape, numbered
from tests.deploy.lab.packets import tcp

HEAD = 'about = "x"\n[[edge]]\nname = "a"\ndata = "a"\n[[edge]]\nname = "b"\ndata = "b"\n'


class World:
    """An edge "a", an edge "b" and a cloud; what is added is in step at once, unless the cloud is ``behind``."""

    def __init__(self):
        self.versions = {"a": 1, "b": 1}
        self.behind = 0  # so many looks at the cloud show the version before
        self.documents = {}
        self.status = "indexed"
        self.asked = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()

    async def answer(self, request):
        edge, path = request.url.host, request.url.path
        if path == "/v1/status":
            return httpx2.Response(200, json={"settled": True})
        if path == "/v1/summaries":
            return httpx2.Response(200, json={"version": self.versions[edge], "summaries": [1] * self.versions[edge]})
        if path == "/v1/edges":
            late, self.behind = min(self.behind, 1), max(0, self.behind - 1)
            rows = [{"edge": edge, "version": version - late, "summaries": version - late} for edge, version in self.versions.items()]
            return httpx2.Response(200, json={"edges": rows})
        if path == "/v1/documents":
            self.versions[edge] += 1
            return httpx2.Response(202, json={"document_id": "d1"})
        if path == "/v1/documents/d1":
            return httpx2.Response(200, json={"status": self.status})
        self.asked.set()
        await self.answers.wait()
        return httpx2.Response(200, json={"evidence": [{"edge": "b"}], "edges": [], "degraded": False})


@pytest.fixture
def world():
    return World()


@pytest.fixture
def star():
    return Star(numbered(["a", "b"]), LinkShape(), lambda _: lambda: 0.5)


@pytest.fixture
async def played(world, star, tmp_path):
    server = await control.serve(tmp_path, partial(obeyed, star))
    (tmp_path / "new.md").write_text("new", encoding="utf-8")
    inflicted = []

    def inflict(fault, name):
        if name == "b":
            raise ClusterError("b does not run")
        inflicted.append((fault, name))

    async def made(events):
        stage = Stage(tmp_path, "http://cloud", {"a": "http://a", "b": "http://b"}, inflict)
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(world.answer)) as http:
            done = await Player(read(HEAD + events), stage, http, tmp_path, lambda told: None).play()
        return done, inflicted

    yield made
    server.close()


async def test_links_are_shaped_cut_and_healed_in_their_turn(played, star):
    done, _ = await played(
        '[[event]]\ndo = "set"\nedge = "a"\nlink = "rate=5mbit"\n[[event]]\ndo = "cut"\n[[event]]\ndo = "heal"\nedge = "b"'
    )
    assert [told.said.split(" ")[0] for told in done.told] == ["rate=5mbit", "rate=5mbit", "rate=50mbit"]
    assert [row["cut"] for row in obeyed(star, play.Command("stats"))] == [True, False]


async def test_an_answer_is_compared_with_what_was_expected_each_time(played):
    done, _ = await played('[[event]]\ndo = "retrieve"\nedge = "a"\nquestion = "why?"\ntimes = 3\nexpect = { cites = ["a"] }')
    assert [told.fault for told in done.told] == ["no passage of a"] * 3


async def test_what_stands_beside_a_question_happens_while_it_is_asked(played, world, star):
    world.answers.clear()

    async def answer_once_it_is_cut():
        await world.asked.wait()
        while not obeyed(star, play.Command("stats", "b"))[0]["cut"]:  # noqa: ASYNC110 - the links tell when they are asked
            await asyncio.sleep(0)
        world.answers.set()

    waiting = asyncio.create_task(answer_once_it_is_cut())
    done, _ = await played('[[event]]\ndo = "retrieve"\nedge = "a"\nquestion = "why?"\n[[event]]\ndo = "cut"\nedge = "b"\nbeside = true')
    await waiting  # the question has no answer before the link is cut; which of both is told first is chance
    assert {told.event.do for told in done.told} == {"cut", "retrieve"}


async def test_an_event_waits_until_its_edge_has_sent_enough(played, star, monkeypatch):
    monkeypatch.setattr(play, "LOOK_S", 0.0)
    sending = asyncio.create_task(send_all(star))
    done, _ = await played('[[event]]\ndo = "cut"\nedge = "a"\nonce_sent = 5000')
    sending.cancel()
    assert done.told[0].said.endswith("cut")
    assert obeyed(star, play.Command("stats", "a"))[0]["up"]["bytes"] >= 5000


async def test_a_cut_is_healed_once_it_has_swallowed_enough_of_what_is_sent_to_its_edge(played, star, monkeypatch):
    monkeypatch.setattr(play, "LOOK_S", 0.0)
    sending = asyncio.create_task(send_all(star))
    done, _ = await played('[[event]]\ndo = "cut"\nedge = "a"\n[[event]]\ndo = "heal"\nedge = "a"\nonce_swallowed = 3')
    sending.cancel()
    (row,) = obeyed(star, play.Command("stats", "a"))
    assert [told.fault for told in done.told] == ["", ""]
    assert (row["cut"], row["down"]["cut"] >= 3) == (False, True)


async def send_all(star):
    while True:
        star.send(0.0, tcp(1, 0, 100))
        star.send(0.0, tcp(0, 1, 100))
        await asyncio.sleep(0)


async def test_the_last_hop_is_passages_for_what_was_retrieved(played, world, star):
    world.answers.clear()

    async def answer_over_the_links():
        await world.asked.wait()
        now = time.monotonic()
        for at, ends in ((now, (1, 0)), (now + 0.5, (0, 1))):
            star.send(at, link_packet(*ends))
        list(star.due(now + 9))
        world.answers.set()

    waiting = asyncio.create_task(answer_over_the_links())
    done, _ = await played('[[event]]\ndo = "retrieve"\nedge = "a"\nquestion = "why?"')
    await waiting
    assert [name for name, _ in done.told[0].transfers] == ["query send", "passages back"]


def link_packet(sender, receiver):
    """A packet of one connection of edge 1 with the cloud, whose ports are the same there and back."""
    packet = bytearray(tcp(sender, receiver, 1000))
    packet[20:24] = bytes(4)
    return bytes(packet)


async def test_a_document_that_was_acknowledged_has_to_be_indexed_in_the_end(played, world):
    add = '[[event]]\ndo = "add"\nedge = "a"\ndocument = "new.md"\n[[event]]\ndo = "in-step"'
    done, _ = await played(add)
    assert ([name for _, _, name in done.acknowledged], done.lost) == (["new.md"], [])
    world.status = "queued"
    assert (await played(add))[0].lost == ["new.md"]


async def test_in_step_waits_for_the_cloud_and_a_look_does_not(played, world, monkeypatch):
    monkeypatch.setattr(play, "LOOK_S", 0.0)
    look = '[[event]]\ndo = "look"\nedge = "a"\n'
    world.behind = 3
    done, _ = await played('[[event]]\ndo = "add"\nedge = "a"\ndocument = "new.md"\n' + look + '[[event]]\ndo = "in-step"')
    assert {seen.edge for seen in done.looks["a"]} == {(2, 2)}
    assert (done.in_step["a"][-1].edge, done.in_step["a"][-1].cloud) == ((2, 2), (2, 2))


async def test_services_are_killed_and_what_fails_is_told_and_the_play_goes_on(played):
    done, inflicted = await played('[[event]]\ndo = "kill"\nedge = "b"\n[[event]]\ndo = "kill"\nedge = "cloud"')
    assert [told.fault for told in done.told] == ["b does not run", ""]
    assert inflicted == [("kill", "cloud")]
