"""A calibration as plain text, for a terminal and a record."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.calibration.choice import Calibration, Curve
from benchmarks.calibration.roc import Point, Roc
from benchmarks.calibration.sweep import Matching
from edge_node.calibration.signals import Escalation

WIDTH, HEIGHT = 41, 11  # characters of a drawn curve


def render(found: Calibration) -> str:
    """ROC of each score, the chosen thresholds, and what they do on either half."""
    blocks = [block for curve in found.curves for block in (_curve(curve), drawn(curve.roc))]
    blocks.append(f"Chosen on {found.chosen_on} questions, at most {found.wanted_within:.1%} within domain wanted:")
    blocks.append(_escalation(found.chosen))
    if found.checked is None:
        blocks.append("Too few questions to keep a half back: these shares are of the questions that the thresholds were chosen on.")
    else:
        blocks += [f"Checked on the other {found.checked_on}:", _escalation(found.checked)]
    return "\n".join(block for block in blocks if block)


def render_matching(rows: Sequence[Matching]) -> str:
    """Summary matching by m and cosine."""
    lines = ["   m  cosine     hit  any mismatch  edges a question  questions"]
    lines += [
        f"{row.m:4}  {row.min_cosine:6.2f}  {row.hit:6.1%}  {row.any_mismatch:12.1%}  {row.edges:16.2f}  {row.questions:9}" for row in rows
    ]
    return "\n".join(lines)


def drawn(curve: Roc) -> str:
    """The curve in characters: out-of-domain share upward, within-domain share to the right; empty for an empty curve."""
    if not curve.points:
        return ""
    rows = [[" "] * WIDTH for _ in range(HEIGHT)]
    for point in curve.points:
        rows[round((1 - point.out) * (HEIGHT - 1))][round(point.within * (WIDTH - 1))] = "*"
    body = [f"{1 - place / (HEIGHT - 1):4.0%} |{''.join(row).rstrip()}" for place, row in enumerate(rows)]
    return "\n".join([*body, f"     +{'-' * WIDTH}", f"      0%{'escalated within domain':^{WIDTH - 6}}100%"])


def _curve(curve: Curve) -> str:
    seen = f"{curve.roc.within} within, {curve.roc.out} out"
    if curve.roc.auc is None:
        return f"{curve.signal}: no curve ({seen})"
    marked = f"Youden {_point(curve.youden)}, wanted {_point(curve.wanted)}"
    return f"{curve.signal}: AUC {curve.roc.auc:.3f} ({seen}, {curve.roc.left_out} not measured); {marked}"


def _point(point: Point | None) -> str:
    return "none" if point is None else f"below {point.threshold:.3f}: {point.within:.1%} within, {point.out:.1%} out"


def _escalation(found: Escalation) -> str:
    limits = found.thresholds
    head = (
        f"  min_nearness {limits.min_nearness:.2f}, max_unknown {limits.max_unknown:.1f}, max_refusals {limits.max_refusals:.1f}, "
        f"min_sufficiency {limits.min_sufficiency:.2f}, min_similarity {limits.min_similarity:.2f}"
    )
    return "\n".join([head, _shares("within", found.within, found.within_by), _shares("out", found.out, found.out_by)])


def _shares(kind: str, share: float, by_step: dict[str, float]) -> str:
    steps = ", ".join(f"{step} {part:.1%}" for step, part in by_step.items())
    return f"  escalated {kind}: {share:.1%}" + (f" ({steps})" if steps else "")
