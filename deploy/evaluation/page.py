"""The page of an evaluation: one HTML file that needs nothing from elsewhere, without scripts, and all text in it is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined

from deploy.evaluation.figures import Change, Figures, by_site, figures, interval, percent
from deploy.evaluation.verdicts import Verdict

SHARES = ("hit", "answered", "supported", "correct", "claims")
TOTAL = "total"
MEANING = {  # of the columns, for the page's readers
    "hit": "questions of which each named site gave a passage, or cited passages hold each claim of the expected answer",
    "answered": "questions that the service says it has answered",
    "supported": "sentences of its answers that cite what says them; those that the service left out for want of it count as not supported",
    "correct": "questions of which the answer tells each claim, or, where no document holds an answer, says so",
    "claims": "claims of the expected answers that the answers tell: with all their names and figures, and most of their other words",
}


def page(verdicts: Sequence[Verdict], asked: Mapping[str, Any], changed: Sequence[Change] | None) -> str:
    """The page. ``asked``: where and how it was asked; ``changed``: since another run, None where none was given."""
    loader = PrefixLoader({"own": PackageLoader("deploy.evaluation"), "console": PackageLoader("shared.http.console", "static")})
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    pages.filters |= {"percent": percent, "interval": interval}
    rows = table_rows(verdicts)
    return pages.get_template("own/page.html").render(
        verdicts=verdicts, rows=rows, shares=SHARES, meaning=MEANING, asked=asked, changed=changed
    )


def table_rows(verdicts: Sequence[Verdict]) -> list[tuple[str, Figures]]:
    """Each site with its figures, and last those of all."""
    return [*by_site(verdicts).items(), (TOTAL, figures(verdicts))]
