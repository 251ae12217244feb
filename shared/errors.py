"""The error tree. Each error carries facts; a border file turns it into a status, a message and a next step.

DgragError
├── InputError            what the caller sent cannot be used (4xx)
│   ├── BlankQuestion         a question of which nothing can be seen (422)
│   ├── MalformedText         a text holds half of a surrogate pair (422)
│   ├── Unstorable            a text that no store takes (422)
│   ├── UnreadableDocument    a document's bytes cannot become text
│   ├── TooLarge              a body, a file or a list is over its cap
│   ├── NotFound              no such document, job, edge, request
│   ├── Unauthenticated       nobody known stands behind the request (401); `reason` is a stable word
│   ├── Forbidden             the caller may not, whatever it sends
│   │   ├── Expelled              an operator has shut the edge out
│   │   └── Quarantined           an operator has set the edge aside: it may not ask
│   ├── DeadlinePassed        not done within the caller's own time
│   ├── Overloaded            too much at once, or from this caller (429, 503): `retry_after_s`
│   │   └── IssuerAway            tokens cannot be checked now (503)
│   ├── OriginalDropped       the file of a document, which the site keeps no longer (410)
│   └── Conflict              does not fit the present state
│       ├── ResyncNeeded          the cloud needs a snapshot of the edge's summaries first
│       ├── StaleEpoch            the summaries are of a store that another one has replaced
│       └── WireMismatch          edge and cloud speak different versions of the protocol
├── ModelError            the model server failed or answered nonsense
│   ├── ModelTimeout          no full answer before the deadline
│   ├── ModelUnavailable      cannot be reached, or 5xx
│   └── ModelReplyError       an answer that cannot be used
│       └── ContextOverflow       the prompt is longer than the model can read
├── CloudError            the cloud cannot be used right now
│   ├── CloudUnavailable      cannot be reached, hung, or 5xx
│   ├── CloudRefused          the cloud understood and said no
│   ├── Withheld              the sharing policy keeps it at this site
│   ├── Unrecorded            the egress ledger cannot be written, so nothing is sent
│   └── Unsendable            what is to be sent is not of the agreed form
├── StoreError            the store cannot be used: foreign, too new, locked
│   ├── StoreDamaged          a part of the file is lost or wrong, and cannot be made again from the rest
│   ├── StoreInUse            another process has this store open
│   ├── SafeMode              the store is damaged, so the node serves its status only
│   ├── DiskFull              there is no room (507)
│   ├── DiskFailed            the disk cannot be read or written
│   ├── StoreAway             the database server cannot be reached (503): `retry_after_s`
│   └── EmbedderChanged       another cloud of the store embeds by another embedder (503)
├── ReaderUnavailable     documents of some formats cannot be read here now, whatever stands in them (503)
├── FetchError            weights could not be had or do not match their hash
└── SettingsError         a setting that cannot work, found at start
"""

from __future__ import annotations

__all__ = [
    "BlankQuestion",
    "CloudError",
    "CloudRefused",
    "CloudUnavailable",
    "Conflict",
    "ContextOverflow",
    "DeadlinePassed",
    "DgragError",
    "DiskFailed",
    "DiskFull",
    "EmbedderChanged",
    "Expelled",
    "FetchError",
    "Forbidden",
    "InputError",
    "IssuerAway",
    "MalformedText",
    "ModelError",
    "ModelReplyError",
    "ModelTimeout",
    "ModelUnavailable",
    "NotFound",
    "NotInstalled",
    "OriginalDropped",
    "Overloaded",
    "Quarantined",
    "ReaderUnavailable",
    "ResyncNeeded",
    "SafeMode",
    "SettingsError",
    "StaleEpoch",
    "StoreAway",
    "StoreDamaged",
    "StoreError",
    "StoreInUse",
    "TooLarge",
    "Unauthenticated",
    "UnreadableDocument",
    "Unrecorded",
    "Unsendable",
    "Unstorable",
    "WireMismatch",
    "Withheld",
]

LISTED = frozenset({"document", "edge", "invitation", "key", "receipt"})  # what a verb or a route lists


class DgragError(Exception):
    """Base of all our errors: a stable ``code``, a sentence, and the ``next_step`` a person can take."""

    code = "error"
    exit_status = 1  # of a command or a service that ends by it

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step


class FetchError(DgragError):
    """Weights could not be had, or do not match their hash."""

    code = "fetch_error"


class NotInstalled(DgragError):
    """Packages that this takes: an extra of ours, or what ``command`` installs."""

    code = "not_installed"

    def __init__(self, what: str, *, extra: str = "", command: str = "") -> None:
        step = f"run: {command}" if command else f"run: pip install 'dgrag[{extra}]'"
        super().__init__(f"{what} takes packages that are not installed here", next_step=step)


class SettingsError(DgragError):
    """A setting that cannot work, found at start."""

    code = "settings_error"


class StoreError(DgragError):
    """The store cannot be used: of another program, of a newer release, or locked."""

    code = "store_error"


class StoreDamaged(StoreError):
    """A part of the store is lost or wrong, and cannot be made again from the rest."""

    code = "store_damaged"
    exit_status = 5

    def __init__(self, message: str, *, next_step: str = "restore a backup") -> None:
        super().__init__(message, next_step=next_step)


class StoreInUse(StoreError):
    """Another process has this store open."""

    code = "store_in_use"
    exit_status = 6  # uvicorn ends with 3 where its port is taken

    def __init__(self, folder: object) -> None:
        super().__init__(f"another process uses the store in {folder}", next_step="stop it, or give this one a state folder of its own")


class SafeMode(StoreError):
    """The store is damaged, so the node serves its status and nothing else; ``reason`` says what is wrong."""

    code = "safe_mode"

    def __init__(self, reason: StoreError) -> None:
        super().__init__(f"this edge is in safe mode: {reason.message}", next_step=reason.next_step)


class DiskFull(StoreError):
    """There is no room on the disk of a folder; nothing was stored."""

    code = "disk_full"

    def __init__(self, folder: object) -> None:
        super().__init__(f"the disk of {folder} is full", next_step="make room and try again; no restart is needed")


class DiskFailed(StoreError):
    """The disk cannot be read or written; nothing was stored."""

    code = "disk_failed"

    def __init__(self, path: object, why: str) -> None:
        super().__init__(f"{path} cannot be read or written: {why}", next_step="check the disk and its permissions, and try again")


class StoreAway(StoreError):
    """The database server cannot be reached, or has ended what was under way; nothing is known to be stored."""

    code = "store_away"
    retry_after_s = 2.0

    def __init__(self, why: str = "") -> None:
        told = f"the database server does not answer{f': {why}' if why else '; the log tells why'}"
        super().__init__(told, next_step="try again; see that PostgreSQL runs and takes connections")


class EmbedderChanged(StoreError):
    """Another cloud of the same store embeds with another embedder than this one: what both write would not be comparable."""

    code = "embedder_changed"

    def __init__(self, embedder: str) -> None:
        step = "start all clouds of a store with one embedder; this one takes no deltas until then"
        super().__init__(f"another cloud of this store has left the embedder {embedder}", next_step=step)


class CloudError(DgragError):
    """The cloud cannot be used right now."""

    code = "cloud_error"


class CloudUnavailable(CloudError):
    """The cloud cannot be reached, hangs, or fails by itself."""

    code = "cloud_unavailable"

    def __init__(self, message: str, *, next_step: str = "see that the cloud runs, and that its URL is right") -> None:
        super().__init__(message, next_step=next_step)


class CloudRefused(CloudError):
    """The cloud understood the request and said no."""

    code = "cloud_refused"

    def __init__(self, message: str, *, status: int, reason: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class Withheld(CloudError):
    """The sharing policy keeps something at this site."""

    code = "withheld"


class Unrecorded(CloudError):
    """The egress ledger cannot be written, and what is not recorded does not leave."""

    code = "unrecorded"

    def __init__(self, why: StoreError) -> None:
        super().__init__(f"nothing is sent, for the egress ledger cannot be written: {why.message}", next_step=why.next_step)


class Unsendable(CloudError):
    """What is to be sent is not of the agreed form; ``fields`` says where."""

    code = "unsendable"

    def __init__(self, what: str, *, fields: str) -> None:
        super().__init__(f"a {what} cannot be sent to the cloud: {fields}", next_step="report it: the edge must not make such a message")


class ModelError(DgragError):
    """The model server failed or answered nonsense; ``chunk_id`` names the passage it was asked about, where there is one."""

    code = "model_error"
    chunk_id: str = ""


class ModelTimeout(ModelError):
    """No full answer before the deadline."""

    code = "model_timeout"

    def __init__(self, *, deadline_s: float) -> None:
        step = "ask again, raise DGRAG_EDGE_ANSWER_DEADLINE_S (at a cloud DGRAG_CLOUD_ANSWER_DEADLINE_S), or use a faster model"
        super().__init__(f"the model gave no full answer in {deadline_s:.1f} s", next_step=step)


class ModelUnavailable(ModelError):
    """The model server cannot be reached, or fails by itself; it asks to be left alone for ``retry_after_s`` seconds."""

    code = "model_unavailable"

    def __init__(self, message: str, *, next_step: str = "", retry_after_s: float = 0.0) -> None:
        super().__init__(message, next_step=next_step)
        self.retry_after_s = retry_after_s


class ModelReplyError(ModelError):
    """The model answered something that cannot be used."""

    code = "model_reply_error"


class ContextOverflow(ModelReplyError):
    """The prompt has more tokens than the model can read."""

    code = "context_overflow"

    def __init__(self, reason: str) -> None:
        step = "give the model server a larger context, or lower DGRAG_EDGE_CONTEXT_TOKENS (at a cloud DGRAG_CLOUD_EVIDENCE_BUDGET_TOKENS)"
        super().__init__(f"the model's context is too small for the passages and the question ({reason})", next_step=step)


class InputError(DgragError):
    """What the caller sent cannot be used."""

    code = "bad_input"


class BlankQuestion(InputError):
    """A question without a character that can be seen."""


class MalformedText(InputError):
    """A text holds half of a surrogate pair, which is no character: some programs cut an emoji in two."""

    def __init__(self) -> None:
        super().__init__("a text holds half of a character (a lone surrogate)", next_step="send whole characters")


class Unstorable(InputError):
    """A text holds what PostgreSQL takes into no text: NUL, or half a surrogate pair."""

    code = "unstorable"

    def __init__(self) -> None:
        super().__init__("a text holds a NUL character or half of a surrogate pair", next_step="leave these characters out")


class UnreadableDocument(InputError):
    """A document's bytes cannot become text; ``reason`` is a stable word (``empty``, ``not_text``, ``bad_pdf``, …)."""

    code = "unreadable_document"

    def __init__(self, name: str, reason: str, message: str, *, next_step: str = "") -> None:
        super().__init__(f"{name}: {message}", next_step=next_step)
        self.name = name
        self.reason = reason

    def renamed(self, name: str) -> UnreadableDocument:
        """The same of a document that its reader knows by another name.

        >>> UnreadableDocument("text.txt", "empty", "has no text in it").renamed("ward.md").message
        'ward.md: has no text in it'
        """
        message = self.message.removeprefix(f"{self.name}: ")
        return UnreadableDocument(name, self.reason, message, next_step=self.next_step)


class OriginalDropped(InputError):
    """The file of a document, as it came, is kept no longer; its text is."""

    code = "original_dropped"

    def __init__(self, name: str) -> None:
        step = "send the document again; DGRAG_EDGE_ORIGINALS_DAYS and _BYTES say for how long files are kept"
        super().__init__(f"the file of {name[:80]!r} is no longer kept at this site", next_step=step)


class ReaderUnavailable(DgragError):
    """What reads documents does not work here now, which no document is to blame for.

    ``detail`` is for the log and for operators: it may name folders of this machine.
    """

    code = "reader_unavailable"

    def __init__(self, message: str, *, detail: str = "", next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.detail = detail


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

    ``code`` is a stable word: no_credentials, bad_key, bad_token, bad_signature, unknown_key, wrong_audience, replayed, clock.
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


class IssuerAway(Overloaded):
    """The issuer of tokens cannot be asked for its keys, so nobody can tell whether a token is sound."""

    code = "issuer_away"

    def __init__(self, why: str, *, retry_after_s: float) -> None:
        told = f"the issuer of tokens cannot be asked ({why}), so none can be checked"
        super().__init__(told, retry_after_s=retry_after_s, of_caller=False)
        self.next_step = f"try again in {retry_after_s:.0f} s, or use an API key"


class DeadlinePassed(InputError):
    """The work was not done within the time that the caller itself has set."""

    code = "deadline_passed"

    def __init__(self, *, deadline_s: float) -> None:
        super().__init__(f"there was no answer within your own deadline of {deadline_s:.1f} s", next_step="ask again with more time")


class Forbidden(InputError):
    """The caller may not, whatever it sends."""

    code = "forbidden"


class ClaimOverage(Forbidden):
    """An issuer has left a claim out of a token because it would be too long: what the caller may read is not known."""

    code = "claim_overage"

    def __init__(self, claim: str) -> None:
        step = "ask the issuer's operator to put only the groups assigned to this application into its tokens, or app roles"
        super().__init__(f"the token names no {claim}: there are too many for a token (overage)", next_step=step)


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
