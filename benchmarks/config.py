"""What a run is: read from a TOML file, checked before anything starts."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from benchmarks.checks import distinct, given_to, settings_that_start
from benchmarks.errors import BenchmarkError
from benchmarks.link import LinkConfig
from benchmarks.peers.run import PeersConfig
from benchmarks.systems import SAME_FOR_ALL, SIGNALS, parsed_retrieval, system_named
from deploy.lab.no_model import NO_MODEL
from shared.models.settings import ModelSettings

KEY_CHARS = 12  # of a hash in a folder's name
CONFIGS = Path(__file__).parent / "configs"
WORK = Path(".dgrag-bench")  # below the current folder
DEADLINE_S = 300.0  # of a call of the model that no service makes
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")]
Amount = Annotated[int, Field(ge=-1)]  # -1: all
Positive = Annotated[int, Field(ge=1)]
Names = Annotated[tuple[str, ...], AfterValidator(distinct)]
Numbers = Annotated[tuple[Positive, ...], Field(min_length=1), AfterValidator(distinct)]
SIZE = "DGRAG_EDGE_SUBGRAPH_ENTITIES"
Settings = dict[Annotated[str, Field(pattern=r"^DGRAG_(EDGE|CLOUD|MODEL)_[A-Z_]+$")], str]
SplitSettings = dict[Annotated[str, Field(pattern=r"^DGRAG_(EDGE|CLOUD)_[A-Z_]+$")], str]  # a run has one set of models


class Part(BaseModel):
    """A table of the file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Measured(Part):
    """What is measured on a split, whatever its kind."""

    name: Name
    documents: Amount = -1  # of the set, evenly over all of them
    questions: str = (
        ""  # JSON lines that stand in the place of the set's own, as `benchmarks.graphrag.questions` writes them; from the current folder
    )
    within: Amount = 0  # questions of each domain that are asked at home with model answers
    out: Amount = 0  # the same questions, asked at another edge
    systems: Names = ()
    more: dict[str, Annotated[int, Field(ge=0)]] = {}  # of each domain and scenario, questions that one system gets beyond the others'
    routing: bool = False  # summary matching, all questions
    routing_plain: bool = False  # the same once more, by cosine alone
    m: Numbers = (1, 2, 3, 5, 10)
    subgraph_entities: Numbers = (40,)  # the first is the one that answers
    storage: bool = False  # the cloud's bytes against one index of everything
    retrieval: Names = ()  # no language model: "centralized", "local", "federated", "centralized:dense+lexical", …
    environment: SplitSettings = {}  # of the services on this split, beside the run's
    masked: Names = ()  # entity types whose names every site masks in what leaves

    @model_validator(mode="after")
    def _known(self) -> Measured:
        for name in self.systems:
            system_named(name)
        if strangers := set(self.more) - set(self.systems):
            raise ValueError(f"more questions are meant for {', '.join(sorted(strangers))}, which the split does not measure")
        if self.systems and not (self.within or self.out or self.more):
            raise ValueError("the systems are asked nothing: say with within or out how many questions of each domain")
        for name in self.retrieval:
            parsed_retrieval(name)
        return self

    @property
    def starts(self) -> Iterator[tuple[str, dict[str, str]]]:
        """What starts services, and the settings that are its own."""
        for name in self.systems:
            yield name, dict(system_named(name).start.environment)
        for name in self.retrieval:
            yield name, dict(parsed_retrieval(name).start.environment)
        for size in self.subgraph_entities:
            yield f"{size} entities a subgraph", {SIZE: str(size)}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is measured on it."""
        return not (self.systems or self.routing or self.storage or self.retrieval)


class DomainSplit(Measured):
    """One edge a domain (DGRAG §IV-C): a domain is a file in UltraDomain's format."""

    kind: Literal["domain"]
    files: Annotated[tuple[str, ...], Field(min_length=1)]  # patterns below the data's root


class MixedSplit(Measured):
    """The contexts of all files over ``edges`` edges, their shares drawn from Dirichlet(α) (DGRAG §IV-C)."""

    kind: Literal["mixed"]
    files: Annotated[tuple[str, ...], Field(min_length=1)]
    edges: Annotated[int, Field(ge=2, le=100)] = 10
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0


class FederatedSplit(Measured):
    """A set whose documents name their clients (FD-RAG's setting)."""

    kind: Literal["federated"]
    set: str  # folder below the data's root with corpus.jsonl and questions.jsonl
    among: Names = ()  # folders of sets whose documents lie among this one's; their questions are not asked
    client: str = "client_iid"  # the corpus's field that says which client has a document; empty: one has them all
    clients: Annotated[int, Field(ge=0)] = 0  # at most so many: those with fewest documents are joined; 0: as they are
    asked: Amount = -1  # of its questions, evenly over all; among fewer `documents` are all that these need

    @model_validator(mode="after")
    def _asks_its_own(self) -> FederatedSplit:
        if self.asked != -1 and self.questions:
            raise ValueError("asked chooses among the set's own questions, and questions takes others: say one of them")
        return self


SplitConfig = Annotated[DomainSplit | MixedSplit | FederatedSplit, Field(discriminator="kind")]


class DataConfig(Part):
    """Where the data is."""

    root: Path = Path("../shared/data")  # relative to the current folder


class ModelsConfig(Part):
    """Who writes: a name of the catalogue, the URL of an OpenAI-compatible server, or nobody."""

    # "none": none is started, and one that is asked all the same refuses; "unknowing": it says that it knows nothing, for what needs none
    generator: str = "standard"


class RunConfig(Part):
    """A whole run."""

    name: Name
    seed: Annotated[int, Field(ge=0)] = 7
    at_once: Positive = 1  # askings; of more, seconds are no longer those of one question alone
    limit: Annotated[int, Field(ge=0)] = 0  # at most so many askings of each split and scenario, and questions of a split; 0: no limit
    data: DataConfig = DataConfig()
    split: tuple[SplitConfig, ...] = ()
    peers: PeersConfig = PeersConfig()
    link: LinkConfig | None = None  # between each edge and the cloud; None: as fast as this machine is
    models: ModelsConfig = ModelsConfig()
    calibration: bool = False  # not this run's questions are asked, but others of the same splits: see `calibrating`
    environment: Settings = {}  # of all services

    @model_validator(mode="after")
    def _distinct(self) -> RunConfig:
        names = [split.name for split in self.split]
        if len(set(names)) < len(names):
            raise ValueError(f"two splits have one name: {', '.join(names)}")
        if self.models.generator == NO_MODEL and any(split.systems for split in self.split):
            raise ValueError('systems need a language model: name one in [models], generator = "none" starts none')
        if not self.peers.enabled and all(split.is_empty for split in self.split):
            raise ValueError("nothing is measured: a [[split]] needs systems, routing, storage or retrieval, or [peers] enabled = true")
        for split in self.split:
            for what, own in split.starts:
                try:
                    settings_that_start(SAME_FOR_ALL | self.environment | split.environment | own)
                except ValueError as error:
                    raise ValueError(f"split {split.name!r}, {what}: {error}") from error
        return self

    def calibrating(self) -> RunConfig:
        """The run that calibrates this one: only what its thresholds need, and model answers to none of its questions."""
        splits = [
            split.model_copy(
                update={
                    "systems": (SIGNALS,),
                    "routing": True,
                    "routing_plain": False,
                    "subgraph_entities": split.subgraph_entities[:1],
                    "storage": False,
                    "retrieval": (),
                }
            )
            for split in self.split
        ]
        return self.model_copy(
            update={"name": f"{self.name}-calibration", "split": tuple(splits), "calibration": True, "peers": PeersConfig()}
        )

    def model_settings(self) -> ModelSettings:
        """The models that all services of this run have, unless a start says otherwise."""
        return ModelSettings.model_validate(given_to("DGRAG_MODEL_", self.environment))

    def key(self) -> str:
        """Names what was asked for: another config, seed or limit is another run. The data's place is no part of it."""
        return digest(self.model_dump(mode="json", exclude={"data"}))


def digest(value: Any) -> str:
    """A short hash of a JSON value.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}), len(digest([]))
    (True, 12)
    """
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:KEY_CHARS]


def load_config(path: Path) -> RunConfig:
    """Read a run. Raises BenchmarkError that names the file and each mistake."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchmarkError(f"{path} cannot be read: {error.strerror}", next_step="the shipped ones are in benchmarks/configs") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BenchmarkError(f"{path} is no TOML: {error}", next_step="see benchmarks/configs for examples") from error
    try:
        return RunConfig.model_validate(table)
    except ValidationError as error:
        faults = "; ".join(f"{_place(fault['loc'])}: {fault['msg'].removeprefix('Value error, ')}" for fault in error.errors())
        raise BenchmarkError(f"{path}: {faults}", next_step="see benchmarks/config.py for what a run may say") from error


def _place(where: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in where) or "the file"
