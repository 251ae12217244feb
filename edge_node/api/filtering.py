"""Filters as clients of REST, chat and MCP write them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from edge_node.records import Filters
from shared.wire import MAX_NAME_CHARS

DAY = timedelta(days=1)
DATE_CHARS = len("2026-01-31")
MAX_VALUES = 32
LANGUAGE = re.compile(r"[a-z]{2,3}")


def _moment(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("a date is written as 2026-01-31 or 2026-01-31T12:00:00Z") from error
    return text


def _language(text: str) -> str:
    if not LANGUAGE.fullmatch(text):
        raise ValueError("a language is told by its code, as en or de (ISO 639-1)")
    return text


Word = Annotated[str, Field(min_length=1, max_length=64)]
Path = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
Moment = Annotated[str, Field(max_length=40), AfterValidator(_moment)]
Language = Annotated[Word, AfterValidator(_language)]
Languages = Annotated[tuple[Language, ...], Field(min_length=1, max_length=MAX_VALUES, fail_fast=True)]
Words = Annotated[tuple[Word, ...], Field(min_length=1, max_length=MAX_VALUES, fail_fast=True)]
Paths = Annotated[tuple[Path, ...], Field(min_length=1, max_length=MAX_VALUES, fail_fast=True)]


class FiltersBody(BaseModel):
    """Only documents of this site to which all of these apply: the question stays at this site then."""

    model_config = ConfigDict(extra="forbid")

    label: Word | Words | None = Field(None, description="One that the document has; of several, one of them.")
    language: Language | Languages | None = Field(None, description="Of the most of the document, as 'en' or 'de' (ISO 639-1).")
    since: Moment | None = Field(None, description="The document came to this site then or later: a date or a time, UTC.")
    until: Moment | None = Field(None, description="… or before: a date counts with its whole day.")
    path: Path | Paths | None = Field(None, description="The document's name, with * and ?, or a folder that it is in.")

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and not given.keys() <= cls.model_fields.keys():
            raise ValueError(f"there is no such filter: the filters are {', '.join(cls.model_fields)}")
        return given

    def asked(self) -> Filters | None:
        """As the edge applies them; None: nothing is narrowed."""
        if not self.model_dump(exclude_none=True):
            return None
        since = -math.inf if self.since is None else _begin(self.since).timestamp()
        return Filters(frozenset(_listed(self.label)), frozenset(_listed(self.language)), _listed(self.path), since, _end(self.until))


def filters_of(body: FiltersBody | None) -> Filters | None:
    """The filters of a request, if it has any."""
    return None if body is None else body.asked()


def _listed(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value


def _begin(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _end(text: str | None) -> float:
    """The first moment that is too late."""
    if text is None:
        return math.inf
    begin = _begin(text).timestamp()
    return math.nextafter(begin, math.inf) if len(text) > DATE_CHARS else begin + DAY.total_seconds()
