"""The error tree. Each error carries facts; a border file turns it into a status, a message and a next step.

DgragError
├── InputError            what the caller sent cannot be used (4xx)
│   ├── BlankQuestion         a question of which nothing can be seen (422)
│   ├── UnreadableDocument    a document's bytes cannot become text
│   ├── TooLarge              a body, a file or a list is over its cap
│   ├── NotFound              no such document, job, edge, request
│   ├── Unauthenticated       nobody known stands behind the request (401); `reason` is a stable word
│   ├── Forbidden             the caller may not, whatever it sends
│   │   ├── Expelled              an operator has shut the edge out
│   │   └── Quarantined           an operator has set the edge aside: it may not ask
│   ├── DeadlinePassed        not done within the caller's own time
│   ├── Overloaded            too much at once, or from this caller (429, 503): `retry_after_s`
│   └── Conflict              does not fit the present state
│       ├── ResyncNeeded          the cloud needs a snapshot of the edge's summaries first
│       ├── StaleEpoch            the summaries are of a store that another one has replaced
│       └── WireMismatch          edge and cloud speak different versions of the protocol
├── ModelError            the model server failed or answered nonsense
│   ├── ModelTimeout          no full answer before the deadline
│   ├── ModelUnavailable      cannot be reached, or 5xx
│   └── ModelReplyError       an answer that cannot be used
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
│   └── DiskFailed            the disk cannot be read or written
├── FetchError            weights could not be had or do not match their hash
├── NotBuilt              promised by the REST contract, brought by a later release (501)
└── SettingsError         a setting that cannot work, found at start
"""

from __future__ import annotations

from shared.errors.base import DgragError, FetchError, NotBuilt, SettingsError
from shared.errors.cloud import CloudError, CloudRefused, CloudUnavailable, Unrecorded, Unsendable, Withheld
from shared.errors.model import ModelError, ModelReplyError, ModelTimeout, ModelUnavailable
from shared.errors.request import (
    BlankQuestion,
    Conflict,
    DeadlinePassed,
    Expelled,
    Forbidden,
    InputError,
    NotFound,
    Overloaded,
    Quarantined,
    ResyncNeeded,
    StaleEpoch,
    TooLarge,
    Unauthenticated,
    UnreadableDocument,
    WireMismatch,
)
from shared.errors.store import DiskFailed, DiskFull, SafeMode, StoreDamaged, StoreError, StoreInUse

__all__ = [
    "BlankQuestion",
    "CloudError",
    "CloudRefused",
    "CloudUnavailable",
    "Conflict",
    "DeadlinePassed",
    "DgragError",
    "DiskFailed",
    "DiskFull",
    "Expelled",
    "FetchError",
    "Forbidden",
    "InputError",
    "ModelError",
    "ModelReplyError",
    "ModelTimeout",
    "ModelUnavailable",
    "NotBuilt",
    "NotFound",
    "Overloaded",
    "Quarantined",
    "ResyncNeeded",
    "SafeMode",
    "SettingsError",
    "StaleEpoch",
    "StoreDamaged",
    "StoreError",
    "StoreInUse",
    "TooLarge",
    "Unauthenticated",
    "UnreadableDocument",
    "Unrecorded",
    "Unsendable",
    "WireMismatch",
    "Withheld",
]
