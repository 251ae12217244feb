"""The sharing policy of a site: its file's form, and what it says of a document, a requester and a purpose."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import Annotated, Literal, cast, get_args

import phonenumbers
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from edge_node.extraction.packs.table import typed_by
from edge_node.extraction.syntax import CONCEPT, TYPES
from edge_node.policy.national_numbers import known_countries
from edge_node.policy.patterns import bounded, line_of, told
from edge_node.policy.persons import RULE
from edge_node.policy.shares import FIRST_QUESTIONS
from edge_node.records import Share
from shared.errors import DgragError, InputError
from shared.text.language import READ
from shared.wire import MAX_EVIDENCE_CHARS, MAX_MEMORIES

Identifier = Literal["email", "phone", "iban", "card", "ssn", "record"]
EscalationMode = Literal["yes", "no", "ask"]
NameKind = Literal["person", "organization", "place", "group"]
NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)
Word = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0)]
MAX_FAULTS = 5  # that are told at once


class Level(IntEnum):
    """How much of a document may leave; each includes what is before it."""

    NEVER = 0
    SUMMARY = 1  # its facts may stand in summaries
    EVIDENCE = 2  # passages may be read by the cloud's model, and are not quoted
    FULL = 3


def level(share: Share) -> Level:
    """The level of a word in the file."""
    return Level[share.upper()]


def share_of(found: Level) -> Share:
    """The word for a level."""
    return cast("Share", found.name.lower())


LEAST_TYPED = 0.95  # of planted names: a type that the detector gives to fewer, or that nobody has counted, is no type to mask by
# persons have a rule of their own (``persons``)
OFTEN_MISTYPED = {kind for kind in TYPES.values() if kind != "person" and typed_by(READ).get(kind, 0.0) < LEAST_TYPED}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Exceptional(_Part):
    """Other evidence for some requesters or purposes. Without labels it concerns every named label and what has none."""

    labels: list[Word] = []
    edges: list[Word] = []  # names, with * and ? for any characters; "operator:*" are people at the cloud
    purposes: list[Word] = []
    share: Share

    @model_validator(mode="after")
    def _names_somebody(self) -> Exceptional:
        if not self.edges and not self.purposes:
            raise ValueError("an exception needs edges or purposes")
        return self

    def fits(self, label: str | None, requester: str, purpose: str | None) -> bool:
        """Whether this one decides. label None: a document without one."""
        edges = not self.edges or any(fnmatchcase(requester, pattern) for pattern in self.edges)
        return edges and (not self.purposes or purpose in self.purposes) and (not self.labels or label in self.labels)


class Redact(_Part):
    """What is masked in everything that leaves."""

    identifiers: list[Identifier] = []
    countries: list[str] = []  # of the site, as "DE": all national numbers of these; none: the numbers of persons of all countries
    phone_regions: list[str] = ["US", "GB", "DE", "FR"]  # whose national numbers are known; +49 30 … is known everywhere
    patterns: list[str] = []
    types: list[Word] = []  # entity types, all of whose names are masked; what is in a language that is not read stays here
    names: list[Word] = []

    @property
    def regions(self) -> list[str]:
        """Whose national telephone numbers are masked: the site's own too."""
        known = [country for country in self.countries if country in phonenumbers.SUPPORTED_REGIONS]
        return [*dict.fromkeys([*self.phone_regions, *known])]

    @property
    def masks_persons(self) -> bool:
        """Whether names of persons are masked, known or not."""
        return "person" in map(str.lower, self.types)

    @property
    def masks_all_names(self) -> bool:
        """Whether all names are masked that the detector finds, as it gives many of a masked type another one."""
        return any(kind.lower() in OFTEN_MISTYPED for kind in self.types)

    @field_validator("patterns")
    @classmethod
    def _run_in_bounds(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            try:
                bounded(pattern)
            except InputError as error:
                raise ValueError(error.message) from error
        return patterns

    @field_validator("countries")
    @classmethod
    def _have_numbers(cls, countries: list[str]) -> list[str]:
        if countries and (unknown := set(countries) - known_countries()):
            raise ValueError(f"no number of the country {min(unknown)!r} is known; countries are named by two capitals, as DE")
        return countries

    @field_validator("phone_regions")
    @classmethod
    def _are_known(cls, regions: list[str]) -> list[str]:
        if unknown := set(regions) - phonenumbers.SUPPORTED_REGIONS:
            raise ValueError(f"unknown region {min(unknown)!r}")
        return regions


class Daily(_Part):
    """What one requester gets in a day (UTC) at most, also where the file says nothing of it; 0: no limit."""

    replies: Count = 1_000
    passages: Count = 10_000
    bytes: Count = 20_000_000
    share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0  # of all passages of the site: so many different ones

    @property
    def lifted(self) -> bool:
        """Whether there is no limit at all."""
        return not (self.replies or self.passages or self.bytes or self.share)


class DailyAll(Daily):
    """The same for all requesters together, whatever names the cloud gives them: five times as much."""

    replies: Count = 5_000
    passages: Count = 50_000
    bytes: Count = 100_000_000


class MemoryRules(_Part):
    """What the cloud is told of a site's memories: nothing, hints of where to ask, or also answers of what everybody may quote."""

    share: Literal["off", "hints", "answers"] = "off"
    names: list[NameKind] = list(NAME_KINDS)  # that are exchanged in hints; with a name of another kind a hint stays here
    epsilon: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] = 2.0  # of a name that has not been drawn yet
    epsilon_budget: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 2.0  # of each name; above it none is drawn
    most: Annotated[int, Field(ge=1, le=MAX_MEMORIES)] = MAX_MEMORIES


class Policy(_Part):
    """A policy file. ``fault`` is never in it: why nothing is shared at all."""

    version: Literal[1]
    unlabelled: Share = "full"
    questions: EscalationMode = "yes"
    minimum_support: Annotated[int, Field(ge=1, le=1_000)] = 1
    snippet_chars: Annotated[int, Field(ge=1, le=MAX_EVIDENCE_CHARS)] = 2_000
    labels: dict[str, Share] = {}
    exceptions: Annotated[list[Exceptional], Field(max_length=200)] = []
    redact: Redact = Redact()
    memories: MemoryRules = MemoryRules()
    daily: Daily = Daily()
    daily_all: DailyAll = DailyAll()
    fault: Annotated[str, Field(exclude=True)] = ""

    @model_validator(mode="after")
    def _excepts_what_it_names(self) -> Policy:
        if unknown := {label for exception in self.exceptions for label in exception.labels} - set(self.labels):
            raise ValueError(f"the label {min(unknown)!r} of an exception is not in [labels]")
        return self

    @classmethod
    def nothing(cls, fault: str) -> Policy:
        """Share nothing, for this reason."""
        return cls(version=1, unlabelled="never", questions="no", fault=fault)

    @property
    def key(self) -> str:
        """Twelve hex digits, other ones for any other meaning."""
        return _digest([self.model_dump(), bool(self.fault)])

    @property
    def summaries_key(self) -> str:
        """The same for the parts that concern summaries."""
        read = {label: min(level(share), Level.EVIDENCE) for label, share in self.labels.items() if level(share) >= Level.SUMMARY}
        unlabelled = min(level(self.unlabelled), Level.EVIDENCE)  # whether passages leave decides about titles
        return _digest([unlabelled, sorted(read.items()), self.minimum_support, self.redact.model_dump(), *self._reading])

    @property
    def memories_key(self) -> str:
        """The same for the parts that concern memories."""
        parts = {"unlabelled", "labels", "exceptions", "minimum_support", "redact", "memories"}
        return _digest([self.model_dump(include=parts), bool(self.fault), *self._reading])

    @property
    def _reading(self) -> list[object]:
        """What masking types rests on; releases that knew less of languages and names told more under the same file."""
        return [READ, RULE] if self.redact.types else []

    def summary_level(self, labels: Iterable[str]) -> Level:
        """The base level of a document with these labels: the lowest of them; a label that is not named: never."""
        return min((level(self.labels.get(label, "never")) for label in labels), default=level(self.unlabelled))

    def evidence_level(self, labels: Iterable[str], requester: str, purpose: str | None) -> tuple[Level, str]:
        """What a requester may get of a document with these labels, and the rule that says so: of its labels, the strictest."""
        found = [self._of_label(label, requester, purpose) for label in sorted(set(labels))]
        return min(found, key=lambda item: item[0]) if found else self._of_label(None, requester, purpose)

    def level_for_all(self, labels: Iterable[str]) -> Level:
        """What may be told to everybody of a document: the least of its base and of all exceptions that could fit some requester."""
        named = set(labels)
        excepted = (level(item.share) for item in self.exceptions if not item.labels or not named.isdisjoint(item.labels))
        return Level.NEVER if self.fault else min([self.summary_level(named), *excepted])

    def escalation(self, client: EscalationMode | None) -> EscalationMode:
        """Whether a question may leave: the stricter of policy and client, but a client's yes is an answer to ``ask``."""
        if "no" in (self.questions, client):
            return "no"
        if client is None:
            return self.questions
        return client

    def _of_label(self, label: str | None, requester: str, purpose: str | None) -> tuple[Level, str]:
        if self.fault:
            return Level.NEVER, "fault"
        if label is not None and label not in self.labels:
            return Level.NEVER, "unknown label"
        for number, exception in enumerate(self.exceptions, start=1):
            if exception.fits(label, requester, purpose):
                return level(exception.share), f"exception {number}"
        return (level(self.unlabelled), "unlabelled") if label is None else (level(self.labels[label]), f"label {label}")


def parse(text: str) -> Policy:
    """Read a policy file. Raises InputError that says what is wrong with it.

    >>> parse("version = 1").unlabelled
    'full'
    """
    try:
        policy = Policy.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unreadable(str(error)) from error
    except ValidationError as error:
        faults = sorted(error.errors(include_input=False), key=lambda fault: line_of(text, fault["loc"]) or 0)[:MAX_FAULTS]
        raise _unreadable("; ".join(told(text, fault, _fields_at(fault["loc"])) for fault in faults)) from error
    if policy.fault:
        raise _unreadable("fault: not a field")
    return policy


def doubts(policy: Policy) -> tuple[str, ...]:
    r"""What a policy that can be read may not do as its owner thinks.

    >>> doubts(parse("version = 1\n[redact]\ntypes = ['people']"))[0][:42]
    'the name detector knows no type people; it'
    """
    found, known = [], {*TYPES.values(), CONCEPT}
    if strangers := sorted(set(policy.redact.types) - known):
        told, named = ", ".join(strangers), ", ".join(sorted(known))
        found.append(f"the name detector knows no type {told}; it masks only what a model has called so. Known: {named}")
    if "unlabelled" not in policy.model_fields_set:
        found.append(f"it does not say `unlabelled`, so documents without a label are shared as {policy.unlabelled}")
    if policy.daily_all.lifted:
        found.append("[daily_all] has no limit: a cloud that makes up a name for each question can copy this site")
    return tuple(found)


def _fields_at(where: tuple[int | str, ...]) -> list[str]:
    parts: dict[str, type[_Part]] = {"exceptions": Exceptional, "redact": Redact, "memories": MemoryRules}
    parts |= {"daily": Daily, "daily_all": DailyAll}
    part = parts.get(str(where[0]), Policy) if len(where) > 1 else Policy
    return [name for name, field in part.model_fields.items() if not field.exclude]


def _unreadable(why: str) -> DgragError:
    return InputError(f"the sharing policy cannot be read: {why}", next_step="mend it, and try it with `dgrag policy check FILE`")


def _digest(meaning: list[object]) -> str:
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()[:12]


STANDARD = """\
# What may leave this site. It is read anew at each use. A file that cannot be read shares nothing at once, and after
# ten seconds takes back what the cloud holds.
# Try a change first: dgrag policy check FILE, dgrag policy try --state DIR.
version = 1
unlabelled = "full"        # documents without a label: never, summary, evidence (read by the cloud, not quoted) or full
questions = "yes"          # may a question leave: yes, no, or ask (only once the client has said yes to it)
minimum_support = 1        # entities seen in fewer documents stay out of summaries
snippet_chars = 2000       # longest passage that leaves

[labels]                   # by label; one that is not named here: never
# public = "full"
# patients = "summary"

# [[exceptions]]           # for evidence; in order, the first that fits decides
# labels = ["patients"]
# edges = ["ward-*"]
# purposes = ["treatment"]
# share = "evidence"

[redact]                   # masked in all that leaves, file names and questions too
identifiers = []           # of email, phone, iban, card, ssn, record
countries = []             # of this site, as "DE": all national numbers of these; none: numbers of persons of all countries
patterns = []              # as "PAT-[0-9]{6}"
types = []                 # entity types whose names are masked, as "person"; with another one than person and organization, all names
                           # are; passages that are not in English then stay here
names = []

[memories]                 # questions with their answers, as this site remembers them, for everybody who asks the cloud
share = "off"              # off, hints (of where to ask; their names are exchanged), or answers (also, of what all may quote)
names = ["person", "organization", "place", "group"]  # that are exchanged; a hint with another name stays here
epsilon = 2.0              # how much the other name tells of the true one; each is drawn once, for ever
epsilon_budget = 2.0       # while epsilon is above it, a memory with a name that is not drawn yet stays here
most = 2000                # memories that leave

[daily]                    # for each requester, by the name that the cloud gives it; 0: no limit; left out: as here
replies = 1000
passages = 10000
bytes = 20000000
share = 0                  # of all passages here, different ones; 0.1 keeps who crawls at a tenth a day

[daily_all]                # for all requesters together: the cloud can make names up, and gets no more by that
replies = 5000
passages = 50000
bytes = 100000000
share = 0
"""


def first_policy(share: Share) -> str:
    """The policy of a new site that shares documents without a label so: the standard text, with that word in it.

    Where passages may leave, questions may; else they wait for the yes of who asks.

    >>> read = parse(first_policy("summary"))
    >>> read.unlabelled, read.questions
    ('summary', 'ask')
    """
    questions = FIRST_QUESTIONS[share]
    return STANDARD.replace('"full"        #', f"{_quoted(share):<14}#", 1).replace('"yes"          #', f"{_quoted(questions):<15}#", 1)


def _quoted(word: str) -> str:
    return f'"{word}"'
