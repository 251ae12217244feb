"""Sites that gave no answer, and why, in words for who asked. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shared.plural import counted
from shared.records import BUSY, DENIED, SOME_SUMMARIES_ONLY, SUMMARIES_ONLY, EdgeReport


def missing_reason(reports: Sequence[EdgeReport]) -> str:
    """Who gave no answer, in short; empty when all did.

    >>> from shared.records import EdgeId
    >>> missing_reason([EdgeReport(EdgeId("a"), "evidence", "answered", 1, 9, 2), EdgeReport(EdgeId("b"), "evidence", "late", 9, 0, 0)])
    '1 of 2 sites gave no answer: b (late)'
    """
    missing = [f"{report.edge} ({report.status})" for report in reports if report.status != "answered"]
    return f"{len(missing)} of {counted(len(reports), 'site')} gave no answer: {', '.join(missing)}" if missing else ""


def passages_of(edge: str, reports: Sequence[EdgeReport]) -> int:
    """How many passages, or points, a site sent for a question."""
    return sum(report.evidence for report in reports if report.edge == edge)


def why_missing(report: EdgeReport) -> str:
    """Why a site gave no answer; empty where it gave one.

    >>> from shared.records import EdgeId
    >>> why_missing(EdgeReport(EdgeId("b"), "evidence", "refused", 9, 0, 0, "the sharing policy of this site: the limit of the day"))
    'its sharing policy forbids it: the limit of the day'
    >>> why_missing(EdgeReport(EdgeId("b"), "evidence", "late", 9, 0, 0))
    'it did not answer in time'
    """
    said = report.reason
    match report.status:
        case "answered":
            return ""
        case "late":
            return "it has too much to do now" if said == BUSY else "it did not answer in time"
        case "refused":
            return f"its sharing policy forbids it{said.removeprefix(DENIED)}" if said.startswith(DENIED) else f"it refuses: {said}"
        case "failed":
            return "something went wrong there"
        case "offline":
            return "it is not connected now"
        case "skipped":
            return f"it was not asked: {said}" if said else "it was not asked"


def missing_sentence(reports: Sequence[EdgeReport]) -> str:
    """All sites that gave no answer, each with why; empty when all did.

    >>> from shared.records import EdgeId
    >>> missing_sentence([EdgeReport(EdgeId("b"), "evidence", "offline", 0, 0, 0)])
    '1 of 1 site gave no answer: b (it is not connected now).'
    """
    missing = [f"{report.edge} ({why_missing(report)})" for report in reports if report.status != "answered"]
    return f"{len(missing)} of {counted(len(reports), 'site')} gave no answer: {', '.join(missing)}." if missing else ""


def summaries_reason(reports: Sequence[EdgeReport]) -> str:
    """Of the sites that share summaries where a question needs passages: which, and what changes that; empty where there is none.

    The words are ours: a site can only say which of two facts holds.

    >>> from shared.records import EdgeId
    >>> summaries_reason([EdgeReport(EdgeId("b"), "evidence", "refused", 9, 0, 0, SUMMARIES_ONLY)])
    'no passages, only summaries, are shared by b: there, `dgrag policy share full --edge b` changes it'
    """
    whole = [report.edge for report in reports if report.reason == SUMMARIES_ONLY]
    partly = [f"{report.edge} (of some documents)" for report in reports if report.reason == SOME_SUMMARIES_ONLY]
    sites = [report.edge for report in reports if report.reason in (SUMMARIES_ONLY, SOME_SUMMARIES_ONLY)]
    if not sites:
        return ""
    name = sites[0] if len(sites) == 1 else "NAME"
    return (
        f"no passages, only summaries, are shared by {', '.join(whole + partly)}: there, `dgrag policy share full --edge {name}` changes it"
    )
