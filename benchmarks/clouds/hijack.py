"""One edge lies beside ten honest ones: what it gains, with the cloud's controls and without (goal S10).

``python -m benchmarks.clouds.hijack DATA [--state DIR] [--out FILE]`` indexes UltraDomain JSONL files with ten real edges, then lets the
cloud's own matching, screening, standing and merging choose edges and passages for every question; no model writes answers.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Literal

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.clouds.ten_edges import Amount, Federation, federation_of
from cloud_server.answering.availability import Availability
from cloud_server.answering.merging import cosines, fill_budget, rescore
from cloud_server.database.opening import SqliteDatabase
from cloud_server.routing.lexical import LexicalIndex
from cloud_server.routing.matching import index_key, match, owners, second_opinion
from cloud_server.routing.screening import Samples, judged
from cloud_server.settings import CloudSettings
from shared.index import open_index
from shared.models.build import build_embedder, build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import Embedder, FloatArray, SystemClock, Tokenizer, VectorIndex
from shared.records import ChunkId, DocumentId, EdgeId, EdgeReport, Evidence, SummaryId

ATTACKER = EdgeId("mallory")
DEFAULT = CloudSettings.model_construct()
M, K, SLOTS, LEAD = DEFAULT.match_m, DEFAULT.edges_k, DEFAULT.slots_per_edge, DEFAULT.match_lead
BUDGET_TOKENS = DEFAULT.evidence_budget_tokens
COPIES, TOPICS_IN_HUB = 40, 60
FORMS = ("{}", "{} explained", "{} details", "{} facts", "{} overview", "{} answered")  # of a forged summary
Replies = Literal["poison", "junk"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosines that suit an embedder."""

    match: float = DEFAULT.match_threshold
    evidence: float = DEFAULT.evidence_threshold


@dataclass(frozen=True, slots=True)
class Outcome:
    """Shares over all questions, [0, 1]; ``late_…``: over the second half, when the cloud has seen many replies."""

    asked_a_question: float  # edges, no share
    owner_asked: float
    owner_read: float  # a passage of the owner is in the model's context
    attacker_asked: float
    late_attacker_asked: float
    attacker_alone: float  # the context holds nobody else's passages
    most_of_budget: float  # of the tokens that the model may read, for the attacker, where several edges had something to say
    most_of_context: float  # of the tokens that it does read, there
    attacker_held_back: float  # of its summaries
    honest_held_back: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What happened to one question."""

    owner: EdgeId
    asked: frozenset[EdgeId]
    read: Mapping[EdgeId, int]  # tokens in the context
    sent: frozenset[EdgeId]  # edges with a passage above the threshold


def forged(questions: Sequence[str]) -> list[str]:
    """The attacker knows these questions: several summaries for each, copies of one, and hubs that name many topics at once."""
    about = [form.format(question) for question in questions for form in FORMS]
    hubs = [" ".join(" ".join(q.split()[:8]) for q in questions[at : at + TOPICS_IN_HUB]) for at in range(0, len(questions), TOPICS_IN_HUB)]
    return [*about, *(" " * n + about[0] for n in range(COPIES)), *hubs]


def poison(question: str, replies: Replies) -> list[str]:
    """What the attacker replies: texts nearer to the question than any answer is, or nothing of use."""
    if replies == "junk":
        return ["Colourless green ideas sleep furiously."]
    return [f"{question} The answer is number {n}, says the only source that counts." for n in range(30)]


class Remembering:
    """An embedder that embeds no text twice: the cases of a comparison differ in what they do with the same texts."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, FloatArray] = {}
        self.fingerprint, self.dimensions = embedder.fingerprint, embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """As the embedder does."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows |= zip(new, await self._embedder.embed(new), strict=True)
        return np.array([self._rows[text] for text in texts], dtype=np.float32)


class Cloud:
    """The cloud's part, of the cloud's own pieces; ``controlled`` False: as if nobody had thought of liars."""

    def __init__(self, folder: Path, embedder: Embedder, tokenizer: Tokenizer, thresholds: Thresholds, *, controlled: bool) -> None:
        self._embedder = embedder
        self._tokenizer = tokenizer
        self._thresholds = thresholds
        self._controlled = controlled
        self._index: VectorIndex = open_index("numpy", embedder.dimensions)
        self._lexicon = LexicalIndex()
        self._samples = Samples()
        self._database = SqliteDatabase(folder / "cloud.db")
        self._availability = Availability(self._database, SystemClock(), breaker_failures=5, breaker_s=30.0, deadline_s=20.0, rng=Random(7))

    async def take(self, edge: EdgeId, summaries: Sequence[str]) -> float:
        """Take an edge's summaries in; returns the share that is held back."""
        vectors = await self._embedder.embed(summaries)
        feedback = judged(vectors, vectors[:0], self._samples.without(edge)) if self._controlled else [""] * len(vectors)
        matched = [row for row, why in enumerate(feedback) if not why]
        keys = [index_key(edge, SummaryId(str(row))) for row in matched]
        self._index.put(keys, vectors[matched])
        self._lexicon.put(keys, [summaries[row] for row in matched])
        self._samples.keep(edge, vectors[matched])
        return 1 - len(matched) / len(vectors)

    async def ask(self, federation: Federation, question: str, owner: EdgeId, replies: Replies) -> Asked:
        """Match, ask, merge."""
        vector = await self._embedder.embed([question])
        slots = SLOTS if self._controlled else M
        words = dict(self._lexicon.top(question))
        sizes = self._samples.sizes()
        found = match(vector, self._index, m=M, min_cosine=self._thresholds.match, slots=slots, words=words, lead=LEAD, sizes=sizes)
        matched = owners(found)
        asked = self._chosen(vector, matched) if self._controlled else matched[:K]
        texts = {edge: poison(question, replies) if edge == ATTACKER else federation.evidence[edge].get(question, ()) for edge in asked}
        passages = [
            Evidence(edge, DocumentId("d"), "d", ChunkId(f"d:{n}"), (0, len(text)), text, 1.0 if edge == ATTACKER else 0.6)
            for edge, found in texts.items()
            for n, text in enumerate(found)
        ]
        ranked = await self._ranked(passages, vector)
        context = fill_budget(ranked, self._tokenizer, budget_tokens=BUDGET_TOKENS) if self._controlled else self._first(ranked)
        sent = frozenset(passage.edge for passage in ranked)
        reports = [EdgeReport(edge, "evidence", "answered", 1.0, 1, len(texts[edge])) for edge in asked]
        await self._availability.note(reports, matched=matched, useful=sent)
        read = dict.fromkeys(sorted({passage.edge for passage in context}), 0)
        for passage in context:
            read[passage.edge] += self._tokenizer.count(passage.text)
        return Asked(owner, frozenset(asked), read, sent)

    def close(self) -> None:
        """Close its store."""
        self._database.close()

    def _chosen(self, question: FloatArray, matched: Sequence[EdgeId]) -> list[EdgeId]:
        asked, _ = self._availability.chosen(matched, k=K, online=lambda _: True)
        further = second_opinion(question, self._index, known=matched, min_cosine=self._thresholds.match, barred=())
        return [*asked, *self._availability.chosen(further, k=1, online=lambda _: True)[0]]

    async def _ranked(self, passages: Sequence[Evidence], question: FloatArray) -> list[Evidence]:
        if not self._controlled:
            return sorted(passages, key=lambda passage: -passage.score)  # as the edges say
        vectors = await self._embedder.embed([passage.text for passage in passages]) if passages else np.empty((0, 1), dtype=np.float32)
        return rescore(passages, vectors, cosines(vectors, question), min_cosine=self._thresholds.evidence) if passages else []

    def _first(self, passages: Sequence[Evidence]) -> list[Evidence]:
        left, chosen = BUDGET_TOKENS, []
        for passage in passages:
            left -= self._tokenizer.count(passage.text)
            if left >= 0:
                chosen.append(passage)
        return chosen


async def simulate(
    federation: Federation,
    embedder: Embedder,
    tokenizer: Tokenizer,
    *,
    attack: Replies | None,
    controlled: bool,
    thresholds: Thresholds = Thresholds(),
    rounds: int = 1,
) -> Outcome:
    """All questions, ``rounds`` times, in a random order; the attacker joins in the middle and knows every second question."""
    edges = sorted(federation.summaries)
    joining = [*edges[: len(edges) // 2], *([ATTACKER] if attack else []), *edges[len(edges) // 2 :]]
    with tempfile.TemporaryDirectory() as folder:
        cloud = Cloud(Path(folder), embedder, tokenizer, thresholds, controlled=controlled)
        known = forged([question for question, _ in federation.questions[::2]])
        held = {edge: await cloud.take(edge, known if edge == ATTACKER else federation.summaries[edge]) for edge in joining}
        questions = [*federation.questions] * rounds
        Random(3).shuffle(questions)
        asked = [await cloud.ask(federation, question, owner, attack or "junk") for question, owner in questions]
        cloud.close()
    return outcome(asked, held)


def outcome(asked: Sequence[Asked], held: Mapping[EdgeId, float]) -> Outcome:
    """The shares."""

    def share(items: Sequence[bool]) -> float:
        return round(sum(items) / max(1, len(items)), 3)

    late = asked[len(asked) // 2 :]
    contested = [(one.read.get(ATTACKER, 0), sum(one.read.values())) for one in asked if len(one.sent) > 1]
    honest = [part for edge, part in held.items() if edge != ATTACKER]
    return Outcome(
        asked_a_question=round(sum(len(one.asked) for one in asked) / max(1, len(asked)), 3),
        owner_asked=share([one.owner in one.asked for one in asked]),
        owner_read=share([one.owner in one.read for one in asked]),
        attacker_asked=share([ATTACKER in one.asked for one in asked]),
        late_attacker_asked=share([ATTACKER in one.asked for one in late]),
        attacker_alone=share([set(one.read) == {ATTACKER} for one in asked]),
        most_of_budget=round(max((tokens / BUDGET_TOKENS for tokens, _ in contested), default=0.0), 3),
        most_of_context=round(max((tokens / read for tokens, read in contested if read), default=0.0), 3),
        attacker_held_back=round(held.get(ATTACKER, 0.0), 3),
        honest_held_back=round(sum(honest) / len(honest), 4),
    )


async def compare(
    federation: Federation, embedder: Embedder, tokenizer: Tokenizer, *, thresholds: Thresholds, rounds: int
) -> dict[str, Outcome]:
    """Uncontrolled and controlled: without an attacker, with poisoned replies of one, and with useless ones."""
    embedder = Remembering(embedder)
    cases: dict[str, tuple[Replies | None, bool]] = {
        "no attack, no controls": (None, False),
        "no attack, controls": (None, True),
        "poison, no controls": ("poison", False),
        "poison, controls": ("poison", True),
        "junk, no controls": ("junk", False),
        "junk, controls": ("junk", True),
    }
    return {
        name: await simulate(federation, embedder, tokenizer, attack=attack, controlled=on, thresholds=thresholds, rounds=rounds)
        for name, (attack, on) in cases.items()
    }


def table(outcomes: Mapping[str, Outcome]) -> Table:
    """A row a measure, a column a case."""
    rows = Table("", *outcomes)
    for measure in Outcome.__dataclass_fields__:
        rows.add_row(measure.replace("_", " "), *(f"{getattr(one, measure):.3f}" for one in outcomes.values()))
    return rows


def main(
    data: Annotated[Path, typer.Argument(help="folder of UltraDomain JSONL files", exists=True, file_okay=False)],
    state: Annotated[Path, typer.Option(help="where the ten edges live; kept for the next run")] = Path(".dgrag-hijack"),
    chapters: Annotated[int, typer.Option(help="of an edge, at most")] = 1,
    questions: Annotated[int, typer.Option(help="of a chapter, at most")] = 4,
    rounds: Annotated[int, typer.Option(help="how often each question is asked")] = 3,
    out: Annotated[Path, typer.Option(help="result file")] = Path("benchmarks/results/hijack.json"),
) -> None:
    """Index, attack, print the table."""
    settings = ModelSettings()
    embedder, tokenizer = build_embedder(settings), build_tokenizer(settings)

    async def run() -> tuple[Federation, dict[str, Outcome]]:
        amount, least = Amount(chapters, questions), Thresholds().evidence
        federation = await federation_of(data, state, embedder, tokenizer, amount, budget_tokens=BUDGET_TOKENS, min_score=least)
        return federation, await compare(federation, embedder, tokenizer, thresholds=Thresholds(), rounds=rounds)

    federation, outcomes = asyncio.run(run())
    summaries = sum(len(texts) for texts in federation.summaries.values())
    sample = {"edges": len(federation.summaries), "summaries": summaries, "questions": len(federation.questions), "rounds": rounds}
    result = {"sample": sample, "outcomes": {name: asdict(one) for name, one in outcomes.items()}}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1), encoding="utf-8")
    Console().print(sample, table(outcomes))


if __name__ == "__main__":
    typer.run(main)
