"""The comparison: each system through each step, in its own process, against one model server; finished steps are never run again."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from benchmarks.checks import distinct
from benchmarks.errors import BenchmarkError
from benchmarks.journal import Journal
from benchmarks.meters import percentile_ms
from benchmarks.peers.corpus import CostInput, cost_input, lines, quality_input, write
from benchmarks.peers.driver import WARM_UP
from benchmarks.peers.environments import environment, python_of
from benchmarks.peers.goals import goal_rows
from benchmarks.peers.scores import CHARS_A_TOKEN, Score, means, score
from shared.models.build import build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import Tokenizer

log = logging.getLogger("dgrag.benchmarks.peers")
Row = dict[str, Any]
Progress = Callable[[str, int, int], None]
Models = Literal["instant", "embedding", "real"]
MODELS: tuple[Models, ...] = get_args(Models)
SystemName = Literal["dgrag", "dgrag-spacy", "lightrag", "nano-graphrag", "fast-graphrag"]
COST_ONLY = frozenset({"dgrag-spacy"})  # where quality is measured, the shared extraction is spaCy's: it would find the same
STAGE = "peers"
TRIES = 2
METERS = ("", "later_", "open_", "add_", "add_later_")


class PeersConfig(BaseModel):
    """``[peers]`` of a benchmark's configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = False
    systems: Annotated[tuple[SystemName, ...], AfterValidator(distinct)] = get_args(SystemName)
    files: tuple[str, ...] = ("multihop_rag/corpus.jsonl", "podcast/corpus.jsonl")  # below the data folder; cost
    sizes: Annotated[tuple[Annotated[int, Field(ge=1000)], ...], AfterValidator(distinct)] = (
        100_000,
        200_000,
        400_000,
    )  # tokens; (): no cost
    questions: str = "multihop_rag/questions.jsonl"
    queries: Annotated[int, Field(ge=1)] = 50  # whose retrieval is timed
    embedder: Literal["instant", "real"] = "instant"  # where cost is measured; a real one's seconds are told apart from a system's own
    new_tokens: Annotated[int, Field(ge=100)] = 3_000  # of the document that is added last
    quality: str = "multihop/hotpotqa"  # folder of a multi-hop set; "": no quality
    quality_questions: Annotated[int, Field(ge=0)] = 0  # the first ones, over the passages given with them; 0: all
    quality_among: tuple[str, ...] = ()  # folders of sets whose passages lie among those; their questions are not asked
    budgets: tuple[Annotated[int, Field(ge=100)], ...] = (2_000, 8_000)  # tokens of a context, by each system's own count
    step_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1800.0  # the longest that one step of one system may take


@dataclass(frozen=True, slots=True)
class Unit:
    """One step of one system at one size; for quality the size is the set's."""

    system: str
    step: Literal["index", "use", "quality"]
    size: int

    @property
    def key(self) -> str:
        """Its name in the journal."""
        return f"{self.system}/{self.step}/{self.size}"

    def models(self, config: PeersConfig) -> Models:
        """Replies at once where cost is measured, and vectors too unless ``config`` wants real ones; real names where quality is."""
        if self.step == "quality":
            return "real"
        return "embedding" if config.embedder == "real" else "instant"


def units(config: PeersConfig) -> list[Unit]:
    """All of a run, in its order: what one system does at one size stands together, and sizes grow."""
    cost = [Unit(system, step, size) for size in config.sizes for system in config.systems for step in ("index", "use")]
    return cost + [Unit(system, "quality", 0) for system in config.systems if config.quality and system not in COST_ONLY]


def run_peers(config: PeersConfig, *, data: Path, work: Path, journal: Journal, progress: Progress) -> list[Row]:
    """Measure what the journal does not hold yet, and return all rows: {system, step, size, tokens, …}, last the goals.

    A step that fails has a row with ``error``, and the others go on; the next start tries it once more, then its error counts. All that
    this journal's steps leave lies in a folder of its own below ``work``, where environments and models' replies are shared.
    ``progress`` is told (what, done, total). Raises BenchmarkError when the data or the model server cannot be had.
    """
    work = work.resolve()
    bench = _Bench(config, data, work, work / journal.folder.name, build_tokenizer(ModelSettings()), journal)
    bench.own.mkdir(parents=True, exist_ok=True)
    planned = units(config)
    for models in MODELS:
        waiting = [unit for unit in planned if unit.models(config) == models and bench.is_left(unit)]
        if not waiting:
            continue
        with model_server(models, work) as url:
            for unit in waiting:
                progress(unit.key, planned.index(unit), len(planned))
                journal.add(STAGE, unit.key, bench.measure(unit, url))
    progress("peers", len(planned), len(planned))
    return rows_of(journal)


def rows_of(journal: Journal) -> list[Row]:
    """All that a journal holds of the comparison, and the goals that it can judge."""
    rows = journal.rows(STAGE)
    return rows + goal_rows(row for row in rows if "error" not in row)


@contextmanager
def model_server(models: Models, work: Path) -> Iterator[str]:
    """A model server of our own, and its address. Raises BenchmarkError when it does not start."""
    command = [sys.executable, "-P", "-m", "benchmarks.peers.model_server", "--models", models, "--cache", str(work / "models.db")]
    log_file = work / "model_server.log"
    with log_file.open("wb") as errors:
        server = subprocess.Popen(  # noqa: S603 - our own words
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment("", work)
        )
        assert server.stdout is not None
        assert server.stdin is not None
        try:
            if not (url := server.stdout.readline().strip()):
                raise BenchmarkError("the model server of the comparison did not start", next_step=f"see {log_file}")
            yield url
        finally:
            server.stdin.close()
            server.wait(timeout=60)
            server.stdout.close()


@dataclass(frozen=True, slots=True)
class _Bench:
    """What all units share."""

    config: PeersConfig
    data: Path
    work: Path  # environments
    own: Path  # of this journal: inputs, indexes, logs
    tokenizer: Tokenizer
    journal: Journal

    def is_left(self, unit: Unit) -> bool:
        """Whether a unit has neither come nor failed as often as it may: each try may take half an hour."""
        return not self.journal.done(STAGE, unit.key) and self.journal.tries(STAGE, unit.key) < TRIES

    def measure(self, unit: Unit, url: str) -> Row:
        """The row of one unit."""
        row: Row = {"system": unit.system, "step": unit.step, "size": unit.size}
        if unit.step == "use" and self._index_failed(unit):
            return row | {"error": "its index could not be made"}
        return row | (self._quality(unit, url) if unit.step == "quality" else self._cost(unit, url))

    def _index_failed(self, unit: Unit) -> bool:
        rows = self.journal.rows(STAGE)
        return any("error" in row for row in rows if (row["system"], row["step"], row["size"]) == (unit.system, "index", unit.size))

    def _cost(self, unit: Unit, url: str) -> Row:
        given = self._cost_input(unit.size)
        index = self.own / f"{unit.system}-{unit.size}"
        row: Row = {"documents": given.count, "tokens": given.tokens, "new_tokens": given.new_tokens}
        if unit.step == "index":
            return row | self._drive(unit, url, _fresh(index), "--documents", given.documents)
        questions = self.own / "asked.jsonl"
        asked = list(lines(self.data / self.config.questions))[: WARM_UP + self.config.queries]
        if len(asked) <= WARM_UP:
            raise BenchmarkError(f"{self.config.questions} holds no more than {WARM_UP} questions", next_step="name a file with more")
        write(questions, asked)
        used = _fresh(self.own / f"{unit.system}-used")
        shutil.copytree(index, used, dirs_exist_ok=True)  # a document is added: the index itself stays as it was
        return row | self._drive(unit, url, used, "--questions", questions, "--new", given.new)

    def _cost_input(self, size: int) -> CostInput:
        files = [self.data / name for name in self.config.files]
        return cost_input(files, tokens=size, new_tokens=self.config.new_tokens, tokenizer=self.tokenizer, folder=self.own)

    def _quality(self, unit: Unit, url: str) -> Row:
        config = self.config
        further = [self.data / name for name in config.quality_among]
        wanted = quality_input(self.data / config.quality, limit=config.quality_questions, among=further, out=self.own)
        documents, questions, asked, passages = wanted
        contexts = self.own / f"{unit.system}-contexts.jsonl"
        given = ["--documents", documents, "--questions", questions, "--contexts", contexts, "--budgets", *config.budgets]
        tokens = sum(self.tokenizer.count(text) for text in passages.values())
        row: Row = {"set": config.quality, "documents": len(passages), "tokens": tokens, "questions": len(asked)}
        row |= self._drive(unit, url, _fresh(self.own / f"{unit.system}-quality"), *given)
        if "error" in row:
            return row
        by_id = {question["id"]: question for question in asked}
        shown: defaultdict[tuple[int, bool], list[Score]] = defaultdict(list)
        for line in lines(contexts):
            of = by_id[line["id"]]
            gold = [passages[key] for key in of["gold_doc_ids"]]
            budget, most = line["budget"], line["budget"] * CHARS_A_TOKEN
            shown[budget, line["chunks_alone"]].append(score(line["context"], answers=of["answers"], gold=gold, most_chars=most))
        scored = [{"budget": budget, "chunks_alone": alone, **means(scores)} for (budget, alone), scores in sorted(shown.items())]
        return row | {"quality": scored}

    def _drive(self, unit: Unit, url: str, folder: Path, *given: object) -> Row:
        """What the driver says, or {"error"} where the system failed; its own words are in a log beside its index."""
        try:
            python, variables = python_of(unit.system, self.work), environment(unit.system, self.work)
        except BenchmarkError as error:
            return {"error": f"{error.message}: {error.next_step}"}
        command = [str(python), "-P", "-m", "benchmarks.peers.driver", unit.step]
        command += ["--system", unit.system, "--server", url, "--folder", str(folder)]
        log_file = self.own / f"{unit.key.replace('/', '-')}.log"
        with log_file.open("wb") as errors:
            try:
                done = subprocess.run(  # noqa: S603 - our own words
                    [*command, *map(str, given)],
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=variables,
                    cwd=self.own,  # LightRAG writes a log into the current folder
                    timeout=self.config.step_s,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return {"error": f"took more than {self.config.step_s:.0f} s"}
        said = done.stdout.splitlines()
        if done.returncode or not said:
            log.warning("%s failed; see %s", unit.key, log_file)
            return {"error": f"ended with status {done.returncode}; see its log in the work folder"}
        return figures(orjson.loads(said[-1]))


def figures(said: Row) -> Row:
    """A driver's row with what follows from it: own CPU time, which is without the client's, and percentiles of retrieval.

    >>> figures({"cpu_s": 2.0, "client_cpu_s": 0.5})["own_cpu_s"]
    1.5
    """
    row = dict(said)
    for prefix in METERS:
        if f"{prefix}cpu_s" in row:
            row[f"{prefix}own_cpu_s"] = round(row[f"{prefix}cpu_s"] - row[f"{prefix}client_cpu_s"], 4)
    if spent := row.pop("ask_s", None):
        own: Sequence[float] = [cpu - client for cpu, client, _ in spent]
        row |= {"ask_own_cpu_p50_ms": percentile_ms(own, 50), "ask_own_cpu_p95_ms": percentile_ms(own, 95)}
        row |= {"ask_client_cpu_p50_ms": percentile_ms([client for _, client, _ in spent], 50)}
        row |= {"ask_wall_p50_ms": percentile_ms([wall for *_, wall in spent], 50)}
    return row


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder.resolve()
