"""Every configuration at one commit, one after the other, into one dated folder; a killed command goes on where it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson

from benchmarks.config import CONFIGS, FederatedSplit, MixedSplit, RunConfig, SplitConfig, load_config
from benchmarks.datasets import open_corpus, split_of
from benchmarks.errors import BenchmarkError
from benchmarks.machine import answering_code, code, indexing_code, machine, version
from benchmarks.stages.index import MARK, state_name, writes_with_a_model
from shared.errors import DgragError
from shared.models.catalogue import CatalogueModel, catalogue
from shared.models.fetch import located

# Those that index the same texts stand one after another: the first makes the index, the others read it.
ORDER = (
    "paper",
    "subgraphs",
    "ablations",
    "thresholds",
    "mixed",
    "support",
    "link",
    "multihop",
    "fdrag-memory-federated",
    "fdrag-federated",
    "masked",
    "fdrag-memory",
    "fdrag",
    "answers",
    "bigger",
    "ketrag",
    "ketrag-model",
    "model-index",
    "dual-level",
    "graphrag",
    "graphrag-federated",
    "peers",
    "peers-waited",
    "peers-bigger",
)
RECORD = "evidence.json"  # in the folder: where its figures come from, and how far it is
HOUR_S = 3600
DONE = "done"
_REQUIRED = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Plan:
    """One configuration of the evidence. ``shares``: whose index it reads. ``hours``: of its last run, with the index that it makes."""

    config: RunConfig
    shares: str
    hours: float | None  # None: there is no result of it
    limit: int  # of that last run; 0: none


class Given(NamedTuple):
    """What a command said that makes other evidence: all of one folder was made with the same."""

    limit: int = 0  # 0: none
    model: str = ""  # a server's URL or a name; empty: as the configurations say
    at_once: int = 1  # questions


def chosen(only: Sequence[str]) -> list[RunConfig]:
    """The configurations of these names, in the order of the evidence; all of it where none is named. Raises BenchmarkError."""
    if strangers := [name for name in only if not (CONFIGS / f"{name}.toml").is_file()]:
        raise BenchmarkError(f"there is no configuration {strangers[0]!r}", next_step="python -m benchmarks all --list")
    names = [*(name for name in ORDER if name in only), *(name for name in only if name not in ORDER)] if only else ORDER
    return [load_config(CONFIGS / f"{name}.toml") for name in names]


def planned(configs: Sequence[RunConfig], out: Path) -> Iterator[Plan]:
    """What each would take, by its newest result below ``out``."""
    makers = dict[tuple[Any, ...], str]()
    for config in configs:
        keys = [indexed(config, split) for split in config.split]
        shares = next((makers[key] for key in keys if key in makers), "")
        for key in keys:
            makers.setdefault(key, config.name)
        earlier = newest(config.name, out)
        if earlier is None:
            yield Plan(config, shares, None, 0)
        else:
            seconds = earlier["seconds"] + (0 if shares else earlier["index_seconds_before"])
            yield Plan(config, shares, seconds / HOUR_S, earlier["limit"])


def indexed(config: RunConfig, split: SplitConfig) -> tuple[Any, ...]:
    """What the indexed state of a split depends on, as far as its configuration says; equal for those that share one."""
    if isinstance(split, FederatedSplit):
        layout: tuple[Any, ...] = (split.set, split.among, split.client, split.clients, split.asked)
    else:
        layout = split.files
    if isinstance(split, MixedSplit):
        layout = (*layout, split.edges, split.alpha)
    environment = config.environment | split.environment
    model = config.models.generator if writes_with_a_model(environment) else ""
    settings = tuple(sorted(environment.items()))
    return (split.name, layout, split.documents, split.subgraph_entities[0], settings, model, config.seed)


def newest(name: str, out: Path) -> dict[str, Any] | None:
    """``run`` of the newest result of that name, in a dated folder or beside them; None where there is none."""
    files = [*sorted(out.glob(f"*/{name}.json"), reverse=True), out / f"{name}.json"]
    found = next((file for file in files if file.is_file()), None)
    return dict(orjson.loads(found.read_bytes())["run"]) if found else None


def lacking(config: RunConfig) -> Iterator[str]:
    """What a run would end at: data that is not there, weights that are not fetched."""
    for split in config.split:
        try:
            open_corpus(split, config.data.root, seed=config.seed)
        except DgragError as error:
            yield error.message
    for model in models_of([config]):
        try:
            located(model, config.model_settings().dir)
        except DgragError as error:
            yield error.message


def indexes(config: RunConfig, work: Path) -> Iterator[tuple[str, bool]]:
    """Each split, and whether its indexed state is there already. Raises DgragError where the data is not."""
    for split in config.split:
        corpus = open_corpus(split, config.data.root, seed=config.seed)
        name = state_name(config, split, corpus, split_of(split, corpus, seed=config.seed), written_by=indexing_code())
        yield split.name, any((work / "clusters").glob(f"{name}*/{MARK}"))


def folder_of(out: Path, today: datetime, given: Given) -> Path:
    """The folder to write: the newest that this code has begun as ``given`` and not ended, else a new one named by day and commit."""
    here = {"answering": answering_code(peers=True), "ended": "", **given._asdict()}
    for record in sorted(out.glob(f"*/{RECORD}"), reverse=True):
        if here.items() <= orjson.loads(record.read_bytes()).items():
            return record.parent
    name = f"{today:%Y-%m-%d}-{code()['commit'][:7]}"
    taken = len(list(out.glob(f"{name}*")))
    return out / (f"{name}-{taken + 1}" if taken else name)


def made(
    configs: Sequence[RunConfig], folder: Path, run: Callable[[RunConfig], Any], given: Given, *, now: Callable[[], datetime]
) -> dict[str, Any]:
    """Run what the folder lacks, and note each end at once. One that fails is noted with its reason, and the next one begins.

    Returns the record, which has ended when all of the evidence is there. ``run`` writes NAME.json into the folder.
    """
    file = folder / RECORD
    record = orjson.loads(file.read_bytes()) if file.exists() else begun(now(), given)
    for config in configs:
        if record["runs"].get(config.name) != DONE:
            _written(file, record)
            record["runs"][config.name] = _outcome(config, run)
    if all(record["runs"].get(name) == DONE for name in ORDER):
        record["ended"] = now().isoformat(timespec="seconds")
    _written(file, record)
    return dict(record)


def _outcome(config: RunConfig, run: Callable[[RunConfig], Any]) -> str:
    try:
        run(config)
    except DgragError as error:
        return f"failed: {error.message}"
    except (httpx2.HTTPError, OSError) as error:
        return f"failed: {type(error).__name__}: {error}"
    return DONE


def begun(now: datetime, given: Given) -> dict[str, Any]:
    """A new record: code, machine, libraries, the hashes of the models' weights, and nothing run."""
    required = sorted({name for line in metadata.requires("dgrag") or () for name in _REQUIRED.findall(line)[:1]})
    return {
        "started": now.isoformat(timespec="seconds"),
        "ended": "",
        **given._asdict(),
        "code": code(),
        "answering": answering_code(peers=True),
        "machine": machine(),
        "libraries": {name: version(name) for name in required if version(name)},
        "models": {model.name: {file.name: file.sha256 for file in model.files} for model in models_of(chosen(()))},
        "runs": {},
    }


def models_of(configs: Sequence[RunConfig]) -> list[CatalogueModel]:
    """The models of the catalogue that some runs use; one at a URL is named in its result."""
    names = {name for config in configs for name in (config.models.generator, config.model_settings().embedder.removesuffix("-onnx"))}
    return [model for model in catalogue().values() if model.name in names]


def _written(file: Path, record: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".tmp")
    draft.write_bytes(orjson.dumps(record, option=orjson.OPT_INDENT_2))
    draft.replace(file)
