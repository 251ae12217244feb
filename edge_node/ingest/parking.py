"""Why a document is set aside, in words that a person can act on."""

from __future__ import annotations

from dataclasses import dataclass

from shared.errors import DgragError


@dataclass(frozen=True, slots=True)
class Reason:
    """As it is stored with a parked document; ``failed_chunk``: the chunk that could not be done, if it was one."""

    code: str
    reason: str
    next_step: str
    failed_chunk: str = ""


def reason_of(error: BaseException) -> Reason:
    """What to say of an error; of one that nobody foresaw only its type, as its text may hold the document's content.

    >>> reason_of(ValueError("secret")).reason
    'an error inside the edge (ValueError)'
    """
    if not isinstance(error, DgragError):
        step = "retry it; if it fails again, report it with the edge's log"
        return Reason("internal", f"an error inside the edge ({type(error).__name__})", step)
    code = getattr(error, "reason", "") or error.code  # an unreadable document has a word of its own
    next_step = error.next_step or "mend the document and send it again"
    return Reason(code, error.message, next_step, getattr(error, "chunk_id", ""))
