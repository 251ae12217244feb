"""READ PATH, behind the memories: an answer that was called right, asked for in other words, as a token or two of the model say."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from edge_node.answering.fast_path import FastPath
from edge_node.memory.guards import is_rival
from edge_node.memory.records import Recalled
from edge_node.memory.same_answer import may_answer, same_answer
from shared.errors import ModelError
from shared.limits import Deadline
from shared.models.fingerprint import Measured
from shared.ports import Generator
from shared.records import Answer
from shared.telemetry.logs import redacted
from shared.telemetry.trace import Trace
from shared.text.sentences import content_words

log = logging.getLogger("dgrag.edge.memory")
MOST = 3  # learned memories that the model is asked about
Judged = tuple[Recalled, float | None]  # with P(yes) that its answer is right for the question


class OtherWords:
    """Answers a question where the model is sure that a learned answer is right for it too, and nothing answers otherwise."""

    def __init__(self, fast_path: FastPath, generator: Generator, measured: Measured, *, least: float | None) -> None:
        """``least``: P(yes) that suffices; None: as it was measured for this model, and one that was not is not asked."""
        self._fast_path = fast_path
        self._generator = generator
        self._measured = measured
        self._least = least

    async def answer(self, question: str, query_id: str, near: Sequence[Recalled], trace: Trace, deadline: Deadline) -> Answer | None:
        """None: the question goes the slow way. ``near``: what was found, best first. A model that fails is logged."""
        asked, judged = candidates(question, near), list[Judged]()
        if not asked:
            return None
        try:
            if (least := await self._bar(trace, deadline)) is None:
                return None
            for one in asked:
                learned = one.scored.memory.question
                judged.append((one, await same_answer(self._generator, question, learned, trace, deadline_s=deadline.left_s())))
        except ModelError as error:
            log.warning("no learned answer was compared: %s", redacted(error))
            return None
        chosen = chosen_of(question, judged, near, least=least)
        return await asyncio.to_thread(self._fast_path.told, chosen.scored, query_id, "memory+model") if chosen else None

    async def _bar(self, trace: Trace, deadline: Deadline) -> float | None:
        if self._least is not None:
            return self._least
        measured = await self._measured.certainties(trace, deadline)
        return measured.same if measured else None


def candidates(question: str, near: Sequence[Recalled]) -> list[Recalled]:
    """The learned memories that the model is asked about, best first."""
    return [one for one in near if may_answer(question, one)][:MOST]


def chosen_of(question: str, judged: Sequence[Judged], near: Sequence[Recalled], *, least: float) -> Recalled | None:
    """The first that the model is sure of; None where there is none, or something disputes it."""
    same = [one for one, sure in judged if sure is not None and sure >= least]
    return same[0] if same and not _is_disputed(question, same, near) else None


def _is_disputed(question: str, same: Sequence[Recalled], near: Sequence[Recalled]) -> bool:
    """Whether those that answer a question do not agree, or another memory that may speak is its rival."""
    first, *others = (content_words(one.scored.memory.answer) for one in same)
    if not all(first <= other or other <= first for other in others):
        return True
    sound = [one.scored for one in near if one not in same and not (one.backing.silenced or one.backing.doubtful)]
    return any(is_rival(question, same[0].scored, other) for other in sound)
