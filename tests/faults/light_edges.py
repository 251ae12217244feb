"""An edge that is only its line: it signs, joins, tells summaries, holds polls and answers, at whichever cloud of several takes it."""

import asyncio
import random
import uuid

import httpx2

from shared.identity import key_id, make_identity
from shared.signing import ANY_CLOUD, Signature
from shared.wire import WIRE_VERSION
from tests.faults.report import Report

TRIES_S = 30.0  # an edge goes on for so long; longer than any outage of a campaign
AWAY = (httpx2.TransportError, asyncio.TimeoutError)
PAUSE_S = 0.05


class LightEdge:
    """What it holds, what the clouds have acknowledged of it, and every signed request that one of them took."""

    def __init__(self, name, urls, report: Report, seed, http):
        self.name, self.urls, self.report, self.rng, self.http = name, urls, report, random.Random(seed), http
        self.taken = []  # signed requests that were taken, as they were on the wire
        self.expelled = False
        self.audience = None  # of all the clouds: they have one key
        self.be_born()

    def be_born(self):
        """A new store with a new key, as after a new machine."""
        self.identity, self.epoch = make_identity(), uuid.uuid4().hex
        self.version, self.held = 0, {}

    @property
    def base(self):
        return f"/v1/edges/{self.name}"

    async def call(self, method, path, body=None, *, audience=None, timeout_s=10.0, urls=None):
        """One signed request to one cloud; returns its response. Raises one of AWAY."""
        url = self.rng.choice(urls or self.urls)
        auth = Signature(self.identity, audience or self.audience)
        request = self.http.build_request(method, url + path, json=body, timeout=timeout_s)
        response = await self.http.send(request, auth=auth)
        if response.is_success and path != "/v1/edges":
            sent = response.request
            self.taken.append((sent.method, sent.url.raw_path.decode(), dict(sent.headers), sent.content))
            del self.taken[:-20]
        return response

    async def insist(self, method, path, body=None, **options):
        """The request, signed anew, until a cloud takes or refuses it."""
        async with asyncio.timeout(TRIES_S):
            while True:
                try:
                    response = await self.call(method, path, body, **options)
                except AWAY:
                    await asyncio.sleep(PAUSE_S)
                    continue
                if response.status_code < 500:
                    return response
                if response.status_code != 503 or "retry-after" not in response.headers:
                    self.report.fault("status", f"{method} {path}: {response.status_code} {response.text[:200]}")
                await asyncio.sleep(PAUSE_S)

    async def join(self):
        body = {"edge": self.name, "public_key": self.identity.public_key, "invitation": ""}
        response = await self.insist("POST", "/v1/edges", body, audience=ANY_CLOUD)
        assert response.status_code == 201, response.text
        self.audience = key_id(response.json()["cloud_key"])

    def changed(self):
        """What it will hold next, and the delta that says so."""
        held = dict(self.held)
        gone = [one for one in held if self.rng.random() < 0.2]
        for one in gone:
            del held[one]
        word = f"w{uuid.uuid4().hex[:10]}"
        upserts = [{"summary_id": f"s{len(held)}-{word}", "text": f"{self.name} keeps {word}.", "entities": 1, "relations": 0}]
        held.update({one["summary_id"]: one["text"] for one in upserts})
        delta = {
            "epoch": self.epoch,
            "base_version": self.version,
            "version": self.version + 1,
            "upserts": upserts,
            "removals": gone,
        }
        return held, delta

    async def sync(self):
        """Tell one change, sometimes at two clouds at once; return when it is acknowledged."""
        held, delta = self.changed()
        if self.rng.random() < 0.3:
            both = [self.insist("PUT", f"{self.base}/summaries", delta) for _ in range(2)]
            responses = await asyncio.gather(*both)
        else:
            responses = [await self.insist("PUT", f"{self.base}/summaries", delta)]
        for response in responses:
            self._judge(response, delta)
        if any(response.is_success for response in responses):
            self.version, self.held = delta["version"], held
            self.report.count("acknowledged")

    def _judge(self, response, delta):
        if self.expelled or response.is_success:
            return
        if response.status_code == 409:
            self.report.fault("lost", f"{self.name} told version {delta['version']}: {response.text[:200]}")
        else:
            self.report.fault("refused", f"{self.name}: {response.status_code} {response.text[:200]}")

    async def greet(self):
        """What the clouds hold must be no less than what they acknowledged."""
        response = await self.insist("GET", f"{self.base}?wire_version={WIRE_VERSION}")
        if response.is_success and not self.expelled and response.json()["version"] < self.version:
            self.report.fault("lost", f"{self.name}: version {response.json()['version']} of {self.version}")

    async def poll(self):
        """Hold one poll and answer what it brings."""
        try:
            response = await self.call("POST", f"{self.base}/poll?wait_s=2", timeout_s=5.0)
        except AWAY:
            await asyncio.sleep(PAUSE_S)
            return
        if not response.is_success:
            await asyncio.sleep(PAUSE_S)
            return
        for asked in response.json()["requests"]:
            text = "It is kept in the cellar."
            passage = {"document_id": "d1", "document": "note.md", "chunk_id": "d1:0", "span": [0, len(text)], "text": text}
            try:
                await self.call("POST", f"{self.base}/replies/{asked['request_id']}", {"evidence": [passage]})
                self.report.count("replies")
            except AWAY:
                self.report.count("replies whose cloud was away")
