"""What one answer cost: seconds, tokens, calls and bytes, in all and by component (DGRAG Fig. 9), read from its trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.telemetry.trace import CLOUD, COMPONENTS, TRANSFERS, is_the_clouds

LINK_MBIT = 50.0  # the paper's link (§IV-D1)
AT_EDGES = "global retrieval"  # what edges do for the cloud is within it: they work at the same time, and the cloud waits for all


@dataclass(frozen=True, slots=True)
class Component:
    """One component of one answer."""

    ms: float
    tokens_in: int
    bytes: int


def costs(answer: Mapping[str, Any], *, cloud_pays: bool) -> dict[str, float]:
    """Return what an answer took: seconds, model tokens of cloud and edges, calls, and bytes between its edge and the cloud.

    ``cloud_pays``: the system's whole work stands for the cloud's, as that of one central index does.
    """
    steps = answer["steps"]
    cloud_tokens = sum(step["tokens_in"] for step in steps if cloud_pays or is_the_clouds(step["step"]))
    return {
        "escalated": float(answer["escalated"]),
        "seconds": answer["seconds"],
        "cloud_tokens_in": cloud_tokens,
        "edge_tokens_in": sum(step["tokens_in"] for step in steps) - cloud_tokens,
        "tokens_out": sum(step["tokens_out"] for step in steps),
        "calls": sum(step["calls"] for step in steps),
        "bytes_up": _of(steps, ("cloud",), "bytes_out"),
        "bytes_down": _of(steps, ("cloud",), "bytes_in"),
    }


def by_component(answer: Mapping[str, Any], *, link_mbit: float = LINK_MBIT) -> dict[str, Component]:
    """Return each component that took part in an answer. A transfer's time is its bytes at ``link_mbit``, not a measurement.

    The tokens of global retrieval are those that the models of all edges read for the cloud, its time is that of the slowest.
    """
    steps = answer["steps"]
    named = {step["step"] for step in steps}
    found = {
        component: Component(_of(steps, names, "ms"), _tokens_in(steps, component), 0)
        for component, names in COMPONENTS.items()
        if named.intersection(names)
    }
    for transfer, (name, direction) in TRANSFERS.items():
        if name in named:
            moved = int(_of(steps, (name,), direction))
            found[transfer] = Component(moved * 8 / (link_mbit * 1000), 0, moved)
    return found


def _tokens_in(steps: Sequence[Mapping[str, Any]], component: str) -> int:
    names = {*COMPONENTS[component], *(filter(_is_for_the_cloud, (step["step"] for step in steps)) if component == AT_EDGES else ())}
    return sum(step["tokens_in"] for step in steps if step["step"] in names)


def _is_for_the_cloud(step: str) -> bool:
    """Whether an edge did it for the cloud.

    >>> [_is_for_the_cloud(step) for step in ("map", "cloud", "cloud: fan_out", "cloud: law: map")]
    [False, False, False, True]
    """
    return step.startswith(CLOUD) and not is_the_clouds(step)


def _of(steps: Sequence[Mapping[str, Any]], names: Sequence[str], field: str) -> float:
    return sum(float(step[field]) for step in steps if step["step"] in names)
