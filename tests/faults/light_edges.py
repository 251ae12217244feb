"""An edge that is only its line: it signs, joins, tells summaries, holds polls and answers, at whichever cloud of several takes it."""

import asyncio
import random
import uuid
from dataclasses import dataclass, field

import httpx2

from shared.identity import key_id, make_identity
from shared.signing import ANY_CLOUD, Signature
from shared.wire import WIRE_VERSION
from tests.faults.report import Report
from tests.support.waiting import HANGS_S

AWAY = (httpx2.TransportError, asyncio.TimeoutError)
PAUSE_S = 0.05


@dataclass
class Life:
    """An edge's store and key, and what the clouds have acknowledged of it. An expelled edge joins again with a new one."""

    identity: object = field(default_factory=make_identity)
    epoch: str = field(default_factory=lambda: uuid.uuid4().hex)
    version: int = 0
    held: dict = field(default_factory=dict)  # texts by summary
    gone: dict = field(default_factory=dict)  # those that were withdrawn, and acknowledged
    ended: bool = False  # its expulsion was asked for: it may be refused from now on


class LightEdge:
    """What it holds, and every signed request that a cloud took of it."""

    def __init__(self, name, urls, report: Report, seed, http):
        self.name, self.urls, self.report, self.rng, self.http = name, urls, report, random.Random(seed), http
        self.taken = []  # signed requests that were taken, as they were on the wire
        self.audience = None  # of all the clouds: they have one key
        self.life = Life()

    @property
    def base(self):
        return f"/v1/edges/{self.name}"

    async def call(self, method, path, body=None, *, life=None, audience=None, timeout_s=10.0, urls=None):
        """One signed request to one cloud; returns its response. Raises one of AWAY."""
        url = self.rng.choice(urls or self.urls)
        auth = Signature((life or self.life).identity, audience or self.audience)
        request = self.http.build_request(method, url + path, json=body, timeout=timeout_s)
        response = await self.http.send(request, auth=auth)
        if response.is_success and path != "/v1/edges":
            sent = response.request
            self.taken.append((sent.method, sent.url.raw_path.decode(), dict(sent.headers), sent.content))
            del self.taken[:-20]
        return response

    async def insist(self, method, path, body=None, **options):
        """The request, signed anew, until a cloud takes or refuses it."""
        async with asyncio.timeout(HANGS_S):
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

    async def join(self, invitation=""):
        """Join with a new life; the cloud is in open mode, and takes one without an invitation too."""
        life = Life()
        response = await self.insist("POST", "/v1/edges", self._enrolment(life, invitation), life=life, audience=ANY_CLOUD)
        assert response.status_code == 201, response.text
        self.audience, self.life = key_id(response.json()["cloud_key"]), life

    async def intrude(self, invitation, url):
        """Somebody else comes with an invitation that this edge has used."""
        life = Life()
        return await self.call("POST", "/v1/edges", self._enrolment(life, invitation), life=life, audience=ANY_CLOUD, urls=[url])

    def _enrolment(self, life, invitation):
        return {"edge": self.name, "public_key": life.identity.public_key, "invitation": invitation}

    def changed(self, life):
        """What it will hold next, and the delta that says so."""
        held = dict(life.held)
        gone = [one for one in held if self.rng.random() < 0.2]
        for one in gone:
            del held[one]
        word = f"w{uuid.uuid4().hex[:10]}"
        upserts = [{"summary_id": f"s{len(held)}-{word}", "text": f"{self.name} keeps {word}.", "entities": 1, "relations": 0}]
        held.update({one["summary_id"]: one["text"] for one in upserts})
        delta = {
            "epoch": life.epoch,
            "base_version": life.version,
            "version": life.version + 1,
            "upserts": upserts,
            "removals": gone,
        }
        return held, delta

    async def sync(self):
        """Tell one change, sometimes at two clouds at once; return when it is acknowledged."""
        life = self.life
        held, delta = self.changed(life)
        copies = 2 if self.rng.random() < 0.3 else 1
        for response in await asyncio.gather(*(self.insist("PUT", f"{self.base}/summaries", delta, life=life) for _ in range(copies))):
            if response.is_success:
                life.gone.update({one: life.held[one] for one in life.held.keys() - held.keys()})
                life.version, life.held = delta["version"], held
            elif not life.ended:
                kind = "lost" if response.status_code == 409 else "refused"
                told = f"{self.name} told version {delta['version']}"
                self.report.fault(kind, f"{told}: {response.status_code} {response.text[:200]}")
        if life.version == delta["version"]:
            self.report.count("acknowledged")

    async def greet(self):
        """What the clouds hold must be no less than what they acknowledged."""
        life = self.life
        response = await self.insist("GET", f"{self.base}?wire_version={WIRE_VERSION}", life=life)
        if not life.ended and not (response.is_success and response.json()["version"] >= life.version):
            self.report.fault("lost", f"{self.name}, at version {life.version}, hears {response.status_code} {response.text[:200]}")

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
