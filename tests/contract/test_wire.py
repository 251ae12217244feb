"""A rolling upgrade: a cloud of the next number of the wire takes what edges of a former one send."""

import asyncio
import json

import pytest

from cloud_server.api import edges as routes
from shared.wire import WIRE_TAKEN, WIRE_VERSION
from tests.contract.wire_bodies import FOLDER
from tests.support.running_cloud import running_cloud
from tests.support.signed import AsEdges, join
from tests.support.waiting import until

NUMBERS = sorted(int(path.stem) for path in FOLDER.glob("*.json"))


def test_bodies_of_each_number_that_a_cloud_takes_are_recorded():
    assert set(WIRE_TAKEN) <= set(NUMBERS)
    assert max(WIRE_TAKEN) == WIRE_VERSION


class Replay:
    """Sends what was recorded, signed anew: bodies stay as they are, but for the keys and the ids of this run."""

    def __init__(self, service, number):
        self.http, self.cloud = service.http, service.cloud
        self.said = json.loads((FOLDER / f"{number}.json").read_text(encoding="utf-8"))
        self.edges = AsEdges(service.cloud.credentials.identity.key_id)

    def of(self, method, path):
        return [one for one in self.said if one["method"] == method and path in one["path"]]

    async def send(self, one, **ids):
        body = {} if one["body"] is None else {"json": one["body"]}
        return await self.http.request(one["method"], one["path"].format(**ids), auth=self.edges.of(one["edge"]), **body)

    async def joined(self):
        """The status of each join and greeting, and the number that the cloud then speaks."""
        answers = []
        for one in self.said:
            if (one["method"], one["path"]) == ("POST", "/v1/edges"):
                said = {name: value for name, value in one["body"].items() if name not in ("edge", "public_key", "invitation")}
                answers.append(await join(self.http, one["edge"], self.edges.identity(one["edge"]), **said))
        for one in self.of("GET", "?wire_version="):
            answers.append(await self.send(one))
        return [(answer.status_code, answer.json().get("wire_version")) for answer in answers]

    async def told(self):
        """The statuses of deltas and heads of ledgers."""
        return [(await self.send(one)).status_code for one in self.of("PUT", "/")]

    async def asked(self):
        """One question, which the plant answers; the statuses of the reply and of the answer, and who answered."""
        (question,), (poll,), (reply,) = self.of("POST", "/v1/questions"), self.of("POST", "/plant/poll"), self.of("POST", "/plant/replies")
        polling = asyncio.create_task(self.send(poll))
        await until(lambda: self.cloud.mailbox.online("plant"))
        asking = asyncio.create_task(self.send(question))
        (request,) = (await polling).json()["requests"]
        replied = await self.send(reply, request_id=request["request_id"])
        answer = await asking
        return replied.status_code, answer.status_code, {one["edge"]: one["status"] for one in answer.json()["edges"]}["plant"]


@pytest.mark.parametrize("number", NUMBERS)
async def test_what_edges_of_a_former_number_say_is_taken_and_answered_in_that_number(tmp_path, monkeypatch, number):
    monkeypatch.setattr(routes, "WIRE_TAKEN", (number + 1, number))
    monkeypatch.setattr(routes, "WIRE_VERSION", number + 1)
    async with running_cloud(tmp_path) as service:
        replay = Replay(service, number)
        assert set(await replay.joined()) == {(201, number), (200, number)}
        assert set(await replay.told()) == {200}
        assert await replay.asked() == (204, 200, "answered")


async def test_of_a_number_that_is_older_than_the_former_one_nobody_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(routes, "WIRE_TAKEN", (WIRE_VERSION + 2, WIRE_VERSION + 1))
    async with running_cloud(tmp_path) as service:
        assert {status for status, _ in await Replay(service, WIRE_VERSION).joined()} == {409, 401}
