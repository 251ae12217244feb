"""What a scenario's file says. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from deploy.cluster.errors import ClusterError
from shared.wire import EDGE_ID_PATTERN

Verb = Literal["set", "cut", "heal", "kill", "pause", "resume", "restart", "retrieve", "ask", "add", "in-step", "look"]
CLOUD = "cloud"
ALL = "all"
OF_LINKS = ("set", "cut", "heal")
OF_SERVICES = ("kill", "pause", "resume", "restart")
QUESTIONS = ("retrieve", "ask")


class Strict(BaseModel):
    """A table of the file: a word that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Site(Strict):
    """``[[edge]]``: an edge, and its documents: a file or folder, from the scenario's file on."""

    name: Annotated[str, Field(pattern=EDGE_ID_PATTERN)]
    data: Annotated[str, Field(min_length=1)]


class Expect(Strict):
    """What an answer has to be; what is not named may be as it likes."""

    degraded: bool | None = None  # of this site alone, because the cloud is away
    cites: tuple[str, ...] = ()  # edges whose passages have to be in it
    partial: bool | None = None  # an edge that was to be asked has not answered
    missing: tuple[str, ...] = ()  # edges that the answer has to name as late or offline
    within_s: float | None = None


class Event(Strict):
    """``[[event]]``: what is done, once all before it has ended; or beside that."""

    do: Verb
    wait: Annotated[float, Field(ge=0)] = 0.0  # seconds before it
    beside: bool = False  # while the event before it goes on, whose ``wait`` begins at the same time
    once_sent: Annotated[int, Field(ge=0)] = 0  # not before the edge has sent so many more bytes over its link
    once_swallowed: Annotated[int, Field(ge=0)] = 0  # not before the edge's link, being cut, has swallowed so many more packets to it
    edge: str = ALL  # "all" is for links and for in-step; a service may be "cloud"
    link: str = ""  # of "set": rate=5mbit loss=1%
    question: str = ""
    times: Annotated[int, Field(ge=1)] = 1  # of a question: one after the other
    document: str = ""  # of "add": a text file, from the scenario's file on
    expect: Expect = Expect()

    @model_validator(mode="after")
    def _whole(self) -> Self:
        needed = {"set": self.link, "retrieve": self.question, "ask": self.question, "add": self.document}
        if self.do in needed and not needed[self.do]:
            raise ValueError(f"{self.do} needs a {'link' if self.do == 'set' else 'document' if self.do == 'add' else 'question'}")
        if self.edge == ALL and (self.once_sent or self.once_swallowed or self.do not in (*OF_LINKS, "in-step", "look")):
            raise ValueError(f"{self.do} needs an edge")
        return self


class Scenario(Strict):
    """The whole file. ``model``: a name of the catalogue, a URL, or "none": then nothing can be asked, but retrieved."""

    about: str
    model: str = "none"
    link: str = ""  # as `dgrag up --link`
    edge: Annotated[tuple[Site, ...], Field(min_length=1)]
    event: Annotated[tuple[Event, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _known(self) -> Self:
        names = {site.name for site in self.edge}
        for event in self.event:
            allowed = names | {ALL} | ({CLOUD} if event.do in OF_SERVICES else set())
            for name in {event.edge} - allowed | (set(event.expect.cites) | set(event.expect.missing)) - names:
                raise ValueError(f"there is no edge {name!r} for {event.do}")
            if event.do == "ask" and self.model == "none":
                raise ValueError("to ask takes a model; without one, retrieve")
        return self


def read(text: str) -> Scenario:
    """The scenario of a file's text. Raises ClusterError that names the place.

    >>> read('about = "x"')
    Traceback (most recent call last):
    deploy.cluster.errors.ClusterError: the scenario cannot be read: edge: Field required; event: Field required
    """
    try:
        return Scenario.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ClusterError(f"the scenario is no TOML: {error}", next_step="compare it with those in deploy/scenarios") from error
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}".lstrip(": ") for fault in error.errors())
        raise ClusterError(f"the scenario cannot be read: {told}", next_step="compare it with those in deploy/scenarios") from error


def steps(events: Sequence[Event]) -> list[list[Event]]:
    """The events that go on side by side, step by step.

    >>> [len(step) for step in steps([Event(do="cut"), Event(do="heal", beside=True), Event(do="look")])]
    [2, 1]
    """
    found: list[list[Event]] = []
    for event in events:
        if event.beside and found:
            found[-1].append(event)
        else:
            found.append([event])
    return found
