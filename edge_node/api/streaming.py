"""An answer while it is made: steps as they end, text as it is written, and at last the whole; what both streaming routes tell."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from edge_node.answering.answerer import Ask
from edge_node.answering.overview import GlobalAsk
from edge_node.node import EdgeNode
from edge_node.reading import Reader
from shared.client.hearing import Completed, Void
from shared.records import Answer, TraceStep
from shared.telemetry.trace import Trace


@dataclass(frozen=True, slots=True)
class Begun:
    """A step of this name has begun."""

    step: str


Heard = TraceStep | Begun | Completed | str | Void | Answer | BaseException


async def hearing(answers: EdgeNode | Reader, ask: Ask | GlobalAsk, *, with_begun: bool = False) -> AsyncGenerator[Heard]:
    """Each step as it ends, each piece of text as it is there, and last the answer, or why there is none; if wanted, what begins too.

    The text since the last ``Void`` is the answer's: where nothing was heard while it was made it comes in pieces then. Whoever listens no
    more closes the iterator; then the model's work stops too.
    """
    news: asyncio.Queue[TraceStep | Begun | Completed | str | None] = asyncio.Queue()
    trace = Trace(news.put_nowait, (lambda name: news.put_nowait(Begun(name))) if with_begun else None)

    def on_asked(question: str) -> None:
        news.put_nowait(Completed(question))

    task = asyncio.create_task(answers.ask(ask, trace, news.put_nowait, on_asked))
    task.add_done_callback(lambda _: news.put_nowait(None))
    heard = ""
    try:
        while (told := await news.get()) is not None:
            if isinstance(told, TraceStep | Begun | Completed):
                yield told
            elif told:
                heard += told
                yield told
            elif heard:
                heard = ""
                yield Void()
        (answer,) = await asyncio.gather(task, return_exceptions=True)  # the status has gone: an error is told, not raised
    finally:
        task.cancel()
    if isinstance(answer, Answer) and heard.split() != answer.answer.split():
        if heard:
            yield Void()
        for piece in text_pieces(answer.answer):
            yield piece
    yield answer


def text_pieces(text: str) -> Iterator[str]:
    """The text word by word; joined again it is the text, less the white space at its end.

    >>> list(text_pieces("Juniper Ward [1]."))
    ['Juniper', ' Ward', ' [1].']
    """
    return (match.group() for match in re.finditer(r"(?<!\s)\s*+\S++", text))
