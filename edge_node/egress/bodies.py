"""The bytes of every body that an edge sends: what ``dgrag policy try`` shows is made here, and so is what leaves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from shared.errors import Unsendable
from shared.evidence import MAX_FOUND, MAX_SEARCH_TOKENS, SearchBody
from shared.records import SummaryDelta
from shared.wire import DeltaBody, EvidenceBody, EvidenceReply, QuestionBody, SharedLevel

Body = TypeVar("Body", bound=BaseModel)
ReportLevel = SharedLevel | None  # of the reports for a question about everything; None: it is any other


def body_of(record: BaseModel) -> bytes:
    """A record as it is sent.

    >>> body_of(QuestionBody(question="Which lot?"))
    b'{"question":"Which lot?","purpose":null,"query_id":"","m":null,"mode":"answer","level":"dynamic"}'
    """
    return record.model_dump_json().encode()


def always() -> bool:
    """What holds for a body that no change of the sharing policy takes back."""
    return True


def summaries_body(delta: SummaryDelta) -> bytes:
    """The body of a sync. Raises Unsendable, which quotes nothing of it."""
    return body_of(_made(lambda: DeltaBody.from_record(delta)))


def chunks_of(told: EvidenceBody) -> tuple[str, ...]:
    """The different chunks that a passage or point rests on, its own first."""
    return tuple(dict.fromkeys((told.chunk_id, *told.chunk_ids)))


def reply_body(reply: EvidenceReply) -> bytes:
    """The body of an answer to an evidence request."""
    return body_of(reply)


def question_body(question: str, *, query_id: str, purpose: str, level: ReportLevel = None) -> bytes:
    """The body of an escalated question; ``purpose`` "": none; with a level a question about everything, of reports of that level.

    Raises Unsendable, which quotes nothing of it.
    """
    asked = partial(QuestionBody, question=question, purpose=purpose or None, query_id=query_id)
    return body_of(_made(asked if level is None else partial(asked, mode="global", level=level)))


def search_body(question: str, *, query_id: str, purpose: str, budget_tokens: int, top_k: int) -> bytes:
    """The body of a question whose passages are wanted. Raises Unsendable, which quotes nothing of it."""
    bounds = {"budget_tokens": min(budget_tokens, MAX_SEARCH_TOKENS), "top_k": min(top_k, MAX_FOUND)}
    return body_of(_made(lambda: SearchBody(question=question, purpose=purpose or None, query_id=query_id, **bounds)))


def _made(make: Callable[[], Body]) -> Body:
    try:
        return make()
    except ValidationError as error:
        faults = [f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in error.errors(include_input=False)[:3]]
        raise Unsendable(error.title, fields="; ".join(faults)) from error
