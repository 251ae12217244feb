"""The choice: bars that keep a site's own questions and send away most others, from scores without labels (DGRAG §IV-D, §IV-E). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise, product
from typing import Literal

from edge_node.calibration.signals import Signals, Thresholds, escalation
from edge_node.settings import GateSettings
from shared.intervals import wilson_interval

Kind = Literal["own", "hidden", "foreign"]  # of a question: its passage is here; its document is hidden; it is of another field

WANTED_WITHIN = 0.09  # so many of a site's own questions are escalated at most
LOST = 0.05  # of the own questions, whose nearest passage may be too far
LEAST = 8  # questions of a site's own documents, from which on a choice is made
LOOSER = {"max_refusals": (0.6, 0.8), "min_similarity": (0.0,)}  # beside the present value; without refusals the check of sentences is off


@dataclass(frozen=True, slots=True)
class Scored:
    """A question that was tried, and how the gate's steps scored it."""

    kind: Kind
    seen: Signals


@dataclass(frozen=True, slots=True)
class Share:
    """So many ``of`` all questions are escalated; ``low`` and ``high``: Wilson's 95 % interval."""

    escalated: int
    of: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Choice:
    """The thresholds before and after, by setting, and the shares of questions that they escalate: of the site's own, and others."""

    before: Mapping[str, float]
    after: Mapping[str, float]
    own_before: Share
    own_after: Share
    other_before: Share
    other_after: Share


def limits_of(settings: GateSettings) -> Thresholds:
    """The thresholds of settings."""
    return Thresholds(**{field.name: getattr(settings, field.name) for field in fields(Thresholds)})


def chosen(rows: Sequence[Scored], now: Thresholds, free: frozenset[str]) -> Choice:
    """Choose the ``free`` thresholds: nearness, then sufficiency, then, where too many own questions escalate still, what samples must do.

    Of equal choices the one nearest to the present thresholds wins. Raises ValueError without questions of both kinds.
    """
    seen, limits = [row.seen for row in rows], now
    if "min_nearness" in free:
        limits = replace(limits, min_nearness=nearness_bar(rows))
    if "min_sufficiency" in free:
        limits = replace(limits, min_sufficiency=sufficiency_bar(seen, now.min_sufficiency))
    after = min(_looser(limits, free), key=lambda one: _cost(seen, one, now))
    before, then = escalation(seen, now), escalation(seen, after)
    own = sum(row.within for row in seen)
    shares = [_share(share, of) for found in (before, then) for share, of in ((found.within, own), (found.out, len(seen) - own))]
    return Choice(_named(now, free), _named(after, free), shares[0], shares[2], shares[1], shares[3])


def sufficiency_bar(seen: Sequence[Signals], now: float) -> float:
    """The present P(yes) where at most ``WANTED_WITHIN`` of the own questions lie below; else a lower one, below which most others lie.

    Never a higher one: questions that are made of sentences are surer than what people ask. What becomes of an own question's samples
    plays no part: one that the model refuses to answer says as much about the bar as any.

    >>> rows = [Signals(p > 0.3, False, 0.7, 0.0, None, p, None) for p in (0.36, 0.4, 0.28, 0.2)]
    >>> sufficiency_bar(rows, 0.45), sufficiency_bar(rows, 0.25)
    (0.32, 0.25)
    """
    own, other = ([row.sufficiency for row in seen if row.within is kind and row.sufficiency is not None] for kind in (True, False))
    scores = sorted({0.0, *own, *other})
    lower = [bar for low, high in pairwise(scores) if (bar := round((low + high) / 2, 4)) < now]

    def lost(bar: float) -> float:
        return sum(score < bar for score in own) / max(len(own), 1)

    if lost(now) <= WANTED_WITHIN:
        return now
    return min((0.0, *lower), key=lambda bar: (max(lost(bar) - WANTED_WITHIN, 0.0), sum(score >= bar for score in other), lost(bar), -bar))


def nearness_bar(rows: Sequence[Scored]) -> float:
    """The cosine half-way between questions of other fields and the site's own, of which it may lose one of twenty.

    >>> seen = [Signals(False, False, near, 0.0, None, None, None) for near in (0.7, 0.6, 0.2)]
    >>> nearness_bar([Scored("own", seen[0]), Scored("own", seen[1]), Scored("foreign", seen[2])])
    0.4
    """
    own, foreign = (sorted(row.seen.nearness or -1.0 for row in rows if row.kind == kind) for kind in ("own", "foreign"))
    if not own or not foreign:
        raise ValueError("there is no question of the site's own documents, or none of another field")
    least = own[int(LOST * len(own))]
    return round((least + foreign[-1]) / 2 if foreign[-1] < least else least, 2)


def _looser(limits: Thresholds, free: frozenset[str]) -> Iterator[Thresholds]:
    bars = {name: (getattr(limits, name), *values) for name, values in LOOSER.items() if name in free}
    for values in product(*bars.values()):
        yield replace(limits, **dict(zip(bars, values, strict=True)))


def _cost(seen: Sequence[Signals], limits: Thresholds, now: Thresholds) -> tuple[float, ...]:
    found = escalation(seen, limits)
    moved = [abs(getattr(limits, name) - getattr(now, name)) for name in LOOSER]
    return max(found.within - WANTED_WITHIN, 0.0), -found.out, sum(by > 0 for by in moved), sum(moved)


def _share(share: float, of: int) -> Share:
    low, high = wilson_interval(share, of)
    return Share(round(share * of), of, round(low, 4), round(high, 4))


def _named(limits: Thresholds, free: frozenset[str]) -> dict[str, float]:
    return {field.name: round(getattr(limits, field.name), 4) for field in fields(Thresholds) if field.name in free}
