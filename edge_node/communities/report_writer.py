"""Reports by a language model: a few at a time, each committed by itself (GraphRAG §2.5)."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

from edge_node.communities.drafts import ReportDraft
from edge_node.communities.elements import Finding, Line
from edge_node.communities.reports import MOST_CHUNKS, MOST_RATING, Report
from edge_node.communities.service import CommunityReports
from edge_node.graph.summaries import usable, whole_sentences
from edge_node.graph.tools import Tools
from edge_node.model_task import ModelTask, each, lines_of
from edge_node.records import Cost, Progress
from edge_node.settings import CommunitySettings
from shared.ports import Prompt
from shared.records import ChunkId, DocumentId, EdgeId, Evidence
from shared.text.citations import MARKER, Citer, is_supported
from shared.text.fence import FENCE_BYTES, Fence, one_line
from shared.text.inert import inert
from shared.text.prompts import load_prompt
from shared.text.refusals import is_refusal
from shared.text.sentences import content_words

log = logging.getLogger("dgrag.edge.reporting")

LEAST_FINDINGS = 2  # fewer say less than the plain report, unless that has one
HEAD_TOKENS = 100  # of title, summary and rating; the rest of a reply is findings
SUMMARY_SENTENCES = 2
MAX_TITLE_CHARS = 120
MAX_TEXT_CHARS = 600  # of a summary, a reason, a finding

_FIELD = re.compile(r"\W*+(title|summary|findings|rating)[^\w:]*+:\W*+(.*)", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*•–]|\(?\d{1,2}[.)])\s+")
_RATING = re.compile(r"(\d{1,2})(?:\s*/\s*10)?\b[\s,;:.–-]*(?:because\s+)?(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedReport:
    """A report, None where no finding could be used, and how many lines of the reply are not in it."""

    report: Report | None
    unread_lines: int


def report_prompt(lines: Sequence[Line], fence: Fence, *, report_tokens: int, most: int) -> Prompt:
    """Ask for a report on what the lines of a context say: at most ``most`` findings, with about ``report_tokens`` in all."""
    notes = "\n".join(f"[{number}] {one_line(text)}" for number, (text, _) in enumerate(_notes(lines), start=1))
    messages = load_prompt("edge_node", "report").render(notes=fence.around(notes), most=str(most))
    return Prompt(messages, max_tokens=HEAD_TOKENS + report_tokens)


def parsed_report(reply: str, lines: Sequence[Line], plain: Report, *, most: int) -> ParsedReport:
    """Read a reply; never raises: what cannot be used is counted. ``plain``: the report that stands until then, of the same lines.

    A finding rests on the notes that it names, as far as they say it (``shared.text.citations``), or on the one that says it best; it
    goes where these do not hold ``MIN_SUPPORT`` of its words and all of its figures, or it says nothing new. Title, summary and the
    rating's reason need as much of all notes together, and are else those of ``plain``, as the rating is. Fewer than ``LEAST_FINDINGS``
    are no report.
    """
    reader = _Reader(lines)
    fields, findings, unread = _read(reply, reader, most)
    if len(findings) < min(LEAST_FINDINGS, max(1, len(plain.findings))):
        return ParsedReport(None, unread)
    rating, reason = _rating(fields.get("rating", ""))
    if not reader.told(reason):
        rating, reason = plain.rating, plain.reason
    title = fields.get("title", "")[:MAX_TITLE_CHARS]
    summary = whole_sentences(fields.get("summary", ""), most=SUMMARY_SENTENCES)[:MAX_TEXT_CHARS]
    title, summary = reader.told(title) or plain.title, reader.told(summary) or plain.summary
    written = replace(plain, title=title, summary=summary, rating=rating, reason=reason, findings=tuple(findings), by_model=True)
    return ParsedReport(written, unread)


def _read(reply: str, reader: _Reader, most: int) -> tuple[dict[str, str], list[Finding], int]:
    """What stands in the named lines; at most so many findings; and the number of lines that are neither."""
    fields, findings, unread = dict[str, str](), list[Finding](), 0
    for line in filter(None, map(str.strip, reply.splitlines())):
        if (field := _FIELD.fullmatch(line)) is not None:
            name = field[1].lower()
            unread += name in fields
            fields.setdefault(name, _plain(field[2]))
        elif (finding := reader.finding(_BULLET.sub("", line, count=1))) is None or len(findings) == most or _repeats(finding, findings):
            unread += 1
        else:
            findings.append(finding)
    return fields, findings, unread


class _Reader:
    """Checks what a model says against the notes that it was given."""

    def __init__(self, lines: Sequence[Line]) -> None:
        notes = list(_notes(lines))
        self._sources = [source for _, source in notes]
        self._texts = [text for text, _ in notes]
        self._citer = Citer([_passage(text) for text in self._texts])

    def finding(self, text: str) -> Finding | None:
        """What a line says, with all that it rests on; None where it says nothing, or what the notes do not."""
        marked = " ".join(self._citer.add(text)) if len(text) <= MAX_TEXT_CHARS else ""
        said, rows = _plain(marked), self._citer.rows_of(marked)
        if not usable(said) or is_refusal(said) or not is_supported(said, [self._texts[row] for row in rows]):
            return None
        sources = [self._sources[row] for row in rows]
        elements = dict.fromkeys(key for source in sources for key in source.elements)
        return Finding(said, _first_chunks(sources), tuple(elements))

    def told(self, text: str) -> str:
        """The text, if the notes together hold enough of it; else ""."""
        return text if is_supported(text, self._texts) else ""


def _notes(lines: Sequence[Line]) -> Iterator[tuple[str, Finding]]:
    """Each sentence of a context as a model reads it: behind the name that it is about, where it does not say that itself."""
    for line in lines:
        for finding in line.findings:
            names = content_words(line.name)
            is_named = not names or not names.isdisjoint(content_words(finding.text))
            yield (finding.text if is_named else f"{line.name}: {finding.text}"), finding


def _passage(text: str) -> Evidence:
    return Evidence(EdgeId(""), DocumentId(""), "", ChunkId(""), (0, len(text)), text, 0.0)


def _plain(text: str) -> str:
    """As one line without markers and emphasis."""
    return one_line(MARKER.sub("", inert(text))).strip(' *_#"“”')


def _first_chunks(sources: Sequence[Finding]) -> tuple[ChunkId, ...]:
    """The first chunk of each source, then the second of each, and so on, as many as a finding names."""
    in_turn = zip_longest(*(source.chunk_ids for source in sources))
    ranked = dict.fromkeys(chunk_id for several in in_turn for chunk_id in several if chunk_id)
    return tuple(sorted(islice(ranked, MOST_CHUNKS)))


def _repeats(finding: Finding, findings: Sequence[Finding]) -> bool:
    """Small models go round in circles."""
    return any(content_words(finding.text) <= content_words(other.text) for other in findings)


def _rating(text: str) -> tuple[int, str]:
    """The number and the reason; no reason where there is no such number."""
    found = _RATING.fullmatch(text)
    return (int(found[1]), found[2][:MAX_TEXT_CHARS].rstrip(".")) if found and int(found[1]) <= MOST_RATING else (0, "")


class ReportWriter:
    """Asks the model for the reports that it should write. Where its text is of no use, the plain one stays, and it is not asked again."""

    def __init__(self, tools: Tools, reports: CommunityReports, settings: CommunitySettings) -> None:
        self._task = ModelTask(tools.generator, log, deadline_s=settings.model_deadline_s)
        self._reports = reports
        self._settings = settings

    @property
    def stale(self) -> int:
        """Reports that the model should write."""
        return self._reports.stale

    async def write(self, progress: Progress, *, most: int) -> Cost:
        """Write up to ``most`` reports, the lowest level first. Raises ModelError; what was written is kept."""
        drafts = await self._reports.unwritten(most) if most > 0 and self.stale else []
        return await each("write reports", drafts, self._write, progress, at_once=self._settings.idle_calls)

    async def _write(self, draft: ReportDraft) -> Cost:
        report, cost = await self._written(draft)
        await self._reports.keep(draft, report)
        return cost

    async def _written(self, draft: ReportDraft) -> tuple[Report, Cost]:
        if not any(line.findings for line in draft.lines):
            return draft.plain, Cost()
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        prompt = report_prompt(draft.lines, fence, report_tokens=self._settings.report_tokens, most=self._settings.report_findings)
        reply, cost = await self._task.ask(prompt, f"the model gave no report on {draft.plain.community_id}")
        parsed = parsed_report(lines_of(reply, prompt, fence), draft.lines, draft.plain, most=self._settings.report_findings)
        if reply and parsed.report is None:
            log.info("the model's report on %s cannot be used: %d lines of it are unread", draft.plain.community_id, parsed.unread_lines)
        return parsed.report or draft.plain, cost
