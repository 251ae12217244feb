"""Reports by a language model: a few at a time, each committed by itself (GraphRAG §2.5)."""

from __future__ import annotations

import logging
import secrets

from edge_node.graph.report_prompts import parsed_report, report_prompt
from edge_node.graph.reports import Report
from edge_node.knowledge.keeper import Keeper
from edge_node.knowledge.refine import Unkept
from edge_node.knowledge.writing import ReportDraft
from edge_node.strategies.base import Cost, Progress, Tools
from shared.errors import ModelReplyError
from shared.fence import FENCE_BYTES, Fence
from shared.ports import Prompt, Reply

log = logging.getLogger("dgrag.edge.reporting")


class Reporter:
    """Asks the model for the reports that it should write. Where its text is of no use, the plain one stays, and it is not asked again."""

    def __init__(self, tools: Tools, keeper: Keeper, *, report_tokens: int, most_findings: int, deadline_s: float) -> None:
        """``deadline_s``: of one call."""
        self._model = Unkept(tools.generator)
        self._keeper = keeper
        self._report_tokens = report_tokens
        self._most_findings = most_findings
        self._deadline_s = deadline_s

    @property
    def stale(self) -> int:
        """Reports that the model should write."""
        return self._keeper.stale

    async def write(self, progress: Progress, *, most: int) -> Cost:
        """Write up to ``most`` reports, the lowest level first. Raises ModelError; what was written is kept."""
        cost = Cost()
        drafts = await self._keeper.unwritten(most) if most > 0 and self.stale else []
        for done, draft in enumerate(drafts):
            progress("write reports", done, len(drafts))
            report, spent = await self._written(draft)
            await self._keeper.keep(draft, report)
            cost += spent
        return cost

    async def _written(self, draft: ReportDraft) -> tuple[Report, Cost]:
        if not any(line.findings for line in draft.lines):
            return draft.plain, Cost()
        fence = Fence(secrets.token_hex(FENCE_BYTES))
        prompt = report_prompt(draft.lines, fence, report_tokens=self._report_tokens, most=self._most_findings)
        try:
            reply = await self._model.generate(prompt, deadline_s=self._deadline_s)
        except ModelReplyError as error:  # of this report only
            log.warning("the model gave no report on %s: %s", draft.plain.community_id, error.code)
            return draft.plain, Cost(calls=1)
        parsed = parsed_report(said_by(reply, prompt, fence), draft.lines, draft.plain, most=self._most_findings)
        if parsed.report is None:
            log.info("the model's report on %s cannot be used: %d lines of it are unread", draft.plain.community_id, parsed.unread_lines)
        return parsed.report or draft.plain, Cost(1, reply.tokens_in, reply.tokens_out)


def said_by(reply: Reply, prompt: Prompt, fence: Fence) -> str:
    """The reply's whole lines; "" where it says nothing, or gives the prompt away."""
    text = reply.texts[0] if reply.texts else ""
    if fence.is_given_away(text, prompt.messages):
        return ""
    return text.rpartition("\n")[0] if any(reply.truncated) else text
