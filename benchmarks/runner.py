"""A run from its config to its result: splits, starts and stages in their order, all of it resumable."""

from __future__ import annotations

import asyncio
import fcntl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import orjson

from benchmarks.cluster import Fleet, served
from benchmarks.config import SIZE, RunConfig, SplitConfig
from benchmarks.datasets import open_corpus, split_of, write_data
from benchmarks.datasets.corpus import Corpus
from benchmarks.errors import BenchmarkError
from benchmarks.fdrag_systems import NO_MEMORY
from benchmarks.journal import END, START, Journal
from benchmarks.link import LinkConfig
from benchmarks.machine import answering_code, code, indexing_code, machine, prompts
from benchmarks.peers.run import rows_of, run_peers
from benchmarks.records import Split
from benchmarks.samples import apart, sampled
from benchmarks.sharing import sharing
from benchmarks.stages import Progress, Task, Work
from benchmarks.stages.answers import answers
from benchmarks.stages.index import index, seconds_before, state_name
from benchmarks.stages.remembering import remembering
from benchmarks.stages.retrieval import retrieval
from benchmarks.stages.routing import routing
from benchmarks.stages.storage import storage
from benchmarks.summary import summarise
from benchmarks.systems import CENTRAL, PLAIN_MATCHING, SAME_FOR_ALL, Layout, Start, parsed_retrieval, system_named
from deploy.lab.namespaces import unable
from shared.http.open_mode import CALLER

HTTP_TIMEOUT = httpx2.Timeout(120.0, connect=10.0)
STAGES = ("index", "storage", "memories", "routing", "answers", "retrieval", "link", "skipped")
BARE = "naive"  # a copy of a state from which all that is derived is gone


@dataclass(frozen=True, slots=True)
class Result:
    """Where a run's figures are, and what they are."""

    file: Path
    figures: dict[str, Any]


class Runner:
    """Makes one run. What it needs between starts is in the folder ``work``."""

    def __init__(self, config: RunConfig, work: Path, progress: Progress) -> None:
        self.config = config
        self._work = work.resolve()
        self._code = self._code_now()
        self._progress = progress

    def run(self, out: Path) -> Result:
        """Do what is left, and write the result. Raises BenchmarkError when it cannot be made."""
        config = self.config
        with locked(self._work), self._journal() as journal:
            began = str(time.time())
            journal.add(START, began, code())
            # what is missing is said first
            corpora = {split.name: open_corpus(split, config.data.root, seed=config.seed) for split in config.split}
            gold = {name: {one.question_id: one.gold for one in corpus.questions()} for name, corpus in corpora.items()}
            asyncio.run(self._services(corpora, journal))
            rows = {stage: journal.rows(stage) for stage in STAGES}
            rows["peers"] = self._peers(journal, rows["skipped"])
            if self._code_now() != self._code:
                rows["skipped"].append({"what": "one code for all rows", "why": "the code was changed while the run was going on"})
            journal.add(END, began, {})
            figures = summarise(rows, self._provenance(journal), gold=gold)
        return written(figures, rows["answers"], out / f"{config.name}.json")

    def _code_now(self) -> str:
        return answering_code(peers=self.config.peers.enabled)

    def _journal(self) -> Journal:
        """What this run has noted with this code. Rows of other code stay in their own folder: they are never mixed."""
        run = f"{self.config.name}-{self.config.key()}"
        folder = self._work / f"{run}-{self._code}"
        if not folder.exists() and any(self._work.glob(f"{run}-*")):
            self._progress.say(
                "The code has changed since this run began: routing, answers and retrieval start anew. "
                "An index is used again where the code that writes it is the same."
            )
        return Journal(folder / "journal.jsonl")

    async def _services(self, corpora: Mapping[str, Corpus], journal: Journal) -> None:
        """All that needs the services."""
        config = self.config
        async with (
            httpx2.AsyncClient(headers=CALLER, timeout=HTTP_TIMEOUT, trust_env=False) as http,
            Fleet(
                self._work,
                config.models.generator,
                http,
                SAME_FOR_ALL | NO_MEMORY | config.environment,
                self._link(journal),
                partial(note_carried, journal),
            ) as fleet,
        ):
            for measured in config.split:
                corpus = corpora[measured.name]
                split = split_of(measured, corpus, seed=config.seed)
                name = self._state_name(measured, corpus, split, journal)
                data = self._work / "data" / name
                files = [data / f"{edge}.jsonl" for edge in split.documents]
                if not all(file.exists() for file in files):
                    write_data(split, corpus, data)
                states: dict[Layout, str] = {"edges": name, "central": f"{name}-{CENTRAL}"}
                work = Work(config, measured, corpus, split, journal, fleet, http, self._progress, data, states, self._code)
                for number, reason in enumerate(corpus.skipped()):
                    note(journal, f"{measured.name}/{number}", {"what": f"a row of {measured.name}", "why": reason})
                await self._stages(work)
            if not journal.done("models", "served"):
                journal.add("models", "served", await served(fleet, config.models.generator))

    def _link(self, journal: Journal) -> LinkConfig | None:
        """What there is to be between edges and cloud; nothing where that cannot be had and need not. Raises BenchmarkError."""
        link = self.config.link
        if link is None or not (why := unable()):
            return link
        if link.required:
            raise BenchmarkError(f"[link] cannot be had: {why}", next_step="run as root on Linux, set required = false, or take [link] out")
        note(journal, "link", {"what": f"links of {link.mbit:g} Mbit/s between edges and cloud", "why": why})
        return None

    def _state_name(self, measured: SplitConfig, corpus: Corpus, split: Split, journal: Journal) -> str:
        """The indexed state of a split. Runs that agree on what it depends on share it."""
        name = state_name(self.config, measured, corpus, split, written_by=indexing_code())
        if not journal.done("state", measured.name):
            journal.add("state", measured.name, {"split": measured.name, "state": name})
        return name

    # ------------------------------------------------------------ stages

    async def _stages(self, work: Work) -> None:
        tasks = [task for task in self._tasks(work) if task.units]
        layouts: dict[Layout, str] = {"edges": work.edges[0]}
        if self._central(work):
            layouts["central"] = CENTRAL
        needed = {task.start.layout for task in tasks}
        for layout, edge in layouts.items():
            if layout in needed or not work.journal.done("index", f"{work.split.name}/{layout}/{edge}"):
                await index(work, layout, self._environment(work, Start(layout)))
        if work.measured.storage:
            storage(work, work.states["edges"], work.measured.subgraph_entities[0])
        for start in dict.fromkeys(task.start for task in tasks):
            edges = work.edges if start.layout == "edges" else [CENTRAL]
            name = await self._state(work, start)
            self._progress.begin(f"{work.split.name}: start {start.layout} {' '.join(map('='.join, start.environment))}", 1)
            cluster = await work.fleet.up(name, edges, self._environment(work, start))
            await remembering(work, cluster, name, start)
            for task in (task for task in tasks if task.start == start):
                self._progress.begin(task.what, task.units)
                await task.make(cluster)
            await work.fleet.down()
            if work.measured.storage and (size := dict(start.environment).get(SIZE)):
                storage(work, name, int(size))

    def _tasks(self, work: Work) -> Iterator[Task]:
        """All that this split asks for, in an order that shares starts."""
        measured = work.measured
        if measured.routing:
            for place, size in enumerate(measured.subgraph_entities):
                copy, sized = (f"subgraphs-{size}", {SIZE: str(size)}) if place else ("", {})
                yield routing(work, Start.of("edges", sized, copy=copy), size)
                if measured.routing_plain:
                    yield routing(work, Start.of("edges", sized | PLAIN_MATCHING, copy=copy), size, plain=True)
        for name in measured.systems:
            askings = apart(work) if self.config.calibration else sampled(work, more=measured.more.get(name, 0))
            yield answers(work, system_named(name), askings)
        wanted = {question.question_id for question in work.questions()}
        home = [asking for asking in work.split.asked if asking.scenario != "out" and asking.question.question_id in wanted]
        for name in measured.retrieval:
            yield retrieval(work, parsed_retrieval(name), home)

    def _central(self, work: Work) -> bool:
        """Whether the split asks for one index of everything."""
        starts = [system_named(name).start for name in work.measured.systems]
        starts += [parsed_retrieval(name).start for name in work.measured.retrieval]
        return work.measured.storage or any(start.layout == "central" for start in starts)

    def _environment(self, work: Work, start: Start) -> Mapping[str, str]:
        shared = sharing(work.data, work.edges, start.shares, work.measured.masked)
        return {SIZE: str(work.measured.subgraph_entities[0]), **shared, **work.measured.environment, **dict(start.environment)}

    async def _state(self, work: Work, start: Start) -> str:
        """The state that a start works on: the indexed one, or a copy; a bare one, unless its graph leads the cloud to it."""
        indexed = work.states[start.layout]
        if not start.copy:
            return indexed
        source, name = indexed if start.shares else await self._bare(work, indexed), f"{indexed}-{start.copy}"
        if not work.fleet.state(name).exists():  # one copy is the bare one itself
            work.fleet.copy(source, name)
        return name

    async def _bare(self, work: Work, indexed: str) -> str:
        """The copy of a state from which all that is derived is gone."""
        bare = f"{indexed}-{BARE}"
        if not work.fleet.state(bare).exists():
            self._progress.begin(f"{work.split.name}: a copy without a graph", 1)
            work.fleet.copy(indexed, f"{bare}-draft")
            await work.fleet.up(f"{bare}-draft", work.edges, {**work.measured.environment, "DGRAG_EDGE_STRATEGY": "naive"})
            await work.fleet.down()
            work.fleet.state(f"{bare}-draft").rename(work.fleet.state(bare))
        return bare

    # ------------------------------------------------------------ the result

    def _peers(self, journal: Journal, skipped: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Other systems on the same corpus; where they cannot be had, the rest of the run still counts."""
        if not self.config.peers.enabled:
            return []

        def told(what: str, done: int, total: int) -> None:
            self._progress.begin(f"peers: {what}", total)
            self._progress.at(done)

        try:
            return run_peers(self.config.peers, data=self.config.data.root, work=self._work / "peers", journal=journal, progress=told)
        except BenchmarkError as error:
            skipped.append({"what": "the rest of peers", "why": f"{error.message}: {error.next_step}"})
            return rows_of(journal)

    def _provenance(self, journal: Journal) -> dict[str, Any]:
        sessions, link = journal.sessions(), self.config.link
        models = {"generator": self.config.models.generator, "embedder": self.config.model_settings().embedder}
        return {
            "name": self.config.name,
            "config": self.config.model_dump(mode="json", exclude={"data"}),
            "seed": self.config.seed,
            "limit": self.config.limit,
            **code(),
            "commits": sorted({row["commit"] for row in journal.rows(START)}),  # several: what can change a row is the same in all
            "code": {"answers": self._code, "index": indexing_code()},
            "started": sessions[0].started,
            "seconds": round(sum(session.seconds for session in sessions), 1),
            "index_seconds_before": seconds_before(journal.rows("index")),
            "sessions": [asdict(session) for session in sessions],
            "link": None if link is None or journal.done("skipped", "link") else link.model_dump(),
            "machine": machine(),
            "models": models | dict(*journal.rows("models")),
            "prompts": prompts(),
        }


def note_carried(journal: Journal, state: str, edge: str, passed: Mapping[str, int]) -> None:
    """Write down the bytes that an edge has sent to the cloud (``up``) and got from it during one start of a cluster."""
    journal.add("link", str(len(journal.rows("link"))), {"state": state, "edge": edge, **passed})


def note(journal: Journal, key: str, row: Mapping[str, Any]) -> None:
    """Say once that something was skipped, and why."""
    if not journal.done("skipped", key):
        journal.add("skipped", key, row)


def written(figures: dict[str, Any], answers: Sequence[Mapping[str, Any]], file: Path) -> Result:
    """Write the figures, and beside them all answers, which quote the data and are not for the repository."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps(figures, option=orjson.OPT_INDENT_2))
    file.with_suffix(".answers.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in answers))
    return Result(file, figures)


@contextmanager
def locked(work: Path) -> Iterator[None]:
    """One run at a time works in a folder. Raises BenchmarkError for the second."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / "run.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BenchmarkError(f"another run works in {work}", next_step="wait for it, or give another folder with --work") from error
        yield
