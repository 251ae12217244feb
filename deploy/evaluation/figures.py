"""The figures of many verdicts: shares with intervals, times and costs, by site and in all; and of two runs, what became of each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from deploy.evaluation.intervals import Estimate, wilson
from deploy.evaluation.verdicts import Verdict

NO_SITE = "no site named"


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares are of questions, but for ``supported`` (of the answers' sentences) and ``claims``; None: nothing to measure it on."""

    questions: int
    failed: int  # without an answer, because of an error
    degraded: int  # with one, and without the cloud or the model that should have given it
    hit: Estimate | None
    answered: Estimate | None
    supported: Estimate | None
    correct: Estimate | None
    claims: Estimate | None
    seconds_p50: float | None  # this and what follows: of those that did not fail
    seconds_p90: float | None
    tokens: float | None  # of one question, at the mean
    sites_asked: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A question whose share of told claims is not as in another run."""

    question: str
    before: float
    now: float


def percent(share: Estimate | None) -> str:
    """A share, rounded.

    >>> percent(Estimate(0.8333, 0.55, 0.95, 12)), percent(None)
    ('83 %', '–')
    """
    return f"{share.mean:.0%}".replace("%", " %") if share else "–"


def interval(share: Estimate | None) -> str:
    """Its 95 % interval, in percent.

    >>> interval(Estimate(0.8333, 0.552, 0.953, 12)), interval(None)
    ('55–95', '')
    """
    return f"{share.low * 100:.0f}–{share.high * 100:.0f}" if share else ""


def figures(verdicts: Sequence[Verdict]) -> Figures:
    """The figures of some verdicts; claims, and sentences, of one question count as one draw."""
    came = [one for one in verdicts if not one.reply.error]
    seconds = sorted(one.reply.seconds for one in came)
    sentences = [(one, place < one.supported) for one in verdicts for place in range(one.sentences)]
    told = [(one, claim.is_told) for one in verdicts for claim in one.claims]
    return Figures(
        len(verdicts),
        len(verdicts) - len(came),
        sum(one.reply.answer is not None and one.reply.answer.degraded for one in verdicts),
        _share((one, one.hit) for one in verdicts if one.hit is not None),
        _share((one, one.answered) for one in verdicts),
        _share(sentences),
        _share((one, one.correct) for one in verdicts),
        _share(told),
        percentile(seconds, 0.5),
        percentile(seconds, 0.9),
        _mean([one.tokens for one in came]),
        _mean([one.sites_asked for one in came]),
    )


def by_site(verdicts: Sequence[Verdict]) -> dict[str, Figures]:
    """The figures of each site, or sites together, that questions name, in the order of the file; nothing where none is named."""
    groups = dict[str, list[Verdict]]()
    for one in verdicts:
        groups.setdefault(", ".join(one.asked.sites) or NO_SITE, []).append(one)
    return {} if groups.keys() <= {NO_SITE} else {site: figures(group) for site, group in groups.items()}


def changes(before: Iterable[Verdict], now: Iterable[Verdict]) -> list[Change]:
    """What has changed among the questions of both runs, what got worse first."""
    scores = {one.asked.question: one.score for one in before}
    pairs = [(one.asked.question, scores[one.asked.question], one.score) for one in now if one.asked.question in scores]
    return sorted((Change(*pair) for pair in pairs if pair[1] != pair[2]), key=lambda change: change.now - change.before)


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that at least ``share`` of them do not exceed; None for no values.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5), percentile([1.0, 2.0], 0.9)
    (2.0, 2.0)
    """
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


def _share(values: Iterable[tuple[Verdict, bool]]) -> Estimate | None:
    pairs = list(values)
    return wilson([float(value) for _, value in pairs], of=[one.asked.question for one, _ in pairs]) if pairs else None


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None
