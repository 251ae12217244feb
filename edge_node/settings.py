"""Every knob of an edge, with its unit, its default and the paper's section. Read from ``DGRAG_EDGE_*``, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, TypeAdapter, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from edge_node.records import Kind, Label
from edge_node.records import Share as PolicyShare
from shared.records import Level
from shared.settings import Count, FrontSettings, Port, Section, TelemetrySettings
from shared.wire import EDGE_ID_PATTERN, EVIDENCE_MIN_SCORE, HEARTBEAT_S, MOST_WHOLE

MAX_SAMPLES = 8  # a llama.cpp server draws at most as many samples in one request as it has slots; ours has eight
Share = Annotated[float, Field(ge=0, le=1)]
Cosine = Annotated[float, Field(ge=-1, le=1)]
Channel = Literal["dense", "lexical", "entities", "relations", "pagerank"]
DEFAULT_RETRIEVAL: frozenset[Channel] = frozenset({"dense", "lexical", "pagerank"})

MOST_OCR_LANGUAGES = 8
_OCR_LANGUAGE = re.compile("[A-Za-z][A-Za-z0-9_]{1,31}")  # the name of a file
ROUNDING = 1e-6  # of a sum of shares

KINDS: tuple[Kind, ...] = get_args(Kind)
THRESHOLDS: dict[Kind, float] = {"template": 0.92, "model": 0.92, "learned": 0.88}
HIGHEST = 2.0  # a score is at most 1: above it never answers
_LABEL: TypeAdapter[str] = TypeAdapter(Label)
_FORM = "as in template=0.92,model=0.92,learned=0.88"


def parsed_mix(value: object) -> Mapping[str, float]:
    """Methods and their shares of the budget, as in "ketrag=0.5,erarag=0.5", or as a mapping. Raises ValueError that says what is wrong.

    >>> dict(parsed_mix("ketrag=0.5, erarag=0.5"))
    {'ketrag': 0.5, 'erarag': 0.5}
    """
    shares = _shares_of(value) if isinstance(value, str) else value
    if not isinstance(shares, Mapping) or not all(isinstance(share, float | int) for share in shares.values()):
        raise ValueError(f"{value!r} must name methods with their shares, as in ketrag=0.5,erarag=0.5")
    if len(shares) < 2 or not all(0 < share <= 1 for share in shares.values()) or abs(sum(shares.values()) - 1) > ROUNDING:
        raise ValueError(f"{value!r} must name two methods at least, with shares above 0 that add up to 1")
    return shares


def _shares_of(text: str) -> dict[str, float]:
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (word.strip() for word in part.partition("="))
        if not name or name in shares:
            raise ValueError(f"{text!r} must name each method once, as in ketrag=0.5,erarag=0.5")
        try:
            shares[name] = float(share)
        except ValueError:
            raise ValueError(f"the share of {name!r} must be a number, as in ketrag=0.5,erarag=0.5") from None
    return shares


def parsed_thresholds(value: object) -> dict[Kind, float]:
    """Thresholds by kind, as in "template=0.95,learned=2", or as a mapping; a kind that is not named keeps its own.

    Raises ValueError that says what is wrong.

    >>> parsed_thresholds("template=0.95, learned=2")
    {'template': 0.95, 'model': 0.92, 'learned': 2.0}
    """
    named = _thresholds_of(value) if isinstance(value, str) else value
    if not isinstance(named, Mapping) or not all(isinstance(least, float | int) for least in named.values()):
        raise ValueError(f"{value!r} must name kinds of memories with their least scores, {_FORM}")
    if others := sorted(set(map(str, named)) - set(KINDS)):
        raise ValueError(f"there is no kind of memories {others[0]!r}: use {', '.join(KINDS)}")
    if not all(0 <= least <= HIGHEST for least in named.values()):
        raise ValueError(f"{value!r} must name scores from 0 to {HIGHEST:g}; one above 1 never answers")
    return {kind: float(named.get(kind, THRESHOLDS[kind])) for kind in KINDS}


def _thresholds_of(text: str) -> dict[str, float]:
    least: dict[str, float] = {}
    for part in text.split(","):
        kind, _, score = (word.strip() for word in part.partition("="))
        if not kind or kind in least:
            raise ValueError(f"{text!r} must name each kind once, {_FORM}")
        try:
            least[kind] = float(score)
        except ValueError:
            raise ValueError(f"the least score of {kind!r} must be a number, {_FORM}") from None
    return least


def channels_of(value: object) -> object:
    """The set that a text names, "dense, lexical"; anything else as it is. Raises ValueError without dense, which scores passages.

    >>> sorted(channels_of("dense, lexical"))
    ['dense', 'lexical']
    """
    named = frozenset(name.strip() for name in value.split(",")) if isinstance(value, str) else value
    if isinstance(named, frozenset) and "dense" not in named:
        raise ValueError("retrieval must name dense, which gives every passage its score")
    return named


def folders_of(value: object) -> Mapping[str, str]:
    """Folders with the label of each, as in "/data/reports=public, /data/notes"; "" for none. Raises ValueError that says what is wrong.

    >>> folders_of("/data/reports=public, /data/notes")
    {'/data/reports': 'public', '/data/notes': ''}
    """
    parts = (part.partition("=") for part in value.split(",") if part.strip()) if isinstance(value, str) else ()
    named = {folder.strip().rstrip("/"): label.strip() for folder, _, label in parts} if isinstance(value, str) else value
    if not isinstance(named, Mapping) or not all(isinstance(label, str) for label in named.values()):
        raise ValueError(f"{value!r} must name folders, each with a label or none, as in /data/reports=public,/data/notes")
    last = [Path(folder).name for folder in named]
    if not all(folder.startswith("s3://") or Path(folder).is_absolute() for folder in named) or "" in last:
        raise ValueError(f"{value!r} must name folders by their whole paths, or buckets, as in /data/reports=public,s3://bucket/notes")
    if twice := sorted({name for name in last if last.count(name) > 1}):
        raise ValueError(f"two folders are called {twice[0]!r}, with which the names of their documents begin: let one have another name")
    for folder, label in ((folder, label) for folder, label in named.items() if label):
        try:
            _LABEL.validate_python(label)
        except ValidationError as error:
            raise ValueError(f"the label of {folder} is none: {error.errors()[0]['msg']}") from error
    return named


def languages_of(value: str) -> str:
    """Tesseract's names of languages by commas, without spaces; "" for none. Raises ValueError that says what is wrong.

    >>> languages_of("deu, chi_sim")
    'deu,chi_sim'
    """
    names = [name.strip() for name in value.split(",") if name.strip()]
    if len(names) > MOST_OCR_LANGUAGES or len(set(names)) < len(names) or not all(map(_OCR_LANGUAGE.fullmatch, names)):
        raise ValueError(f"{value!r} must name up to {MOST_OCR_LANGUAGES} languages as Tesseract does, each once, as in deu,fra,chi_sim")
    return ",".join(names)


Channels = Annotated[frozenset[Channel], NoDecode, BeforeValidator(channels_of)]
MethodName = Literal["dgrag", "erarag", "fdrag", "graphrag", "ketrag", "naive"]
Mix = Annotated[dict[MethodName, float], NoDecode, BeforeValidator(parsed_mix)]
Thresholds = Annotated[dict[Kind, float], NoDecode, BeforeValidator(parsed_thresholds)]
OcrLanguages = Annotated[str, AfterValidator(languages_of)]
Folders = Annotated[dict[str, str], NoDecode, BeforeValidator(folders_of)]


class NodeSettings(TelemetrySettings, FrontSettings):
    """Who the edge is, and where."""

    id: Annotated[str, Field(pattern=EDGE_ID_PATTERN)] = "edge-1"
    port: Port = 8100
    state_dir: Path = Path(".dgrag/edges/edge-1")
    requests_per_minute: Count = 600
    connections_per_address: Annotated[int, Field(ge=0)] = 64
    questions_at_once: Count = 4
    global_questions_at_once: Count = 1  # questions about everything take minutes: their turns are others
    # Beyond those that wait, 503 with Retry-After; one asker has half of the places at most where others wait.
    questions_waiting: Annotated[int, Field(ge=0)] = 16  # of each kind
    searches_at_once: Count = 4  # for passages of this site
    searches_elsewhere_at_once: Count = 16  # for passages of all sites: most of such a search waits for other sites
    searches_waiting: Annotated[int, Field(ge=0)] = 64  # of each of both kinds


class CloudLineSettings(Section):
    """The line to the cloud (goals R4, R7)."""

    cloud_url: str = ""  # empty: the one that `dgrag edge join` has noted; without that no cloud, the edge answers alone
    cloud_ca: Path | None = None  # PEM bundle of a private certificate authority; None: the system's
    cloud_plain_http: bool = False  # True: http:// to another machine is meant, as inside a VPN
    cloud_patience_s: Annotated[float, Field(gt=HEARTBEAT_S)] = 0.9  # a cloud that gives no sign of life for so long counts as away
    breaker_failures: Annotated[int, Field(ge=1)] = 3  # in a row; then the cloud is left alone …
    breaker_s: Annotated[float, Field(gt=0)] = 30.0  # … for so long, and probed once


class EgressSettings(Section):
    """What may leave: docs/security.md."""

    share: PolicyShare = "summary"  # of documents without a label, by the policy that a new site begins with; an existing one stays
    policy_file: Path | None = None  # None: policy.toml in state_dir
    evidence_threshold: Cosine = EVIDENCE_MIN_SCORE  # of another site's question with a sentence, as it would leave; below, it stays here
    reader_threshold: Cosine = 0.0  # the same of whole passages, which a reader asks for: a second hop is far from the question
    reader_passages: Annotated[int, Field(ge=1, le=MOST_WHOLE)] = MOST_WHOLE  # that a reader gets at most


class DocumentSettings(Section):
    """Documents, and how they are read and cut."""

    max_document_bytes: Annotated[int, Field(ge=1)] = 32 * 2**20
    reader_seconds: Annotated[int, Field(ge=1, le=3600)] = 60  # for the reading of one document, in a process of its own; then it is parked
    reader_memory_bytes: Annotated[int, Field(ge=64 * 2**20)] = 2**30  # that this process may take beside its modules
    ocr_languages: OcrLanguages = ""  # of text in images, as Tesseract calls them: deu,fra,chi_sim; empty: up to 5 that are installed
    ocr_rereads: bool = True  # recognise a scan again whose text layer is full of misread words; its shortfalls say so
    originals_days: Annotated[float | None, Field(ge=0)] = None  # for which a file is kept that is not queued; None: as its document
    originals_bytes: Annotated[int | None, Field(ge=0)] = None  # of a file; a larger one is kept only while it is queued; None: any is
    min_free_bytes: Annotated[int, Field(ge=0)] = 64 * 2**20  # on the state folder's disk; below, no document is accepted (507)
    folders: Folders = Field(default_factory=dict)  # that this service keeps itself equal to, as in /data/reports=LABEL,/data/notes
    chunk_tokens: Annotated[int, Field(ge=16, le=8192)] = 200  # a chunk fits the embedder's 256-token window whole
    chunk_overlap: Annotated[int, Field(ge=0, le=4096)] = 30


class GenerationSettings(Section):
    """What calls of the model have in common."""

    seed: int = 7
    model_deadline_s: Annotated[float, Field(gt=0)] = 300.0  # of one call that writes for the store
    model_calls: Annotated[int, Field(ge=1, le=64)] = 2  # of those at once while a document is read; idle work makes half, beside questions

    @property
    def idle_calls(self) -> int:
        """Calls at once that idle work makes."""
        return max(1, self.model_calls // 2)


class GraphSettings(GenerationSettings):
    """Graph, partition and summaries (DGRAG §III-B, §IV-B)."""

    descriptions: Literal["joined", "model"] = "joined"  # ①: long ones are cut, or shortened by the model, which describes what it reads
    description_chars: Annotated[int, Field(ge=100)] = 600
    subgraph_entities: Annotated[int, Field(ge=2)] = 40  # §IV-B: entities per subgraph
    leiden: Literal["graspologic", "igraph", "leidenalg"] = "graspologic"  # the last two are the extra leiden-gpl
    summaries: Literal["extractive", "model"] = "extractive"
    summary_staleness: Share = 0.2  # share of a subgraph's facts that must differ before the model writes its summary again


class IndexingSettings(GraphSettings):
    """The write path (DGRAG §III-B): its method, and what the model reads."""

    strategy: Literal[MethodName, "mix"] = "dgrag"
    mix: Mix | None = None  # of the strategy mix: methods, each with its share of a question's budget, as in "ketrag=0.5,erarag=0.5"
    index: Literal["numpy", "faiss", "nano"] = "numpy"
    extraction_share: Share = 0.0  # β of KET-RAG §4: share of chunks that the model extracts; the others get spaCy
    extraction_form: Literal["lines", "json"] = "lines"
    gleanings: Annotated[int, Field(ge=0, le=5)] = 0  # GraphRAG §3.1.1: further rounds that ask for what was missed
    workers: Annotated[int, Field(ge=1, le=16)] = 1  # documents read at once, and processes that parse; what is stored is the same
    settle_every: Annotated[int, Field(ge=1)] = 64  # documents after which graph and summaries are renewed in a long queue

    @model_validator(mode="after")
    def _mix_belongs_to_its_strategy(self) -> Self:
        if self.strategy == "mix" and self.mix is None:
            raise ValueError("the strategy mix needs the setting mix: methods and their shares, as in ketrag=0.5,erarag=0.5")
        if self.strategy != "mix" and self.mix is not None:
            raise ValueError(
                f"the setting mix changes nothing while the strategy is {self.strategy}: set the strategy to mix, or take it away"
            )
        return self

    @property
    def model_share(self) -> float:
        """The share of a document's chunks that the model reads when it is added: other methods than dgrag choose theirs later, or none."""
        return self.extraction_share if "dgrag" in self.methods else 0.0

    @property
    def calls_a_passage(self) -> int:
        """Calls for one that the model reads: of its relations, of what was missed, of descriptions; and of names, where no pack reads."""
        return 1 + self.gleanings + (self.descriptions == "model")

    @property
    def strategy_said(self) -> str:
        """The strategy for people: its name, and of a mix the methods with their shares."""
        return self.strategy if self.mix is None else f"mix {', '.join(f'{name}={share:g}' for name, share in self.mix.items())}"

    @property
    def methods(self) -> dict[MethodName, float]:
        """The methods of the strategy, each with its share of a question's budget."""
        return {self.strategy: 1.0} if self.strategy != "mix" else self.mix or {}


class CommunitySettings(GraphSettings):
    """Communities and reports (GraphRAG §2.4, §2.5)."""

    community_entities: Annotated[int, Field(ge=2, le=40)] = 10  # the most in a community of the finest level
    community_tie: Share = 0.25  # what a shared passage counts beside a relation where parts are joined; 0: relations alone
    report_context_tokens: Annotated[int, Field(ge=200, le=100_000)] = 2000  # what a model writes a report from; the paper: 8000
    report_tokens: Annotated[int, Field(ge=64, le=4000)] = 240  # of its findings; the paper: 2000
    report_findings: Annotated[int, Field(ge=1, le=10)] = 6
    reports: Literal["off", "extractive", "model"] = "extractive"  # "extractive": sentences of the documents, made when they are asked for
    report_staleness: Share = 0.2  # share of a community's facts that must differ before the model writes its report again
    report_finest: Annotated[int, Field(ge=0, le=3)] = 2  # the finest level that the model writes
    claims: Literal["off", "model"] = "off"  # "model": it reads each passage for claims, which reports tell of too; "off" takes them away

    @model_validator(mode="after")
    def _communities_divide_subgraphs(self) -> Self:
        if "community_entities" in self.model_fields_set and self.community_entities > self.subgraph_entities:
            raise ValueError(f"community_entities must be at most subgraph_entities = {self.subgraph_entities}, as it divides subgraphs")
        return self


class GlobalSettings(CommunitySettings):
    """Questions about everything (GraphRAG §2.6)."""

    global_method: Literal["sentences", "paper"] = "sentences"  # "paper": the model writes partial answers, and joins all in one call
    global_level: Level = "dynamic"  # "dynamic": as far down as reports are relevant; 0 to 3: a level; "text": passages instead of reports
    global_read_tokens: Annotated[int, Field(ge=0, le=1_000_000)] | None = None  # of reports for a question; 0: all of the level
    global_context_tokens: Annotated[int, Field(ge=200, le=100_000)] = 1000  # of one call; the paper: 8000
    global_reduce_tokens: Annotated[int, Field(ge=200, le=100_000)] = 4000  # of the points that the answer is made of; the paper: 8000
    partial_tokens: Annotated[int, Field(ge=16, le=4000)] = 120  # a partial answer's
    global_answer_tokens: Annotated[int, Field(ge=16, le=4000)] = 320  # by the paper's method
    global_at_once: Annotated[int, Field(ge=1, le=32)] = 1  # calls: a server that edges share ends one after the other, not all too late
    global_probes: Annotated[int, Field(ge=3, le=256)] = 32  # sentences that the model judges, by a token each; for another site a third
    global_deadline_s: Annotated[float, Field(gt=0)] = 300.0  # of the whole question

    def tokens_to_read(self, level: Level) -> int:
        """Of the reports, or passages, for a question: a sentence that is compared costs less than one that a model reads."""
        if self.global_read_tokens is not None:
            return self.global_read_tokens
        return 2_000 if self.global_method == "paper" or level == "text" else 16_000


class MemorySettings(GenerationSettings):
    """Memories (FD-RAG §4.1), and questions that one answers without a model (§4.2)."""

    memory: Literal["off", "plain", "model"] = "plain"  # "plain": questions by templates; "model": it writes some too; "off" takes all away
    memory_anchors: Literal["question", "own"] = "question"  # whose words find a memory: its question's, or its sentences' (eq. 12)
    memory_tokens: Annotated[int, Field(ge=0, le=1000)] = 58  # that the model may write for 1,000, and a reply more
    # "shadow": memories are looked at and reported, and never answer; "model": where none answers, it copies single facts from a sentence
    memory_fast: Literal["on", "model", "shadow", "off"] = "on"
    memory_certainty: Share | None = None  # that a copied fact must have; none: as was measured for the model, if it was
    memory_same: Share | None = None  # P that a learned answer is right for other words too; none: as measured for the model; 1: never
    memory_threshold: Thresholds = THRESHOLDS  # τ by kind, as in "template=0.92,model=0.92,learned=0.88"; above 1: never answers
    memory_cover: Share = 1.0  # of a question's words, that a memory or its sentences must have
    memory_k: Annotated[int, Field(ge=1, le=100)] = 10  # memories that are looked at; those that fdrag searches by
    memory_edges: Literal["hyperedges", "chunks"] = "hyperedges"  # where a memory leads fdrag: what belongs to its sentences; its own chunk
    memory_learn: Literal["off", "confirmed", "gate"] = "confirmed"  # answers to remember: called right, or sure by the gate too


class KETRAGSettings(GraphSettings):
    """KET-RAG §5; of the index: neighbours, core and splits."""

    ket_variant: Literal["text", "knng", "keyword", "skeleton", "ket-u", "ket-p"] = "ket-p"  # §6.1
    ket_neighbours: Annotated[int, Field(ge=2, le=20, multiple_of=2)] = 2  # K: half by shared words, half by meaning
    ket_core_share: Annotated[float, Field(gt=0, le=1)] = 0.8  # beta: of the chunks, whose entities make the skeleton
    ket_core_reader: Literal["nlp", "model"] = "nlp"  # who finds the relations of core chunks
    ket_splits: Annotated[int, Field(ge=0, le=4)] = 0  # tau: a chunk is 2^tau pieces; set 2 for chunks of 1,200 tokens
    ket_entity_share: Share = 0.4  # theta: of the tokens, for the skeleton's channel
    ket_keywords: Literal["words", "names"] = "names"  # "words": the paper's; "names": pairs of words out of names too
    ket_weights: Literal["plain", "idf"] = "idf"  # of keywords; "plain": the paper's, "idf": rare ones count more
    ket_order: Literal["cosine", "fused"] = "fused"  # of pieces; "cosine": the paper's, "fused": by meaning and words
    ket_fill: bool = True  # tokens that both channels leave go to the nearest other pieces


class EraRAGSettings(GraphSettings):
    """EraRAG §III: a tree of summaries. What changes its shape is for a new index."""

    tree_bits: Annotated[int, Field(ge=8, le=62)] = 32  # n hyperplanes
    tree_min: Annotated[int, Field(ge=2)] = 4  # S_min, members of a segment
    tree_max: Annotated[int, Field(ge=3)] = 16  # S_max, at least 2·S_min - 1
    tree_staleness: Share = 0.2  # a model's summary stays while its segment has grown by a smaller share; 0: written again at each change
    tree_search: Literal["collapsed", "detailed", "summarised"] = "collapsed"  # §III-D
    tree_share: Share = 0.7  # p of detailed and summarised search

    @model_validator(mode="after")
    def _a_segment_can_be_cut(self) -> Self:
        if self.tree_max < 2 * self.tree_min - 1:
            raise ValueError(f"tree_max must be at least 2 * tree_min - 1 = {2 * self.tree_min - 1}, to cut what is too large in two")
        return self


class RetrievalSettings(Section):
    """What finds passages (DGRAG §III-C, step 4)."""

    retrieval: Channels = DEFAULT_RETRIEVAL  # ④ what finds passages, by commas; "dense": vectors only, no graph; ADR 10
    keywords: Literal["nlp", "model"] = "nlp"  # ④ dual-level keywords, for the channels entities and relations
    top_k: Annotated[int, Field(ge=1, le=1000)] = 20  # ④ passages, and what each channel adds to their choice
    candidate_tokens: Annotated[int, Field(ge=50)] = 1600  # ④ of the passages that are searched for, best first
    context_tokens: Annotated[int, Field(ge=50)] = 900  # ④ of whole passages, which the model reads; a large model: 4000
    description_share: Share = 0.0  # ④ of it, for descriptions of the entities and relations found (dgrag); the paper's way: 0.3 or more


class GateSettings(Section):
    """When the local answer suffices (DGRAG §III-C, step 5)."""

    min_nearness: Annotated[float, Field(ge=-1, le=1)] = 0.3  # ⑤ 1: cosine with the nearest passage; below, others come first; -1: off
    max_unknown: Share = 1.0  # ⑤ 1: a larger share of the question's words stands in no document here: others come first; 1: off
    max_refusals: Share = 0.4  # ⑤ 1: a larger share of samples that lack information escalates; 1: off
    min_sufficiency: Share = 0.45  # ⑤ 1: P(yes) that the passages show the drafted answer; 0: the model is not asked (ADR 39)
    min_similarity: Share = 0.7  # ⑤ 2: mean of cosine, Jaccard and semantic consistency; 0: the answers are not compared


class AnswerSettings(EgressSettings, RetrievalSettings, GateSettings, GenerationSettings):
    """The read path (DGRAG §III-C)."""

    samples: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] = 3  # ④ n answers in one batch
    sample_tokens: Annotated[int, Field(ge=8)] = 96
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.4
    show_uncertain: bool = True  # an answer of which the gate is not sure is shown as such; False: it counts as none
    min_shown: Share = 0.1  # P(yes) below which a drafted answer is not shown at all
    answer_deadline_s: Annotated[float, Field(gt=0)] = 180.0  # whole question, escalation included
    cloud_deadline_s: Annotated[float, Field(gt=0)] = 150.0  # ⑥ at most this of it waits for the cloud


class BucketSettings(BaseSettings):
    """The store of ``s3://`` addresses, read when one is opened; AWS's own variables of the keys will do too."""

    model_config = SettingsConfigDict(env_prefix="DGRAG_S3_", frozen=True)

    endpoint: str = "https://s3.amazonaws.com"
    region: str = ""  # empty: as the store says
    access_key: Annotated[str, Field(validation_alias=AliasChoices("DGRAG_S3_ACCESS_KEY", "AWS_ACCESS_KEY_ID"))] = (
        ""  # empty: none is shown
    )
    secret_key: Annotated[SecretStr, Field(validation_alias=AliasChoices("DGRAG_S3_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"))] = SecretStr("")


class EdgeSettings(
    AnswerSettings,
    EraRAGSettings,
    KETRAGSettings,
    MemorySettings,
    GlobalSettings,
    IndexingSettings,
    DocumentSettings,
    CloudLineSettings,
    NodeSettings,
    BaseSettings,
):
    """An edge's settings. The defaults suit the default 1.5B model on two CPU cores."""

    model_config = SettingsConfigDict(env_prefix="DGRAG_EDGE_", frozen=True)

    @model_validator(mode="after")
    def _fdrag_needs_memories(self) -> Self:
        if self.memory == "off" and "fdrag" in self.methods:
            raise ValueError("the strategy fdrag searches by what is remembered: set memory to plain or model, or take another strategy")
        return self
