"""Sets the gate's thresholds from questions that the site's own model makes of its documents, and holds them while the models stay.

A call of ``step`` tries a question or two and notes what the gate saw. So whoever drives it may stop, and go on another day.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edge_node.answering.answerer import Answerer, Ask
from edge_node.calibration.choice import LEAST, Choice, Kind, Scored, chosen, limits_of
from edge_node.calibration.questions import FOREIGN, is_said_in, order_of, question_in, question_prompt, sentence_in
from edge_node.calibration.signals import Signals
from edge_node.calibration.store import Asked, Calibrated, CalibrationStore
from edge_node.documents.store import DocumentStore
from edge_node.documents.worker import failure_of
from edge_node.settings import EdgeSettings
from shared.errors import Conflict, InputError, ModelError
from shared.models.catalogue import cosines_of
from shared.models.fingerprint import AGAIN_S, LOOK_S, is_same, mark_of
from shared.ports import Generator
from shared.records import GateReport
from shared.telemetry.trace import Trace
from shared.text.fence import FENCE_BYTES, Fence

USUAL_S = 15.0  # of a question with the default model on two cores, where none was tried yet
DEADLINE_S = 120.0  # of one call that writes a question
ASKED_OF_MODEL = 1e-6  # a bar that lets all pass, and has the step done
OF_GENERATOR = frozenset({"min_sufficiency", "max_refusals", "min_similarity"})
OF_EMBEDDER = frozenset({"min_nearness", "evidence_threshold"})


@dataclass(frozen=True, slots=True)
class Serving:
    """What answers now: with which embedder, by its fingerprint."""

    answerer: Answerer
    embedder: str


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` questions; ``seconds``: of one, as far as is known."""

    done: int
    total: int
    seconds: float


class Calibration:
    """Of one edge. ``serving``: None while another embedding model takes over."""

    def __init__(
        self, settings: EdgeSettings, documents: DocumentStore, generator: Generator, serving: Callable[[], Serving | None]
    ) -> None:
        self._given = settings.model_fields_set
        self._documents = documents
        self._generator = generator
        self._serving = serving
        self._store = CalibrationStore(documents.database)
        self._stepping = asyncio.Lock()
        self.in_use = False
        self.why = ""  # a calibration that is there is not used; empty: it is, or there is none

    # ------------------------------------------------------------ in force

    async def run(self) -> None:
        """Hold the thresholds in force while the models are theirs, until cancelled."""
        while True:
            if (error := await failure_of(self.look())) is not None:
                self.why = f"it cannot be seen whether it holds: {type(error).__name__}"
            await asyncio.sleep(AGAIN_S if self.why else LOOK_S)

    async def look(self) -> None:
        """Put what is stored in force, or out of it. A model that is away changes nothing."""
        serving, found = self._serving(), await asyncio.to_thread(self._store.calibrated)
        self.why = "another embedding model takes over" if serving is None else ""
        if serving is None or found is None:
            return self._use({}, serving)
        if serving.embedder != found.embedder:
            self.why = f"it is for the embedding model {found.embedder}"
        elif self._generator.name != found.generator.name:
            self.why = f"it is for the model {found.generator.name}"
        else:
            try:
                mark = await mark_of(self._generator)
            except ModelError as error:
                self.why = "" if self.in_use else f"the model cannot be asked yet: {error.message}"
                return None
            self.why = "" if is_same(mark, found.generator) else f"another model answers as {mark.name}"
        return self._use({} if self.why else found.thresholds, serving)

    def _use(self, thresholds: Mapping[str, float], serving: Serving | None) -> None:
        if serving is not None:
            serving.answerer.tune({name: value for name, value in thresholds.items() if name not in self._given})
        self.in_use = bool(thresholds)

    async def reset(self) -> None:
        """Answer with the thresholds that are set, and forget what was asked."""
        await asyncio.to_thread(self._store.clear)
        await self.look()

    def view(self) -> dict[str, Any]:
        """For status and pages: what is set, for which models, on how many questions, and whether it is used."""
        found = self._store.calibrated()
        if found is None:
            return {"in_use": False, "why": "", "thresholds": {}}
        own, other = found.choice.own_after, found.choice.other_after
        models = {"generator": found.generator.name, "embedder": found.embedder, "at": found.at}
        shares = {name: {"escalated": share.escalated, "of": share.of} for name, share in (("own", own), ("other", other))}
        return {"in_use": self.in_use, "why": self.why, "thresholds": dict(found.thresholds), **models, **shares}

    # ------------------------------------------------------------ making one

    async def progress(self, questions: int) -> Progress:
        """How far a calibration with so many questions is."""
        asked = await asyncio.to_thread(self._store.asked)
        left, rows = await asyncio.to_thread(self._left, asked, questions), _tried(asked)
        return Progress(len(rows), len(rows) + left.total(), asked.seconds / len(rows) if asked and rows else USUAL_S)

    async def step(self, questions: int) -> Progress:
        """Try the next question or two. Raises ModelError, Conflict while another embedding model takes over."""
        async with self._stepping:
            serving = self._ready()
            asked = await asyncio.to_thread(self._store.asked)
            if asked is None or (asked.generator.name, asked.embedder) != (self._generator.name, serving.embedder):
                asked = Asked(await mark_of(self._generator), serving.embedder, {})
            began, left = time.perf_counter(), await asyncio.to_thread(self._left, asked, questions)
            if not left["own"]:
                require_enough(_tried(asked))
            new = await self._tried_next(serving, asked, left)
            asked = replace(asked, rows={**asked.rows, **new}, seconds=asked.seconds + time.perf_counter() - began)
            await asyncio.to_thread(self._store.keep_asked, asked)
        return await self.progress(questions)

    async def finish(self, *, apply: bool, now: float) -> Choice:
        """Choose by what was asked, and put that in force where it is to. Raises InputError, Conflict, ModelError."""
        async with self._stepping:
            serving, asked = self._ready(), await asyncio.to_thread(self._store.asked)
            rows, mark = _tried(asked), await mark_of(self._generator)
            require_enough(rows)
            if asked is None or serving.embedder != asked.embedder or not is_same(mark, asked.generator):
                await asyncio.to_thread(self._store.keep_asked, Asked(mark, serving.embedder, {}))
                raise Conflict("another model answers than at the first question", next_step="calibrate again")
            free = self.free(serving.embedder)
            choice = chosen(rows, limits_of(serving.answerer.untuned), free)
            thresholds = dict(choice.after)
            if "min_nearness" in thresholds and "evidence_threshold" in free:
                thresholds["evidence_threshold"] = thresholds["min_nearness"]  # what is near enough to be read here is so for others
            if apply:
                found = Calibrated(mark, serving.embedder, choice, thresholds, now)
                await asyncio.to_thread(self._store.keep_calibrated, found)
                self.why = ""
                self._use(thresholds, serving)
            return choice

    def _ready(self) -> Serving:
        if (serving := self._serving()) is None:
            raise Conflict("another embedding model takes over", next_step="calibrate when it has")
        return serving

    def free(self, embedder: str) -> frozenset[str]:
        """The thresholds that a choice may set: none that a person has given, and of an embedder's none that was measured."""
        return (OF_GENERATOR if cosines_of(embedder) else OF_GENERATOR | OF_EMBEDDER) - self._given

    def _left(self, asked: Asked | None, questions: int) -> Counter[Kind]:
        """How many questions of each kind are still to be tried."""
        sources = sum(key not in (asked.rows if asked else {}) for key, _ in self._sources())
        hidden = questions // 4 if self._documents.counts()["indexed"] > 1 else 0
        wanted = Counter[Kind]({"own": questions // 2, "hidden": hidden, "foreign": min(len(FOREIGN), questions // 4)})
        left = wanted - Counter(row.kind for row in _tried(asked) if row.kind != "hidden" or row.seen.sufficiency is not None)
        left["own"], left["hidden"] = min(left["own"], sources), min(left["hidden"], left["own"], sources)
        return +left

    def _sources(self) -> list[tuple[str, str]]:
        return order_of(row["chunk_id"] for row in self._documents.database.rows("SELECT chunk_id FROM chunks"))

    async def _tried_next(self, serving: Serving, asked: Asked, left: Counter[Kind]) -> dict[str, Scored | None]:
        if left["own"]:
            key, chunk_id = next(one for one in await asyncio.to_thread(self._sources) if one[0] not in asked.rows)
            return await self._tried_of(serving, key, chunk_id, also_hidden=left["hidden"] > 0)
        if left["foreign"]:
            n = sum(row.kind == "foreign" for row in _tried(asked))
            return {f"foreign {n}": await scored(serving, "foreign", FOREIGN[n], self.free(serving.embedder))}
        return {}

    async def _tried_of(self, serving: Serving, key: str, chunk_id: str, *, also_hidden: bool) -> dict[str, Scored | None]:
        """A question of a sentence of that chunk, asked with its document and, where the others do not say the same, without."""
        found = (await asyncio.to_thread(self._documents.chunks, [chunk_id])).get(chunk_id)
        sentence = sentence_in(found[0].text, key) if found else ""
        question = await self._question(found[2], sentence) if found and sentence else ""
        if not found or not question:
            return {key: None}
        free, document, ask = self.free(serving.embedder), found[0].document_id, Ask(question, mode="local")
        if (await serving.answerer.find_here(ask)).unknown > serving.answerer.settings.max_unknown:
            return {key: None}  # it has words of the model's own
        made: dict[str, Scored | None] = {key: await scored(serving, "own", question, free)}
        if also_hidden:
            others = await serving.answerer.alone({}, frozenset({document})).find_here(ask)
            if not is_said_in(sentence, [passage.text for passage in others.evidence]):
                made[f"hidden {key}"] = await scored(serving, "hidden", question, free, hidden=document)
        return made

    async def _question(self, title: str, sentence: str) -> str:
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        prompt = question_prompt(title, sentence, fence)
        reply = await self._generator.generate(prompt, deadline_s=DEADLINE_S)
        text = reply.texts[0]
        return "" if fence.is_given_away(text, prompt.messages) else question_in(text)


async def scored(
    serving: Serving, kind: Kind, question: str, free: frozenset[str] = frozenset(), *, hidden: str = "", draws: bool = True
) -> Scored:
    """Ask a question of this site alone, with all bars of the model as low as they may be. ``free``: thresholds that a choice may set.

    Answers are drawn to the site's own questions only: what becomes of the samples of others is not known, and not counted on.
    ``hidden``: the id of a document that it is not to find; ``draws``: False: no answer is drawn at all. Raises ModelError.
    """
    now = serving.answerer.untuned
    opened = {"max_refusals": 1.0, "min_sufficiency": min(now.min_sufficiency, ASKED_OF_MODEL), "min_similarity": now.min_similarity}
    opened["min_nearness"] = -1.0 if "min_nearness" in free else now.min_nearness
    answerer = serving.answerer.alone(opened, frozenset({hidden} - {""}))
    if kind != "own" or not draws:
        return Scored(kind, signals_of(await answerer.probed(question), within=kind == "own"))
    answer = await answerer.answer(Ask(question, mode="local", memory=False), Trace())
    return Scored(kind, signals_of(answer.gate, within=True, answered=answer.answered))


def signals_of(report: GateReport | None, *, within: bool, answered: bool = True) -> Signals:
    """The gate's scores. An answer that says nothing which its passages support is as one of which all samples refuse."""
    seen = report.confidence if report else None
    if report is None or seen is None:  # nothing was found at all
        return Signals(within, escalated=True, nearness=-1.0, unknown=None, refusals=None, sufficiency=None, similarity=None)
    refused = (seen.refusals / seen.samples if answered else 1.0) if seen.samples else None
    mean = report.similarity.mean if report.similarity else None
    too_far = seen.nearness < seen.min_nearness or seen.unknown > seen.max_unknown
    return Signals(within, too_far, seen.nearness, seen.unknown, refused, seen.sufficiency, mean)


def require_enough(rows: Sequence[Scored]) -> None:
    """Raises InputError where a choice would rest on too few questions."""
    if sum(row.kind == "own" for row in rows) < LEAST:
        raise InputError(f"of these documents fewer than {LEAST} questions could be made", next_step="add documents first")


def _tried(asked: Asked | None) -> list[Scored]:
    return [row for row in asked.rows.values() if row is not None] if asked else []
