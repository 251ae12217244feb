"""What a caller sent cannot be used, or not by this caller, or not now."""

from __future__ import annotations

from shared.errors.base import DgragError

LISTED = frozenset({"document", "edge", "key", "receipt"})  # what a verb or a route lists


class InputError(DgragError):
    """What the caller sent cannot be used."""

    code = "bad_input"


class BlankQuestion(InputError):
    """A question without a character that can be seen."""


class UnreadableDocument(InputError):
    """A document's bytes cannot become text; ``reason`` is a stable word (``empty``, ``not_text``, ``bad_pdf``, …)."""

    code = "unreadable_document"

    def __init__(self, name: str, reason: str, message: str, *, next_step: str = "") -> None:
        super().__init__(f"{name}: {message}", next_step=next_step)
        self.name = name
        self.reason = reason


class TooLarge(InputError):
    """A body, a file or a list is over its cap (``limit`` in ``unit``).

    >>> TooLarge("big.txt", limit=32 * 2**20).message
    'big.txt is over the limit of 32 MiB'
    """

    code = "too_large"

    def __init__(self, what: str, *, limit: int, unit: str = "bytes") -> None:
        size = f"{limit / 2**20:.0f} MiB" if unit == "bytes" and limit >= 2**20 else f"{limit:,} {unit}"
        super().__init__(f"{what} is over the limit of {size}", next_step="send less, or raise the limit in the settings")
        self.limit = limit


class NotFound(InputError):
    """No such document, job, edge or request.

    >>> NotFound("key", "ops").next_step, NotFound("store", "ward").next_step
    ('list the keys to see which exist', 'check what you have given')
    """

    code = "not_found"

    def __init__(self, kind: str, identity: str, *, next_step: str = "") -> None:
        step = f"list the {kind}s to see which exist" if kind in LISTED else "check what you have given"
        super().__init__(f"there is no {kind} {identity!r} here", next_step=next_step or step)


class Unauthenticated(InputError):
    """Nobody known stands behind the request.

    ``code`` is a stable word: no_credentials, bad_key, bad_signature, unknown_key, wrong_audience, replayed, clock.
    """

    code = "no_credentials"

    def __init__(self, message: str, *, code: str, next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.code = code


class Overloaded(InputError):
    """Too many requests: of this caller (429) or of all together (503); the caller should wait ``retry_after_s`` seconds."""

    code = "overloaded"

    def __init__(self, message: str, *, retry_after_s: float, of_caller: bool) -> None:
        super().__init__(message, next_step=f"try again in {retry_after_s:.0f} s")
        self.retry_after_s = retry_after_s
        self.of_caller = of_caller


class DeadlinePassed(InputError):
    """The work was not done within the time that the caller itself has set."""

    code = "deadline_passed"

    def __init__(self, *, deadline_s: float) -> None:
        super().__init__(f"there was no answer within your own deadline of {deadline_s:.1f} s", next_step="ask again with more time")


class Forbidden(InputError):
    """The caller may not, whatever it sends."""

    code = "forbidden"


class Expelled(Forbidden):
    """An operator has shut the edge out."""

    code = "expelled"

    def __init__(self, edge: str) -> None:
        super().__init__(f"{edge} was expelled from this cloud", next_step=f"let it in again with `dgrag cloud readmit {edge}`")


class Quarantined(Forbidden):
    """An operator has set the edge aside: it keeps its line and its summaries, and asks nobody."""

    code = "quarantined"

    def __init__(self, edge: str, reason: str) -> None:
        told = f"{edge} is set aside at this cloud and may not ask: {reason}"
        super().__init__(told, next_step=f"ask the cloud's operator, who ends it with `dgrag cloud release {edge}`")


class Conflict(InputError):
    """The request does not fit the present state (a wrong base version, an answered request)."""

    code = "conflict"


class ResyncNeeded(Conflict):
    """A delta does not follow what the cloud holds of the edge (its ``version``); a snapshot would."""

    code = "resync"

    def __init__(self, edge: str, *, version: int) -> None:
        super().__init__(f"the cloud holds version {version} of {edge}, which the delta does not follow", next_step="send a snapshot")
        self.version = version


class StaleEpoch(Conflict):
    """A delta is of an edge's former store: a newer one has replaced it."""

    code = "stale_epoch"

    def __init__(self, edge: str, epoch: str) -> None:
        super().__init__(f"epoch {epoch!r} of {edge} was replaced by a newer one", next_step="run one edge node under this name")


class WireMismatch(Conflict):
    """Edge and cloud speak different versions of the protocol between them."""

    code = "wire_version"

    def __init__(self, *, edge: int, cloud: int) -> None:
        super().__init__(
            f"the edge speaks version {edge} of the protocol, the cloud speaks version {cloud}",
            next_step="install the same release on both",
        )
