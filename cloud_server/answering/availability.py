"""Which edges are worth asking now, and why the others are not: a breaker for those that fail, a reliability for those that lie."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from cloud_server.database.changes import UNREAD, changes, note_change
from cloud_server.database.port import Database
from shared.errors import StoreError
from shared.limits import Breaker, BreakerState
from shared.ports import Clock
from shared.records import EdgeId, EdgeReport
from shared.wire import Task

log = logging.getLogger("dgrag.cloud.standing")
WRITTEN_EVERY_S = 10.0  # a crash may cost so much of what was learnt; a disk sync for each question would cost more
FAIR_SHARE = 0.8  # of a fan-out's whole deadline: an edge that had less and is late has not failed: askers in a hurry open no breakers

WINDOW = 50.0  # replies; older ones weigh less and less
ENOUGH = 20.0  # replies before anything is concluded
LEAST_SHARE = 0.2  # useful replies, below which an edge is asked …
PROBE_SHARE = 0.2  # … with this probability: it must be able to recover
SET_ASIDE = "the cloud's operator has set it aside"
VOICE = 7.0  # replies that count of what another requester saw: three of them can make an edge look useless, two cannot


@dataclass(frozen=True, slots=True)
class Reliability:
    """Replies of one edge that held something useful, and replies that did not, as weights: of one requester WINDOW at most in sum."""

    useful: float = 0.0
    useless: float = 0.0

    @property
    def replies(self) -> float:
        """The sum of both."""
        return self.useful + self.useless

    @property
    def share(self) -> float:
        """Of useful replies, [0, 1]; 1 before ENOUGH is known."""
        return 1.0 if self.replies < ENOUGH else self.useful / self.replies

    @property
    def asked_with_probability(self) -> float:
        """1, or PROBE_SHARE for an edge that is hardly ever of use.

        >>> Reliability(useful=5, useless=15).asked_with_probability, Reliability(useful=3, useless=17).asked_with_probability
        (1.0, 0.2)
        """
        return PROBE_SHARE if self.share < LEAST_SHARE else 1.0

    def after(self, *, useful: bool) -> Reliability:
        """One reply later.

        >>> Reliability(10, 40).after(useful=True)
        Reliability(useful=10.8, useless=39.2)
        """
        earlier = self.at_most(WINDOW - 1)
        return Reliability(earlier.useful + useful, earlier.useless + (not useful))

    def after_all(self, useful: Iterable[bool]) -> Reliability:
        """Several replies later, in their order.

        >>> Reliability().after_all([True, True, False])
        Reliability(useful=2.0, useless=1.0)
        """
        return reduce(lambda seen, one: seen.after(useful=one), useful, self)

    def at_most(self, replies: float) -> Reliability:
        """The same share, of so many replies at most.

        >>> Reliability(10, 40).at_most(5)
        Reliability(useful=1.0, useless=4.0)
        """
        kept = min(1.0, replies / self.replies) if self.replies else 1.0
        return Reliability(self.useful * kept, self.useless * kept)


def total(records: Iterable[Reliability]) -> Reliability:
    """What several requesters saw, together.

    >>> total([Reliability(1, 2), Reliability(3, 4)])
    Reliability(useful=4.0, useless=6.0)
    """
    records = list(records)
    return Reliability(sum((one.useful for one in records), 0.0), sum((one.useless for one in records), 0.0))


@dataclass(frozen=True, slots=True)
class Standing:
    """How an edge stands."""

    reliability: float  # share of its recent replies that were of use, [0, 1]; 1 while too few are known
    asked: float  # probability with which it is asked when its turn comes
    breaker: BreakerState
    breaker_s: float  # until an open one lets a probe go


class Availability:
    """Remembers how edges behaved. All methods belong to the event loop's thread; ``view``, which only looks, to any.

    Whether an edge was of use is remembered for each requester: what one saw decides for its own questions, and is one voice
    of at most VOICE replies for those of others, so that nobody makes an edge look useless to everybody by what it asks.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        breaker_failures: int,
        breaker_s: float,
        deadline_s: float,  # so long an edge may take in a fan-out for passages
        rng: random.Random | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._rng = rng or random.SystemRandom()
        self._new_breaker: Callable[[], Breaker] = lambda: Breaker(breaker_failures, breaker_s, clock)
        self._breakers: dict[tuple[EdgeId, str], Breaker] = {}  # who is slow with reports still answers other questions
        self._deadline_s = deadline_s
        self._seen: dict[EdgeId, dict[str, Reliability]] = {}  # by requester
        self._last = changes(database, "reliability", after=UNREAD).last  # the last change that is in it
        for edge, requester, useful, useless in database.rows("SELECT edge, requester, useful, useless FROM reliability"):
            self._seen.setdefault(EdgeId(edge), {})[requester] = Reliability(useful, useless)
        self._unwritten: dict[tuple[EdgeId, str], list[bool]] = {}  # whether each reply was of use
        self._written = clock.monotonic()

    def chosen(
        self, edges: Sequence[EdgeId], *, k: int, online: Callable[[EdgeId], bool], requester: str = "", task: Task = "evidence"
    ) -> tuple[list[EdgeId], list[EdgeReport]]:
        """The first edges of ``edges`` to ask for ``requester``, until ``k`` are online, and a report for each that is passed over.

        An edge that is offline is among the first, so that the answer names it, but takes nobody's place.
        """
        asked, skipped, reached = [], [], 0
        for edge in edges:
            if reached == k:
                break
            reason = self._why_not(edge, requester, task) if online(edge) else ""
            if reason:
                skipped.append(EdgeReport(edge, task, "skipped", 0.0, 0, 0, reason))
            else:
                asked.append(edge)
                reached += online(edge)
        return asked, skipped

    @staticmethod
    def set_aside(edges: Iterable[EdgeId], task: Task = "evidence") -> list[EdgeReport]:
        """A report for each edge in quarantine. The operator's reason is not for who asks."""
        return [EdgeReport(edge, task, "skipped", 0.0, 0, 0, SET_ASIDE) for edge in edges]

    def lets(self, edge: EdgeId, task: Task = "evidence") -> bool:
        """Whether an edge's breaker is closed, or a probe is due: whether it is of use plays no part."""
        breaker = self._breakers.get((edge, task))
        return breaker is None or breaker.allows()

    async def note(
        self,
        reports: Sequence[EdgeReport],
        *,
        matched: Collection[EdgeId],
        useful: Collection[EdgeId],
        requester: str = "",
        deadline_s: float | None = None,
        outpaced: Collection[EdgeId] = (),
    ) -> None:
        """Learn from a fan-out, whole in ``deadline_s`` where that is not the usual, or from several: an edge counts once.

        ``outpaced`` were left out, as the others had answered long before: whatever the deadline was, they have failed.

        ``matched`` claimed to know, by their summaries or by what they sent; ``useful`` held a passage near to the question.
        Offline and refused are no failures: such an edge holds up nobody. Where nobody was of use the question is to blame.
        Who fails in one of several has failed, and who answers in one is judged by what it sent.
        """
        fair_ms = FAIR_SHARE * (deadline_s or self._deadline_s) * 1000
        failed = {one.edge for one in reports if one.status == "failed" or (one.status == "late" and one.ms >= fair_ms)} | {*outpaced}
        heard = {one.edge for one in reports if one.status in {"answered", "refused"}}
        answered = {one.edge for one in reports if one.status == "answered"}
        for edge, task in dict.fromkeys((one.edge, one.asked_for) for one in reports):
            if edge in failed:
                self._breakers.setdefault((edge, task), self._new_breaker()).failed()
            elif edge in heard and (edge, task) in self._breakers:
                self._breakers[edge, task].succeeded()
            if useful and edge in answered and edge in matched:
                self._learn(edge, requester, useful=edge in useful)
        if self._unwritten and self._clock.monotonic() - self._written >= WRITTEN_EVERY_S:
            await self._write()

    def disappointed(self, edge: EdgeId, requester: str) -> None:
        """An edge has sent a passage that does not say what the edge itself had told of it: nobody else is to blame."""
        self._learn(edge, requester, useful=False)

    def view(self, edge: EdgeId) -> Standing:
        """How an edge stands with all requesters together."""
        breaker = self._breakers.get((edge, "evidence")) or self._new_breaker()
        seen = total(self._seen.get(edge, {}).copy().values())
        return Standing(seen.share, seen.asked_with_probability, breaker.state(), breaker.left_s())

    def _learn(self, edge: EdgeId, requester: str, *, useful: bool) -> None:
        seen = self._seen.setdefault(edge, {})
        seen[requester] = seen.get(requester, Reliability()).after(useful=useful)
        self._unwritten.setdefault((edge, requester), []).append(useful)

    def _why_not(self, edge: EdgeId, requester: str, task: Task) -> str:
        if self._rng.random() >= self._for(edge, requester).asked_with_probability:
            return "its replies were hardly ever of use"
        if self.lets(edge, task):
            return ""
        return f"it failed several times in a row; asked again in {self._breakers[edge, task].left_s():.0f} s"

    def _for(self, edge: EdgeId, requester: str) -> Reliability:
        return total(seen if who == requester else seen.at_most(VOICE) for who, seen in self._seen.get(edge, {}).items())

    async def renew(self) -> None:
        """Learn what other clouds of the store have written."""
        changed = await asyncio.to_thread(changes, self._database, "reliability", after=self._last)
        for edge in changed.edges if changed.is_known else self._seen.keys() | await asyncio.to_thread(self._known):
            stored = await asyncio.to_thread(self._stored, edge)
            told = {who: useful for (of, who), useful in self._unwritten.items() if of == edge}
            self._seen[edge] = {who: stored.get(who, Reliability()).after_all(told.get(who, ())) for who in stored.keys() | told.keys()}
        self._last = changed.last

    async def _write(self) -> None:
        self._written = self._clock.monotonic()
        unwritten, self._unwritten = self._unwritten, {}
        try:
            await asyncio.to_thread(self._add, unwritten)
        except StoreError as error:  # an answer is worth more than what was learnt from it
            log.warning("what was learnt of edges is not stored: %s", error.code)

    def _add(self, unwritten: Mapping[tuple[EdgeId, str], Sequence[bool]]) -> None:
        """Replies upon those that are stored, which other clouds may have written meanwhile."""
        with self._database.write() as tx:
            stored = {edge: self._stored(edge) for edge, _ in unwritten}
            rows = [(edge, who, stored[edge].get(who, Reliability()).after_all(useful)) for (edge, who), useful in unwritten.items()]
            tx.executemany(
                "INSERT INTO reliability (edge, requester, useful, useless) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (edge, requester) DO UPDATE SET useful = excluded.useful, useless = excluded.useless",
                [(edge, requester, one.useful, one.useless) for edge, requester, one in rows],
            )
            for edge in stored:
                note_change(tx, edge, "reliability")

    def _known(self) -> set[EdgeId]:
        """The edges of which the store says anything."""
        return {EdgeId(row["edge"]) for row in self._database.rows("SELECT DISTINCT edge FROM reliability")}

    def _stored(self, edge: EdgeId) -> dict[str, Reliability]:
        """What the store says of an edge, by requester."""
        rows = self._database.rows("SELECT requester, useful, useless FROM reliability WHERE edge = ?", (edge,))
        return {str(requester): Reliability(useful, useless) for requester, useful, useless in rows}
