"""The systems under test: how each is started, and how it is asked. Each strategy joins by one line of ``SYSTEMS``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import httpx2

from benchmarks.fdrag_systems import MEMORY, VARIANTS, Shares, copy_of, shared_copy
from benchmarks.metrics.overviews import overview_of
from benchmarks.reading import answered_in_few_words
from benchmarks.records import AnswerRow, Asking, Pointer, Step
from shared.errors import ModelError
from shared.ports import Generator
from shared.records import Level
from shared.wire import EVIDENCE_BUDGET_TOKENS

Layout = Literal["edges", "central"]  # each domain at its edge, or all documents at one
Mode = Literal["auto", "local", "cloud", "global", "read"]  # "read": what is found goes to a model of the benchmark's own
CENTRAL = "central"  # the edge of the layout that has one
ANSWER_TIMEOUT_S = 1800.0  # an edge gives up before, and a question about everything may take long
OK = 200
SIGNALS = "gate-signals"  # dgrag with all scores of its gate taken
LEVELS: tuple[Literal[0, 1, 2, 3], ...] = (0, 1, 2, 3)
GLOBAL_REDUCE_TOKENS = 4000  # of the call that writes a global answer, by an edge's default

# DGRAG's gate without each of its parts; what a threshold cannot reach costs no call.
NO_CONFIDENCE = {
    "DGRAG_EDGE_MIN_NEARNESS": "-1",
    "DGRAG_EDGE_MAX_UNKNOWN": "1",
    "DGRAG_EDGE_MAX_REFUSALS": "1",
    "DGRAG_EDGE_MIN_SUFFICIENCY": "0",
}
NO_SIMILARITY = {"DGRAG_EDGE_MIN_SIMILARITY": "0"}
# A baseline writes one answer and nothing judges it; its best one, hence no temperature.
ONE_ANSWER = NO_CONFIDENCE | NO_SIMILARITY | {"DGRAG_EDGE_SAMPLES": "1", "DGRAG_EDGE_TEMPERATURE": "0"}
# What is measured, never what stops: all scores of the gate are taken, whatever they are.
ALL_SIGNALS = NO_CONFIDENCE | {"DGRAG_EDGE_MIN_SUFFICIENCY": "1e-9", "DGRAG_EDGE_MIN_SIMILARITY": "1e-9"}
# All channels but the walk over the graph: words stay, and with them the gate's look at unknown ones (DGRAG §IV-D2, w/o KG).
NO_GRAPH = {"DGRAG_EDGE_RETRIEVAL": "dense,lexical"}
# One index and a large model (DGRAG §IV-B, Centralized RAG): it may read as many tokens as the cloud's, chosen from a pool as large
# as that of all the edges that a cloud asks.
POOLS = 3  # edges that a cloud asks; each looks through its candidates
LIKE_THE_CLOUD = {
    "DGRAG_EDGE_CONTEXT_TOKENS": str(EVIDENCE_BUDGET_TOKENS),
    "DGRAG_EDGE_CANDIDATE_TOKENS": str(POOLS * 1600),
    "DGRAG_EDGE_TOP_K": str(POOLS * 20),
}
# Summary matching as the paper's: no edge leads, and one may have all of the m matches.
PLAIN_MATCHING = {"DGRAG_CLOUD_MATCH_LEAD": "0", "DGRAG_CLOUD_SLOTS_PER_EDGE": "1000"}
# GraphRAG's conditions (§3.3) read all reports of their level, or all passages; SS has one context window for the passages that it finds:
# as many tokens as a global answer may be written from, and passages enough to fill it where they are short.
WHOLE_LEVEL = {"DGRAG_EDGE_GLOBAL_READ_TOKENS": "0"}
ONE_WINDOW = {
    "DGRAG_EDGE_STRATEGY": "naive",
    "DGRAG_EDGE_CONTEXT_TOKENS": str(GLOBAL_REDUCE_TOKENS),
    "DGRAG_EDGE_CANDIDATE_TOKENS": str(GLOBAL_REDUCE_TOKENS),
    "DGRAG_EDGE_TOP_K": "80",
}
# Of every system: answers may be equally long, whoever writes them. And one machine stands for all sites: a cloud that computes leaves
# an edge without a sign of life for seconds, which on machines of their own would mean that it is away. So edges are waited for, too: what
# is found must not depend on how busy the one machine is.
SAME_FOR_ALL = {
    "DGRAG_EDGE_SAMPLE_TOKENS": "96",
    "DGRAG_CLOUD_MAX_ANSWER_TOKENS": "96",
    "DGRAG_EDGE_CLOUD_PATIENCE_S": "30",
    "DGRAG_CLOUD_STRAGGLER_S": "30",
    "DGRAG_CLOUD_DEADLINE_S": "60",
}


@dataclass(frozen=True, slots=True)
class Start:
    """A way to start a cluster; equal ones share one start."""

    layout: Layout = "edges"
    copy: str = ""  # it works on its own copy of the indexed state, of this name; empty: on the state itself
    environment: tuple[tuple[str, str], ...] = ()  # settings of the services, beside their defaults
    shares: Shares = ""  # of its memories; its copy is then of the whole state, graph and summaries too

    @classmethod
    def of(cls, layout: Layout = "edges", environment: Mapping[str, str] | None = None, *, copy: str = "", shares: Shares = "") -> Start:
        """With the settings in order, so that equal ones are equal."""
        return cls(layout, copy, tuple(sorted((environment or {}).items())), shares)


@dataclass(frozen=True, slots=True)
class System:
    """One way to answer a question."""

    name: str
    start: Start = field(default_factory=Start)
    mode: Mode = "auto"
    gated: bool = False  # its gate's decision counts
    level: Level | None = None  # of mode global; None: as the edge's settings say
    alone: bool = False  # the question stays at the site that is asked
    top_k: int | None = None  # of mode read: so many passages; None: all that fit the edge's budget

    def body(self, question: str) -> dict[str, str | int]:
        """The question as ``POST /v1/query`` takes it."""
        level = {} if self.level is None else {"level": self.level}
        return {"question": question, "mode": self.mode, **level, **({"allow_escalation": "no"} if self.alone else {})}


PLAIN_PASSAGES = 6  # one call over the best passages and nothing else: what an answer path must not be behind


def _overview(name: str, level: Level) -> System:
    start = Start.of("edges", {} if level == "dynamic" else WHOLE_LEVEL)
    return System(name, start, mode="global", level=level, alone=True)


_ALL = (
    System("naive", Start.of("edges", ONE_ANSWER | {"DGRAG_EDGE_STRATEGY": "naive"}, copy="naive"), mode="local"),
    System("local", Start.of("edges", ONE_ANSWER), mode="local"),
    System("reader", mode="read"),
    System("plain", mode="read", top_k=PLAIN_PASSAGES),
    System("cloud", mode="cloud"),
    System("centralized", Start.of("central", ONE_ANSWER | LIKE_THE_CLOUD), mode="local"),
    System("dgrag", gated=True),
    System("dgrag-no-confidence", Start.of("edges", NO_CONFIDENCE), gated=True),
    System("dgrag-no-similarity", Start.of("edges", NO_SIMILARITY), gated=True),
    System("dgrag-no-batch", Start.of("edges", {"DGRAG_EDGE_SAMPLES": "1"}), gated=True),
    System("dgrag-no-graph", Start.of("edges", NO_GRAPH), gated=True),
    System(SIGNALS, Start.of("edges", ALL_SIGNALS), mode="local", gated=True),  # for `calibrate`
    *(_overview(f"graphrag-c{level}", level) for level in LEVELS),
    _overview("graphrag-dynamic", "dynamic"),
    _overview("graphrag-ts", "text"),
    System("graphrag-ss", Start.of("edges", ONE_ANSWER | ONE_WINDOW, copy="naive"), mode="local"),
    System("graphrag-federated", mode="global"),
    System("graphrag-central", Start.of("central"), mode="global", alone=True),
    *(System(one.name, Start.of("edges", ONE_ANSWER | one.settings, copy=one.copy, shares=one.shares), mode=one.mode) for one in VARIANTS),
)
SYSTEMS: Mapping[str, System] = {system.name: system for system in _ALL}
# What a name may change after a colon, as in "dgrag:match=0.3" (DGRAG Fig. 11).
KNOBS = {
    "match": "DGRAG_CLOUD_MATCH_THRESHOLD",
    "evidence": "DGRAG_CLOUD_EVIDENCE_THRESHOLD",
    "budget": "DGRAG_CLOUD_EVIDENCE_BUDGET_TOKENS",
    "samples": "DGRAG_EDGE_SAMPLES",
    "read": "DGRAG_EDGE_GLOBAL_READ_TOKENS",
    "memory": MEMORY,
    "cover": "DGRAG_EDGE_MEMORY_COVER",
}


@dataclass(frozen=True, slots=True)
class Retriever:
    """One way to find evidence without a language model."""

    name: str
    start: Start
    mode: Literal["local", "cloud"]
    asker: Literal["home", "operator"] = "home"  # the edge that has the first needed document; nobody's site: the cloud itself is asked


def system_named(name: str) -> System:
    """The system of a name; behind a colon, one setting of it. Raises ValueError that lists what there is.

    >>> system_named("dgrag:match=0.3").start.environment
    (('DGRAG_CLOUD_MATCH_THRESHOLD', '0.3'),)
    """
    plain, colon, setting = name.partition(":")
    knob, _, value = setting.partition("=")
    if plain not in SYSTEMS:
        raise ValueError(f"there is no system {name!r}; there are {', '.join(SYSTEMS)}")
    if not colon:
        return SYSTEMS[plain]
    if knob not in KNOBS or not value:
        raise ValueError(f"{name!r} changes nothing that is known; a system may be followed by :{', :'.join(KNOBS)} with =VALUE")
    system = SYSTEMS[plain]
    environment = {**dict(system.start.environment), KNOBS[knob]: value}
    start = Start.of(system.start.layout, environment, copy=copy_of(system.start.copy, environment), shares=system.start.shares)
    return replace(system, name=name, start=start)


# What a retrieval may change behind its colon, as in "centralized:strategy=ketrag,variant=keyword"; none of it needs another index.
RETRIEVAL_KNOBS = {
    "strategy": "DGRAG_EDGE_STRATEGY",
    "mix": "DGRAG_EDGE_MIX",
    "channels": "DGRAG_EDGE_RETRIEVAL",
    "variant": "DGRAG_EDGE_KET_VARIANT",
    "theta": "DGRAG_EDGE_KET_ENTITY_SHARE",
    "beta": "DGRAG_EDGE_KET_CORE_SHARE",
    "k": "DGRAG_EDGE_KET_NEIGHBOURS",
    "tau": "DGRAG_EDGE_KET_SPLITS",
    "keywords": "DGRAG_EDGE_KET_KEYWORDS",
    "weights": "DGRAG_EDGE_KET_WEIGHTS",
    "order": "DGRAG_EDGE_KET_ORDER",
    "fill": "DGRAG_EDGE_KET_FILL",
    "search": "DGRAG_EDGE_TREE_SEARCH",
    "p": "DGRAG_EDGE_TREE_SHARE",
}
SHARING: Mapping[str, Shares] = {"share=hints": "hints", "share=answers": "answers"}  # in the place of settings: what the cloud is told
OPERATORS = "federated-operator"
PLACES: Mapping[str, Literal["local", "cloud"]] = {"centralized": "local", "local": "local", "federated": "cloud", OPERATORS: "cloud"}


def parsed_retrieval(name: str) -> Retriever:
    """``centralized``, ``local``, ``federated`` (asked at the question's home) or ``federated-operator`` (asked at the cloud).

    Behind a colon stand the channels, where not all are meant, or settings of a strategy. Raises ValueError.

    >>> parsed_retrieval("federated-operator:share=hints").start.shares
    'hints'
    >>> parsed_retrieval("centralized:dense+lexical").start.environment
    (('DGRAG_EDGE_RETRIEVAL', 'dense,lexical'),)
    >>> parsed_retrieval("centralized:strategy=ketrag,theta=0.2").start.environment
    (('DGRAG_EDGE_KET_ENTITY_SHARE', '0.2'), ('DGRAG_EDGE_STRATEGY', 'ketrag'))
    """
    place, _, settings = name.partition(":")
    if place not in PLACES:
        raise ValueError(f"there is no retrieval {name!r}; there are {', '.join(PLACES)}, as in centralized:dense+lexical")
    if "=" not in settings:
        settings = f"channels={settings}" if settings else ""
    environment, shares = {}, SHARING.get(settings)
    for setting in settings.split(",") if settings and shares is None else ():
        knob, _, value = setting.partition("=")
        if knob not in RETRIEVAL_KNOBS or not value:
            raise ValueError(f"{name!r} changes nothing that is known; behind the colon may stand {'=, '.join(RETRIEVAL_KNOBS)}=")
        environment[RETRIEVAL_KNOBS[knob]] = value.replace("+", ",").replace("/", "=")
    layout: Layout = "central" if place == "centralized" else "edges"
    start = (
        Start.of(layout, environment) if shares is None else Start.of("edges", {MEMORY: "plain"}, copy=shared_copy(shares), shares=shares)
    )
    return Retriever(name, start, PLACES[place], "operator" if place == OPERATORS else "home")


@dataclass(frozen=True, slots=True)
class Asker:
    """A system that runs: the one interface to all of them."""

    system: System
    split: str
    urls: Mapping[str, str]  # by edge
    http: httpx2.AsyncClient
    generator: Generator | None = None  # that reads, where the system's mode is "read"

    async def answer(self, asking: Asking) -> AnswerRow:
        """Ask one question at one edge; what goes wrong is a row with its error."""
        url = self.urls[CENTRAL if self.system.start.layout == "central" else asking.edge]
        started = time.perf_counter()
        try:
            said, error = await self._said(url, asking.question.text)
        except (httpx2.HTTPError, ModelError) as problem:
            said, error = {}, f"{type(problem).__name__}: {problem}"
        error = error or alone(said)
        return self._row(asking, said, round(time.perf_counter() - started, 3), error)

    async def _said(self, url: str, question: str) -> tuple[Mapping[str, Any], str]:
        if self.generator is None:
            return read(await self.http.post(f"{url}/v1/query", json=self.system.body(question), timeout=ANSWER_TIMEOUT_S))
        most = {} if self.system.top_k is None else {"top_k": self.system.top_k}
        found, error = read(await self.http.post(f"{url}/v1/retrieve", json={"question": question, **most}))
        return (found, error) if error else (await answered_in_few_words(self.generator, question, found), "")

    def _row(self, asking: Asking, said: Mapping[str, Any], seconds: float, error: str) -> AnswerRow:
        gate = said.get("gate")
        return AnswerRow(
            split=self.split,
            scenario=asking.scenario,
            system=self.system.name,
            edge=asking.edge,
            question_id=asking.question.question_id,
            question=asking.question.text,
            references=asking.question.references,
            answer=said.get("answer", ""),
            answered=bool(said.get("answered", False)),
            route=said.get("route", ""),
            seconds=seconds,
            escalated=self.system.gated and (gate or {}).get("decision") == "escalate",
            gate=gate if self.system.gated else None,
            steps=tuple(Step(**step) for step in said.get("trace", ())),
            asked_edges=asked_edges(said),
            error=error,
            overview=overview_of(said) if self.system.mode == "global" and not error else None,
            citations=tuple(pointer(citation) for citation in said.get("citations", ())),
            memory=said.get("memory"),
        )


def pointer(citation: Mapping[str, Any]) -> Pointer:
    """A citation of an answer, without what it quotes."""
    first, last = citation["span"]
    return Pointer(citation["n"], citation["edge"], citation["document"], citation["chunk_id"], (first, last))


def asked_edges(said: Mapping[str, Any]) -> tuple[str, ...]:
    """The edges that a cloud has asked for an answer, or for evidence."""
    return tuple(report["edge"] for report in said.get("edges", ()) if report["status"] != "skipped")


def alone(said: Mapping[str, Any]) -> str:
    """The error of an answer that a site gave without the cloud that it had asked; empty for any other.

    >>> alone({"degraded": True, "reason": "the cloud is away"}), alone({"answer": "May"})
    ('the site answered alone: the cloud is away', '')
    """
    return f"the site answered alone: {said.get('reason', '')}" if said.get("degraded") else ""


def read(response: httpx2.Response) -> tuple[Mapping[str, Any], str]:
    """The JSON object of an answer and no error; or nothing, and the error in one line."""
    try:
        said = response.json()
    except ValueError as problem:
        return {}, f"{response.status_code}: {type(problem).__name__}: {problem}"
    if not isinstance(said, dict):
        return {}, f"{response.status_code}: not an answer"
    return (said, "") if response.status_code == OK else ({}, f"{response.status_code} {said.get('code', '')}: {said.get('detail', '')}")
