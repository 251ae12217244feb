"""Stored answers, pair by pair, to a language model as judge (DGRAG Tables I–III, GraphRAG §3.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

from benchmarks.config import Criterion
from benchmarks.datasets.splits import stride
from benchmarks.errors import BenchmarkError
from benchmarks.judge import Pair, judge
from benchmarks.records import AnswerRow
from benchmarks.stages import Work
from shared.errors import ModelError, ModelUnavailable
from shared.models.build import build_generator, model_http
from shared.models.settings import ModelSettings

DEADLINE_S = 300.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """One unit: a pair, a criterion, an order."""

    pair: Pair
    criterion: Criterion
    ours_first: bool

    @property
    def key(self) -> str:
        """Its name in the journal."""
        ours, against, first = self.pair.ours, self.pair.theirs.system, "first" if self.ours_first else "second"
        return f"{ours.split}/{ours.scenario}/{ours.system}/{against}/{ours.edge}/{ours.question_id}/{self.criterion}/{first}"


async def judging(work: Work) -> None:
    """Judge what is left. What the model cannot judge is noted, with the reason, and not tried again."""
    wanted = list(_verdicts(work)) if work.config.judge.pairs else []
    left = [one for one in wanted if not work.journal.done("judging", one.key) and not work.journal.done("skipped", f"judging/{one.key}")]
    if not left:
        return
    work.progress.begin(f"{work.split.name}: judge", len(left))
    settings = ModelSettings(url=await work.fleet.model(), name=await work.fleet.model_name(), api_key=work.fleet.model_key)
    async with model_http(settings) as http:
        generator = build_generator(settings, http)
        for done, one in enumerate(left, start=1):
            try:
                row = await judge(generator, one.pair, one.criterion, ours_first=one.ours_first, deadline_s=DEADLINE_S)
                work.journal.add("judging", one.key, asdict(row))
            except ModelUnavailable as error:
                raise BenchmarkError(f"the judge is away: {error.message}", next_step="the same command goes on where it was") from error
            except ModelError as error:
                work.journal.add("skipped", f"judging/{one.key}", {"what": f"judging {one.key}", "why": error.message})
            work.progress.at(done)


def _verdicts(work: Work) -> Iterator[Verdict]:
    """For each scenario and two systems so many pairs, at regular distances; the criteria of one order in a row, as they share a prefix."""
    asked = work.config.judge
    for pairs in _pairs(work).values():
        for pair in stride(pairs, asked.pairs, seed=work.config.seed):
            for ours_first in (True, False):
                yield from (Verdict(pair, criterion, ours_first) for criterion in asked.criteria)


def _pairs(work: Work) -> dict[tuple[str, ...], list[Pair]]:
    """One system's answers beside another's to the same asking, by scenario and systems."""
    read = TypeAdapter(AnswerRow).validate_python
    rows = [row for row in map(read, work.journal.rows("answers")) if row.split == work.split.name and not row.error]
    answered = {(row.system, row.scenario, row.edge, row.question_id): row for row in rows}
    found: dict[tuple[str, ...], list[Pair]] = {}
    for ours, theirs in work.config.judge.couples(work.measured.systems):
        for row in (row for row in rows if row.system == ours):
            if other := answered.get((theirs, row.scenario, row.edge, row.question_id)):
                found.setdefault((row.scenario, ours, theirs), []).append(Pair(row, other))
    return found
