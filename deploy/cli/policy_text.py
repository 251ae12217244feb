"""A sharing policy, and what would leave under it, as text for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from deploy.cli.render import heading, table
from edge_node.egress.dry_run import HintBudget, Shown
from edge_node.policy.rules import Policy
from edge_node.policy.shares import MEANING
from edge_node.policy.words import general, listed, remembered, told_rule
from shared.plural import counted
from shared.text.marks import MARK_BYTES
from shared.text.plain import one_line, plain
from shared.wire import DeltaBody, EvidenceReply, MemoryDelta

INDENT = (0, 0, 0, 2)


def policy(read: Policy) -> RenderableType:
    """What a policy lets go, by document, requester and form."""
    documents = [("without a label", read.unlabelled), *((f"label {label}", share) for label, share in read.labels.items())]
    rows = [(name, share, MEANING[share]) for name, share in documents]
    parts = [table(("documents", "share", "so"), [*rows, ("any other label", "never", MEANING["never"])])]
    if read.exceptions:
        columns = ("exception", "labels", "edges", "purposes", "evidence")
        cells = [
            (str(number), *(listed(words, "any") for words in (item.labels, item.edges, item.purposes)), item.share)
            for number, item in enumerate(read.exceptions, start=1)
        ]
        parts.append(table(columns, cells))
    parts.append(table(("all that leaves", ""), general(read)))
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts[:-1]), parts[-1])


def shown(bodies: Sequence[Shown]) -> RenderableType:
    """Each body with its size and its hash, and what is in it."""
    syncs = [body for body in bodies if body.kind == "summaries"]
    parts: list[RenderableType] = []
    for number, body in enumerate(syncs, start=1):
        delta = DeltaBody.model_validate_json(body.body)
        parts += [heading(f"Next sync, body {number} of {len(syncs)}"), _size(body), *_summaries(delta), Text()]
    if not syncs:
        parts += [heading("Next sync"), Text("nothing: the cloud knows all that it may know"), Text()]
    for body in bodies:
        if body.kind == "memories":
            parts += [heading("Next sync of memories"), _size(body), *_memories(MemoryDelta.model_validate_json(body.body)), Text()]
    for body in bodies:
        if body.kind not in ("summaries", "memories"):
            parts += [
                heading("Answer to the question"),
                _size(body),
                *_answer(EvidenceReply.model_validate_json(body.body)),
                *_held(body),
                Text(),
            ]
    return Group(*parts, Text("The exact bodies: --json", style="dim"))


def _size(body: Shown) -> Text:
    return Text(f"{counted(body.bytes, 'byte')}, SHA-256 {body.sha256[:16]}…", style="dim")


def _summaries(delta: DeltaBody) -> Iterator[RenderableType]:
    for item in delta.upserts:
        yield Text(
            f"summary {item.summary_id}: {counted(item.entities, 'entity', 'entities')}, {counted(item.relations, 'relation')}",
            style="bold",
        )
        yield Padding(Text(plain(item.text)), INDENT)
        if titles := len(item.to_record().titles) // MARK_BYTES:
            yield Padding(Text(f"and {counted(titles, 'mark')} of documents' titles, where the cloud reads them"), INDENT)
    if delta.removals:
        yield Text(f"{counted(len(delta.removals), 'summary', 'summaries')} withdrawn", style="bold")


def _memories(delta: MemoryDelta) -> Iterator[RenderableType]:
    for item in sorted(delta.upserts, key=lambda item: not item.direct):
        answer = f" {one_line(item.answer)}" if item.answer else ""
        yield Text(("answer: " if item.direct else "hint, not true by design: ") + one_line(item.question) + answer)
    if delta.removals:
        yield Text(f"{counted(len(delta.removals), 'memory', 'memories')} withdrawn", style="bold")


def spent(found: HintBudget) -> RenderableType:
    """What hints tell of names."""
    names = [(one_line(one.name) or "(in no document any more)", one.kind, one.surrogate, f"{one.epsilon:g}") for one in found.names]
    hints = [(one_line(one.question), one_line(one.told), f"{one.epsilon:g}") for one in found.hints]
    parts: list[RenderableType] = [table(("name", "kind", "told as", "epsilon"), names), Text()]
    parts += [table(("memory", "told as", "sum of epsilon"), hints), Text()]
    stay = listed([f"{count:,} ({why})" for why, count in sorted(found.stayed.items())], "none")
    return Group(*parts, Text(f"Memories that stay here: {stay}"), Text(f"Memories {remembered(found.rules)}"))


def _held(body: Shown) -> Iterator[RenderableType]:
    """Whether it is the policy that keeps something near to the question, or nothing is near."""
    if body.near == 0:
        yield Text("No passage here is near to the question, so the policy holds none back.")
    elif body.near and not body.held:
        yield Text(f"Of the {counted(body.near, 'passage')} nearest to the question the policy holds back none.")
    for one in body.held:
        documents = one_line(", ".join(one.documents))
        yield Text(
            f"held back by the policy: {counted(one.passages, 'passage')} of those nearest to the question, of {documents}; "
            f"the rule: {told_rule(one.rule)}",
            style="yellow",
        )


def _answer(reply: EvidenceReply) -> Iterator[RenderableType]:
    if reply.refused:
        yield Text(f"refused: {reply.refused}")
    elif not reply.evidence:
        yield Text("no point was found" if reply.reports_there else "no passage was found")
    for number, item in enumerate(reply.evidence, start=1):
        quoted = "may be quoted" if item.quotable else "not to be quoted"
        yield Text(f"passage {number} of {one_line(item.document)}, {quoted}", style="bold")
        yield Padding(Text(plain(item.text)), INDENT)
        if item.point:
            yield Padding(Text(f"a model's words for it: {one_line(item.point)}"), INDENT)
        if item.report:
            more = f", further passages: {len(item.chunk_ids)}" if item.chunk_ids else ""
            yield Padding(Text(f"told in report {item.report}{more}", style="dim"), INDENT)
    if reply.reports_there:
        yield Text(f"{reply.reports} of {counted(reply.reports_there, 'report')} read", style="bold")
