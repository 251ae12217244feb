"""What new sites share: asked once by ``dgrag up``, and shown of each site that it starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import typer
from rich.text import Text

from deploy.cli.board import err
from deploy.cli.sending import EdgeStatus
from edge_node.policy.shares import FIRST_QUESTIONS, MEANING, QUESTIONS
from edge_node.records import Share
from shared.text.plain import plain

DEFAULT: Share = "summary"


def share_of_new(sites: Sequence[str], *, quiet: bool) -> Share:
    """What sites that have no policy yet shall share: asked in a terminal, else ``summary``, which is said."""
    names = ", ".join(sites)
    if quiet or not (sys.stdin.isatty() and sys.stderr.isatty()):
        line = f"nobody was asked what may leave {names}: summaries only; --share full|evidence|summary|never says it at the first start"
        err().print(line, style="yellow", markup=False, soft_wrap=True)
        return DEFAULT
    question = f"What may leave {names}? This is about documents without a label, and can be changed at any time."
    err().print(question, markup=False, soft_wrap=True)
    for word, meaning in reversed(MEANING.items()):
        line = f"{meaning}; questions that a site cannot answer: {QUESTIONS[FIRST_QUESTIONS[word]]}"
        err().print(Text.assemble(f"  {word:<9}", (line, "dim")), soft_wrap=True)
    err().print("Summaries hold facts and names out of the documents.", style="dim")
    chosen: Share = typer.prompt("share", default=DEFAULT, value_proc=_word, err=True)
    return chosen


def _word(typed: str) -> str:
    """Raises BadParameter for another word than the four, upon which it is asked again."""
    if typed.strip() not in MEANING:
        raise typer.BadParameter(f"{typed!r} is none of {', '.join(MEANING)}")
    return typed.strip()


def share_lines(statuses: Sequence[EdgeStatus], asked: Share | None, *, in_containers: bool) -> Iterator[str]:
    """What each site shares, by the policy that is in force there; ``asked``: the word of the command, which an older policy outweighs.

    >>> policy = {"unlabelled": "summary", "questions": "ask"}
    >>> for line in share_lines([EdgeStatus("ward", policy=policy)], "full", in_containers=False): print(line)
    ward shares summary: facts in summaries, no passages; its questions: they leave once who asks has said yes
      it had a policy already; --share full is for new sites; to change it: `dgrag policy share full --edge ward`, or Sharing at its console
    """
    for status in statuses:
        if (share := status.policy.get("unlabelled")) not in MEANING:
            continue  # of a release that does not tell
        questions = QUESTIONS[status.policy["questions"]]
        yield plain(f"{status.edge} shares {share}: {MEANING[share]}; its questions: {questions}")
        if asked == share:
            continue
        why = f"it had a policy already; --share {asked} is for new sites; " if asked else ""
        command = "" if in_containers else f"`dgrag policy share {asked or 'WORD'} --edge {status.edge}`, or "
        yield f"  {why}to change it: {command}Sharing at its console"
