"""``dgrag policy``: what may leave a site, and what would leave it now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import orjson
import typer

from deploy.cli import policy_text
from deploy.cli.board import err, out, waiting
from deploy.cli.rest import DEFAULT_STATE, Json, Store, StoreOf, store_of
from edge_node.build import Adapters
from edge_node.egress.dry_run import Shown, spending
from edge_node.egress.policy_editor import FOLDER, PolicyEditor
from edge_node.egress.policy_file import NAME, PolicyFile
from edge_node.node import EdgeNode
from edge_node.policy.choices import shared, written
from edge_node.policy.rules import EscalationMode, doubts, first_policy, parse
from edge_node.policy.shares import MEANING, QUESTIONS
from edge_node.records import Share
from edge_node.settings import EdgeSettings
from edge_node.trial import shown_evidence, trial, trial_sync
from shared.errors import Conflict, InputError
from shared.limits import RetryBudget
from shared.models.build import build_embedder, build_former, build_generator, build_tokenizer, made_by, model_http
from shared.models.settings import ModelSettings
from shared.ports import SystemClock
from shared.wire import EVIDENCE_BUDGET_TOKENS, POINTS_MAX_BYTES, SharedLevel, Task

WHO = "dgrag policy share"  # in the history of the policy
app = typer.Typer()
File = Annotated[Path, typer.Argument(metavar="FILE", help="A policy.")]


@app.command()
def init(
    edge: StoreOf = None,
    state: Store = DEFAULT_STATE,
    share: Annotated[Share, typer.Option(help="What may leave of documents without a label.")] = "summary",
) -> None:
    """Write a policy with comments on all that it can say, where there is none."""
    target = store_of(state, edge) / NAME
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(first_policy(share))
    except FileExistsError as error:
        raise Conflict(f"{target} is there already", next_step="edit it") from error
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", next_step="check the folder") from error
    out().print(f"{target} is written; an edge obeys it at once", markup=False)


@app.command()
def check(file: File) -> None:
    """Say whether a policy can be read, and how the ledger names it; exit code 1 if it cannot, and an edge would share nothing."""
    policy = parse(_read(file))
    out().print(f"{file} can be read; status and ledger name it policy {policy.key}", markup=False)
    for doubt in doubts(policy):
        err().print(f"warning: {doubt}", markup=False)


@app.command()
def show(edge: StoreOf = None, state: Store = DEFAULT_STATE, as_json: Json = False) -> None:
    """Say what the policy of an edge lets go."""
    policy = parse(_read(store_of(state, edge) / NAME))
    if as_json:
        typer.echo(orjson.dumps({"key": policy.key, **policy.model_dump()}).decode())
    else:
        out().print(policy_text.policy(policy))


@app.command("share")
def share_documents(
    share: Annotated[Share, typer.Argument(metavar="WORD", help="What may leave of them: never, summary, evidence or full.")],
    edge: StoreOf = None,
    state: Store = DEFAULT_STATE,
    label: Annotated[str, typer.Option(help="Of documents with this label; without it, of those that have none.")] = "",
    questions: Annotated[EscalationMode | None, typer.Option(help="May questions leave, too; without it that stays as it is.")] = None,
    as_json: Json = False,
) -> None:
    """Change how much of an edge's documents may leave its site; the edge obeys at once, and the former policy is kept."""
    folder, clock = store_of(state, edge), SystemClock()
    _read(folder / NAME)
    editor = PolicyEditor(PolicyFile(folder / NAME, clock), folder / FOLDER, clock, named=False)
    text = editor.present()
    before = parse(text.text)
    editor.replace(written(text.text, shared(before, share, label, questions)), base=text.hash, who=WHO)
    now = parse(editor.present().text)
    if as_json:
        typer.echo(orjson.dumps({"key": now.key, "unlabelled": now.unlabelled, "labels": now.labels, "questions": now.questions}).decode())
        return
    subject = f"documents with the label {label}" if label else "documents without a label"
    former = before.labels.get(label, "never") if label else before.unlabelled
    out().print(f"{subject}: {share} (before: {former}): {MEANING[share]}", markup=False)
    other = "" if questions else "; --questions yes, ask or no changes that"
    out().print(f"questions: {QUESTIONS[now.questions]}{other}", markup=False)
    if any(item.share != share for item in now.exceptions):
        out().print("exceptions stay, and decide first: `dgrag policy show` lists them", markup=False)


@app.command()
def epsilon(edge: StoreOf = None, state: Store = DEFAULT_STATE, as_json: Json = False) -> None:
    """Say what hints tell of each name: what was drawn for it, once and for ever, and the sum over the names of each memory.

    The true names are shown, so this is for the site alone. Names that the next sync would draw are counted as drawn.
    """
    with waiting("working on a copy of the store"):
        spent = spending(store_of(state, edge))
    if as_json:
        typer.echo(orjson.dumps({**asdict(spent), "rules": spent.rules.model_dump()}).decode())
    else:
        out().print(policy_text.spent(spent))


@app.command("try")
def try_policy(
    edge: StoreOf = None,
    state: Store = DEFAULT_STATE,
    question: Annotated[str, typer.Option(help="A question that comes from elsewhere.")] = "",
    requester: Annotated[str, typer.Option(metavar="EDGE", help="Who asks it: an edge, or operator:NAME.")] = "",
    purpose: Annotated[str, typer.Option(help="What for, as treatment.")] = "",
    file: Annotated[Path | None, typer.Option("--policy", metavar="FILE", help="A policy that is not in force yet.")] = None,
    budget: Annotated[int, typer.Option(min=1, max=100_000, help="Tokens that the cloud asks for.")] = EVIDENCE_BUDGET_TOKENS,
    task: Annotated[Task, typer.Option(help="evidence: passages; reports: points for an answer about everything.")] = "evidence",
    level: Annotated[SharedLevel, typer.Option(help="Of the reports that points are made of.")] = "dynamic",
    max_bytes: Annotated[int, typer.Option(min=1_000, max=250_000, help="Of a reply with points.")] = POINTS_MAX_BYTES,
    as_json: Annotated[bool, typer.Option("--json", help="The exact bodies: one JSON a line, with size and SHA-256.")] = False,
) -> None:
    """Show what the next sync would bring to the cloud, and the answer to a question.

    Works on a copy of the store, also while its edge runs, and opens no connection; only --task reports has the language model of this
    shell's settings (DGRAG_MODEL_*) word the points, which the edge's own model may word otherwise. A policy that cannot be read is shown
    as it acts once it has been so for ten seconds.
    """
    if file is not None:
        parse(_read(file))
    folder = store_of(state, edge)
    settings = EdgeSettings(state_dir=folder) if file is None else EdgeSettings(state_dir=folder, policy_file=file)

    async def asked(node: EdgeNode) -> Shown:
        bounds = {"budget_tokens": budget, "max_bytes": max_bytes}
        return await shown_evidence(node, question, requester, purpose or None, task=task, level=level, **bounds)

    with waiting("working on a copy of the store"):
        bodies = asyncio.run(_tried(settings, asked if question else None))
    if as_json:
        for body in bodies:
            typer.echo(orjson.dumps(asdict(body)).decode())
    else:
        out().print(policy_text.shown(bodies))


async def _tried(settings: EdgeSettings, asked: Callable[[EdgeNode], Awaitable[Shown]] | None) -> list[Shown]:
    models, retries = ModelSettings(), RetryBudget()
    async with model_http(models) as http:
        generator, embedder = build_generator(models, http, retries), build_embedder(models)
        parts = Adapters(
            generator,
            embedder,
            build_tokenizer(models),
            None,
            retries=retries,
            former=partial(build_former, models),  # the store's own model answers, whichever this shell names
            made_by=made_by(models, embedder),
        )
        async with trial(settings, parts) as node:
            evidence = [await asked(node)] if asked else []
            return [*await asyncio.to_thread(trial_sync, node), *evidence]


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError(f"there is no file {file}", next_step="write a policy with `dgrag policy init --edge ID`") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {type(error).__name__}", next_step="give a text file") from error
