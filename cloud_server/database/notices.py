"""What clouds that share a PostgreSQL tell each other at once: short notices, by LISTEN and NOTIFY."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping

import psycopg

from cloud_server.database.port import SharedDatabase
from cloud_server.database.postgres import CONNECT_S, PROCESS, STATEMENT_MS, check_url, one_line

URL = "DGRAG_CLOUD_NOTICES_URL"
CHANNEL = "dgrag"
EVERYBODY = "*"
AGAIN_S = 0.5  # after a line that broke
ALIVE_S = 10.0  # a line that says nothing is looked at so often

POOLED = (
    f"{URL} leads to a pooler, which passes notices on in session mode only; otherwise clouds learn"
    " from each other a second later. Let it name PostgreSQL itself"
)
NO_NOTICES = (
    "DGRAG_CLOUD_DATABASE_URL leads to a pooler, which passes no notices on: this cloud looks into the"
    " store four times a second, and questions to other sites take up to half a second longer."
    f" To avoid that, let {URL} name PostgreSQL itself"
)

log = logging.getLogger("dgrag.cloud.notices")

Heard = Callable[[Mapping[str, str]], None]


class Notices:
    """One line that listens; it is dialled again when it breaks. What was said meanwhile is lost: ``on_gap`` says that something may be.

    Everything runs on the event loop's thread. Raises SettingsError for a ``url`` that is none.
    """

    def __init__(self, url: str, name: str) -> None:
        check_url(url, setting=URL)
        self._url = url
        self._name = name
        self._heard: dict[str, Heard] = {}
        self._gaps: list[Callable[[], None]] = []
        self.listening = asyncio.Event()

    def on(self, kind: str, heard: Heard) -> None:
        """Call ``heard`` with the facts of each notice of this kind that is for this cloud."""
        self._heard[kind] = heard

    def on_gap(self, looks: Callable[[], None]) -> None:
        """Call ``looks`` whenever the line is up anew: also the first time."""
        self._gaps.append(looks)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._listen()
            except psycopg.Error as error:
                log.warning("the line for notices broke: %s", one_line(error))
            self.listening.clear()
            await asyncio.sleep(AGAIN_S)

    async def _listen(self) -> None:
        async with await psycopg.AsyncConnection.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=int(CONNECT_S),
            tcp_user_timeout=STATEMENT_MS,
        ) as line:
            row = await (await line.execute(PROCESS)).fetchone()
            if row is None or row[0] != line.info.backend_pid:
                log.warning(POOLED)
            await line.execute(f"LISTEN {CHANNEL}")
            self.listening.set()
            for looks in self._gaps:
                looks()
            while True:
                async for notice in line.notifies(timeout=ALIVE_S):
                    self._take(notice.payload)
                await line.execute("SELECT 1")

    def _take(self, payload: str) -> None:
        """Anybody who may connect to the database may say anything here: what is of no use to us is left out."""
        try:
            facts = json.loads(payload)
            if facts["to"] in (self._name, EVERYBODY) and (heard := self._heard.get(facts["kind"])):
                heard(facts)
        except (ValueError, KeyError, TypeError) as error:
            log.warning("a notice that is not ours is left out: %s", type(error).__name__)


def open_notices(database: SharedDatabase, url: str, name: str) -> Notices | None:
    """Notices from ``url``, without one from the store; None where a pooler answers there.

    Raises SettingsError for a ``url`` that is none.
    """
    if not url and database.is_pooled:
        log.warning(NO_NOTICES)
        return None
    return Notices(url or database.url, name)
