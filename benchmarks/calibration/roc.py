"""How well one score of the gate tells questions of a site's own domain from others, at every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold does: a question whose score is below it is escalated. Shares in [0, 1]."""

    threshold: float
    within: float  # share of the within-domain questions that is escalated: the false positive rate
    out: float  # share of the out-of-domain questions that is escalated: the true positive rate

    @property
    def youden(self) -> float:
        """Youden's J: true positive rate less false positive rate, [-1, 1]."""
        return self.out - self.within


@dataclass(frozen=True, slots=True)
class Roc:
    """One point for each threshold that changes anything, rising; empty, without an AUC, where one kind of question has no score."""

    points: tuple[Point, ...]
    auc: float | None  # P(an out-of-domain question scores below a within-domain one), ties counted half
    within: int  # questions with a score
    out: int
    left_out: int  # scores that are no finite number


def roc(within: Sequence[float], out: Sequence[float]) -> Roc:
    """The ROC of "a low score escalates". What is not finite is left out and counted.

    The first threshold lets all pass, the last, just above the highest score, lets none; between them each is a score that occurs,
    so equal scores fall together.

    >>> curve = roc(within=[0.75, 0.5], out=[0.5, 0.25])
    >>> curve.auc, [(round(point.threshold, 6), point.within, point.out) for point in curve.points]
    (0.875, [(0.25, 0.0, 0.0), (0.5, 0.0, 0.5), (0.75, 0.5, 1.0), (0.75, 1.0, 1.0)])
    """
    home, away = _numbers(within), _numbers(out)
    left_out = len(within) + len(out) - len(home) - len(away)
    if not len(home) or not len(away):
        return Roc((), None, len(home), len(away), left_out)
    known = np.unique(np.concatenate([home, away]))
    thresholds = np.append(known, np.nextafter(known[-1], np.inf))
    below_home = np.searchsorted(home, thresholds) / len(home)
    below_away = np.searchsorted(away, thresholds) / len(away)
    rows = zip(thresholds.tolist(), below_home.tolist(), below_away.tolist(), strict=True)
    return Roc(tuple(Point(*row) for row in rows), _auc(home, away), len(home), len(away), left_out)


def best_youden(curve: Roc) -> Point | None:
    """The point of the largest Youden's J, the lowest threshold on a tie: it escalates least. None for an empty curve."""
    return max(curve.points, key=lambda point: (point.youden, -point.threshold), default=None)


def best_within(curve: Roc, share: float) -> Point | None:
    """The point that escalates most out-of-domain questions and at most ``share`` of the within-domain ones; lowest threshold on a tie.

    >>> best_within(roc(within=[0.8, 0.6], out=[0.6, 0.2]), 0.4)
    Point(threshold=0.6, within=0.0, out=0.5)
    """
    allowed = [point for point in curve.points if point.within <= share]
    return max(allowed, key=lambda point: (point.out, -point.threshold), default=None)


def _numbers(scores: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    row = np.asarray(scores, dtype=np.float64).reshape(-1)
    return np.sort(row[np.isfinite(row)])


def _auc(home: np.ndarray[tuple[int], np.dtype[np.float64]], away: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Mann and Whitney's U over the number of pairs; both rows are sorted."""
    below = np.searchsorted(away, home, side="left")
    not_above = np.searchsorted(away, home, side="right")
    return float((below + not_above).sum() / (2 * len(home) * len(away)))
