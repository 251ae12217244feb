"""④ Which descriptions a model reads beside the passages: each sentence once, within a share of the context (DGRAG §III-C)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest

from edge_node.records import PassageSummary
from shared.text.fence import one_line
from shared.text.sentences import sentences


def fitting(
    found: Sequence[Sequence[PassageSummary]], budget_tokens: int, count: Callable[[str], int]
) -> tuple[tuple[PassageSummary, ...], int]:
    """What was found for each part of a question, in turn, with those of its sentences that fit and were not said; and their tokens.

    >>> told = [PassageSummary(name, text, 0.5, (), name) for name, text in [("Mill", "It is old."), ("Barn", "It is old. It stands.")]]
    >>> kept, tokens = fitting([told], 9, lambda text: len(text.split()))
    >>> [one.line for one in kept], tokens
    (['Mill: It is old.', 'Barn: It stands.'], 7)
    """
    kept, said, left = list[PassageSummary](), "", budget_tokens
    for description in (one for several in zip_longest(*found) for one in several if one is not None):
        text = ""
        for start, end in sentences(description.text):
            sentence = one_line(description.text[start:end])
            longer = f"{text} {sentence}".strip()
            if sentence and sentence not in said and count(replace(description, text=longer).line) <= left:
                text = longer
        if text:
            kept.append(replace(description, text=text))
            left -= count(kept[-1].line)
            said = f"{said}\n{text}"
    return tuple(kept), budget_tokens - left
