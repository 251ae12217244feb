"""What the site has counted since its start, as figures and small charts: read from its page of metrics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, log10

from prometheus_client.parser import text_string_to_metric_families

from shared.telemetry.metrics import SECONDS

WIDTH, HEIGHT = 300.0, 60.0  # of a curve, in the units of its drawing
TICKS = ((0.01, "10 ms"), (0.1, "100 ms"), (1.0, "1 s"), (10.0, "10 s"), (100.0, "100 s"))


@dataclass(frozen=True, slots=True)
class Latency:
    """How long questions of one route took. ``within``: how many took at most each of ``SECONDS``."""

    route: str
    count: int
    within: tuple[int, ...]

    def seconds(self, share: float) -> float:
        """Within so many seconds this share of the questions was answered, between two bounds in proportion.

        >>> Latency("local", 4, (0,) * 7 + (2, 4, 4, 4, 4, 4, 4)).seconds(0.75)
        1.75
        """
        wanted, low, before = share * self.count, 0.0, 0
        for high, within in zip(SECONDS, self.within, strict=True):
            if within >= wanted and within > before:
                return low + (high - low) * (wanted - before) / (within - before)
            low, before = high, within
        return SECONDS[-1]

    @property
    def curve(self) -> str:
        """The share of the questions that were answered within the seconds to the left, as an SVG path; the seconds as logarithms."""
        points = [
            f"{across(bound):.1f} {HEIGHT * (1 - within / self.count):.1f}" for bound, within in zip(SECONDS, self.within, strict=True)
        ]
        return "M" + " L".join(points)


@dataclass(frozen=True, slots=True)
class Spent:
    """What models have read and written for answers, in one component of them."""

    component: str
    tokens_in: int
    tokens_out: int
    calls: int


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts since the start, the largest first."""

    questions: tuple[tuple[str, int], ...]  # by route
    failed: tuple[tuple[str, int], ...]  # by the error's code
    latencies: tuple[Latency, ...]
    spent: tuple[Spent, ...]


def across(seconds: float) -> float:
    """Where a number of seconds stands on a curve, from the left.

    >>> across(0.001), across(300.0)
    (0.0, 300.0)
    """
    first, last = SECONDS[0], SECONDS[-1]
    return WIDTH * log10(seconds / first) / log10(last / first)


def figures_of(page: str) -> Figures:
    """Read out of a page in Prometheus' text format."""
    questions, failed = Counter[str](), Counter[str]()
    tokens: defaultdict[str, Counter[str]] = defaultdict(Counter)
    within: defaultdict[str, dict[float, int]] = defaultdict(dict)
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            labels, value = sample.labels, int(sample.value) if sample.value < inf else 0
            match sample.name:
                case "dgrag_questions_total":
                    questions[labels["route"]] += value
                case "dgrag_questions_failed_total":
                    failed[labels["code"]] += value
                case "dgrag_question_seconds_bucket":
                    within[labels["route"]][float(labels["le"])] = value
                case "dgrag_tokens_total":
                    tokens[labels["component"]][labels["direction"]] += value
                case "dgrag_model_calls_total":
                    tokens[labels["component"]]["calls"] += value
    return Figures(
        tuple(questions.most_common()), tuple(failed.most_common()), tuple(_latency(*one) for one in sorted(within.items())), _spent(tokens)
    )


def _latency(route: str, within: Mapping[float, int]) -> Latency:
    return Latency(route, within[inf], tuple(within[bound] for bound in SECONDS))


def _spent(tokens: Mapping[str, Counter[str]]) -> tuple[Spent, ...]:
    found = [Spent(component, counts["in"], counts["out"], counts["calls"]) for component, counts in tokens.items()]
    return tuple(sorted(found, key=lambda one: -one.tokens_in - one.tokens_out))
