"""What became of each event, whether it was as expected, and the tables of a scenario. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deploy.lab.links import Hop, Transfer
from deploy.lab.scenario import Event, Expect
from shared.plural import counted

TRANSFERS: tuple[Transfer, ...] = (  # in the order of DGRAG Fig. 9
    "query send", "request send", "knowledge send", "answer send", "passages back",
)  # fmt: skip
P95 = 0.95
ANSWERED = "answered"
MISSING = ("late", "offline")


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """One event with its end. ``fault``: what was not as expected; empty if all was."""

    event: Event
    began_s: float  # seconds after all edges were in step
    seconds: float
    said: str = ""
    fault: str = ""
    transfers: tuple[tuple[Transfer, Hop], ...] = ()  # of a question

    def line(self) -> str:
        """The event for a person.

        >>> EventOutcome(Event(do="cut", edge="ward"), 2.5, 0.01, "cut").line()
        '   2.5 s  cut ward: cut'
        """
        head = f"{self.began_s:6.1f} s  {self.event.do} {self.event.edge}: {self.said}"
        return head + (f"  ✗ {self.fault}" if self.fault else "")


@dataclass(frozen=True, slots=True)
class Versions:
    """What an edge has told the cloud, and what the cloud holds of it: (version, summaries)."""

    edge: tuple[int, int]
    cloud: tuple[int, int]


def answer_told(reply: Mapping[str, Any], seconds: float) -> str:
    """What an answer was, in words.

    >>> answer_told({"evidence": [{"edge": "b"}], "edges": [{"edge": "a", "status": "late"}]}, 1.5)
    '1 passage of b in 1.50 s; a late; partial'
    """
    if "error" in reply:
        return f"no answer after {seconds:.2f} s: {reply['error']}"
    found = _passages(reply)
    of = f" of {', '.join(sorted(_sources(reply)))}" if found else ""
    away = [f"{edge} {status}" for edge, status in _asked(reply).items() if status != ANSWERED]
    marks = [word for word, holds in (("degraded", reply.get("degraded")), ("partial", _is_partial(reply))) if holds]
    return "; ".join([f"{counted(len(found), 'passage')}{of} in {seconds:.2f} s", *away, *marks])


def answer_fault(expect: Expect, reply: Mapping[str, Any], seconds: float) -> str:
    """What is not as expected of an answer; empty if all is.

    >>> answer_fault(Expect(degraded=False, cites=("b",)), {"evidence": [{"edge": "a"}], "degraded": False}, 1.0)
    'no passage of b'
    """
    if "error" in reply:
        return str(reply["error"])
    became = _asked(reply)
    faults = [f"no passage of {edge}" for edge in sorted(set(expect.cites) - _sources(reply))]
    what = {edge: became.get(edge, "not named") for edge in sorted(expect.missing)}
    faults += [f"{edge} is not missing: {status}" for edge, status in what.items() if status not in MISSING]
    if expect.partial is not None and _is_partial(reply) != expect.partial:
        faults.append("is not partial" if expect.partial else f"is partial: {reply.get('reason', '')}")
    if expect.degraded is not None and bool(reply.get("degraded")) != expect.degraded:
        faults.append("is not degraded" if expect.degraded else f"is degraded: {reply.get('reason', '')}")
    if expect.within_s is not None and seconds > expect.within_s:
        faults.append(f"took {seconds:.1f} s, {expect.within_s:g} s were expected")
    return "; ".join(faults)


def _asked(reply: Mapping[str, Any]) -> dict[str, str]:
    """What became of each edge that was to be asked."""
    return {str(row["edge"]): str(row["status"]) for row in reply.get("edges", ())}


def _is_partial(reply: Mapping[str, Any]) -> bool:
    """An answer says it itself; retrieved passages come without the word, and mean it by their edges."""
    return bool(reply.get("partial", any(status != ANSWERED for status in _asked(reply).values())))


def _passages(reply: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = reply.get("evidence") or reply.get("citations") or ()
    return found


def _sources(reply: Mapping[str, Any]) -> set[str]:
    return {str(row["edge"]) for row in _passages(reply)}


def mixed(looks: Iterable[Versions], in_step: Iterable[Versions]) -> list[Versions]:
    """The looks at which the cloud held what no version of the edge ever was: a change must be there whole, or not at all.

    ``in_step``: what edge and cloud held in common, before and after.

    >>> before, after = Versions((1, 3), (1, 3)), Versions((2, 5), (2, 5))
    >>> mixed([Versions((2, 5), (1, 3)), Versions((2, 5), (1, 4))], [before, after])
    [Versions(edge=(2, 5), cloud=(1, 4))]
    """
    whole = {seen.cloud for seen in in_step}
    return [look for look in looks if look.cloud not in whole]


def transfer_rows(told: Iterable[EventOutcome]) -> list[dict[str, Any]]:
    """A row for each transfer that took place: how many, and bytes and milliseconds as ``Hop`` counts them."""
    found = [row for event in told for row in event.transfers]
    rows = []
    for name in TRANSFERS:
        hops = [hop for transfer, hop in found if transfer == name]
        if hops:
            sizes, times = sorted(hop.bytes for hop in hops), sorted(hop.ms for hop in hops)
            middle, high = len(hops) // 2, min(len(hops) - 1, int(P95 * len(hops)))
            shown = {"bytes_p50": sizes[middle], "bytes_p95": sizes[high]}
            rows.append({"transfer": name, "n": len(hops)} | shown | {"ms_p50": round(times[middle], 1), "ms_p95": round(times[high], 1)})
    return rows
