"""Answers and tables as text for people. Pure: records in, something that rich prints out.

Everything that came over the wire goes through ``plain`` and into Text objects: an answer may hold rich markup or terminal escapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from deploy.cli.sending import EdgeStatus, Refused, SentDocument
from shared.models.catalogue import cosines_of
from shared.plural import counted, duration
from shared.records import Answer, Citation, EdgeReport, GateReport, MemoryReport, TraceStep, located
from shared.text.plain import one_line, plain

TOTAL = "total"
ENGLISH_OR_NONE = frozenset({"en", "zxx"})  # English, and codes or formulas
DEFAULT_STRATEGY = "dgrag"
LEAVES = {  # what a policy's word means for who has added a document
    "never": "nothing leaves this site",
    "summary": "facts may leave this site in summaries, passages may not",
    "evidence": "passages may leave this site for the cloud's model to read, and are quoted nowhere",
    "full": "passages may leave this site, and be quoted in answers elsewhere",
}
CHANGE_SHARING = "to change it: labels (--labels), and the edge's policy (`dgrag policy show`, or Sharing at its console)"
NOT_CERTAIN = "not certain: read the source"
COPIED = frozenset({"id", "job", "receipt"})  # columns that are copied into another command: never folded


def answer(reply: Answer) -> RenderableType:
    """The answer, where it comes from, and what it cost."""
    parts: list[RenderableType] = [*warnings(reply), Text(plain(reply.answer)), Text()]
    for title, cited in (("Sources", reply.citations), ("Closest passages", reply.closest)):
        if cited:
            parts += [heading(title), *(citation(item) for item in cited), Text()]
    parts += [heading("How"), route(reply)]
    if reply.memory and not reply.memory.why_not:
        parts.append(remembered(reply.memory))
    if reply.own_passages:
        parts.append(Text(f"{counted(reply.own_passages, 'passage')} of this site went with the question"))
    if reply.coverage:
        parts.append(Text(one_line(reply.coverage)))
    if reply.would_ask:
        parts.append(Text(f"not asked elsewhere yet; --escalate yes would send: {one_line(reply.would_ask)}"))
    if reply.gate:
        parts += [line for line in gate(reply.gate, reply) if line.plain]
    if reply.edges:
        parts += [Text(), heading("Asked"), edges(reply.edges)]
    if reply.trace:
        parts += [Text(), heading("Cost"), trace(reply.trace)]
    return Group(*parts)


def warnings(reply: Answer) -> list[RenderableType]:
    """What stands above an answer: whoever reads no further must not take it for what it could have been."""
    lines = [NOT_CERTAIN] if reply.answered and not reply.certain else []
    lines += [f"no answer was found to: {one_line(part)}" for part in reply.unanswered]
    if reply.degraded and reply.reason:
        lines.insert(0, f"degraded – {one_line(reply.reason)}")
    return [part for line in lines for part in (Text(line, style="yellow"), Text())]


def heading(title: str) -> RenderableType:
    """A line that begins a part."""
    return Rule(Text(title, style="bold"), align="left", style="dim", characters="─")


def citation(item: Citation) -> RenderableType:
    """Number, edge, document, of a global answer the report's id, score, and the passage's own words."""
    places = "".join(
        f" · {one_line(place)}" for place in (located(item.document, item.place), item.report and f"report {item.report}") if place
    )
    score = f"  {item.score:.2f}" if item.score else ""  # 0: nothing has compared it with the question
    head = Text.assemble((f"[{item.n}] ", "bold cyan"), (one_line(item.edge), "bold"), places, (score, "dim"))
    quote = Text(f"“{one_line(item.quote)}”", style="italic") if item.quote else Text("its words stay at the site; ask there", style="dim")
    return Group(head, Padding(quote, (0, 0, 0, 4)))


def route(reply: Answer) -> Text:
    """Who answered, with the flags that an honest answer carries."""
    line = Text.assemble("route: ", (reply.route, "bold green" if reply.answered else "bold yellow"))
    said = {
        "partial": reply.partial,
        "degraded": reply.degraded,
        "not certain": reply.answered and not reply.certain,
        "not answered": not reply.answered,
    }
    flags = [flag for flag, is_set in said.items() if is_set]
    if flags:
        line.append(f" ({', '.join(flags)})", style="yellow")
    if reply.reason:
        line.append(f" – {one_line(reply.reason)}")
    return line


def remembered(report: MemoryReport) -> Text:
    """Which question was answered before, and how near it is: no model has read the one that is asked now."""
    kind = {"template": "a fact", "model": "a model's note", "learned": "an answer given before"}.get(report.kind, report.kind)
    return Text(
        f"remembered: {one_line(report.question)} – of {one_line(kind)}, score {report.score:.2f} (threshold {report.threshold:.2f}; "
        f"cosine {report.cosine:.2f}, shared words {report.dice:.2f})"
    )


def memory_line(status: EdgeStatus) -> str:
    """What an edge remembers, and how often that answered; empty where it remembers nothing.

    >>> memory_line(EdgeStatus("ward", memory={"template": 1200, "learned": 3, "looked": 40, "answered": 9}))
    'remembers 1,203 questions (1,200 template, 3 learned); 9 of 40 that were asked since its start were among them'
    """
    kinds = {kind: status.memory.get(kind, 0) for kind in ("template", "model", "learned")}
    if not any(kinds.values()):
        return ""
    told = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items() if number)
    line = f"remembers {counted(sum(kinds.values()), 'question')} ({told})"
    if looked := status.memory.get("looked", 0):
        line += f"; {status.memory.get('answered', 0):,} of {looked:,} that were asked since its start were among them"
    return line


def languages_line(status: EdgeStatus) -> str:
    """In which languages an edge's passages are, and which pack reads them, with what to do where none does; empty where nobody has read.

    >>> german = {"language": "de", "pack": "HanTa 1.2.1 r2", "passages": 1200, "next_step": "", "typed": {"person": 0.965}}
    >>> turkish = {"language": "tr", "pack": "", "passages": 1, "next_step": "no pack knows this language"}
    >>> languages_line(EdgeStatus("ward", languages=[german, turkish]))
    'reads 1,200 passages in de (HanTa 1.2.1 r2, finds 96% of planted persons), 1 passage in tr (nobody: no pack knows this language)'
    """
    return "reads " + ", ".join(map(language, status.languages)) if status.languages else ""


def ocr_line(status: EdgeStatus) -> str:
    """In which languages an edge recognises text in images, and in which it should and cannot; empty where there is none.

    >>> ocr_line(EdgeStatus("ward", ocr={"languages": ["eng", "deu"], "missing": ["fra"]}))
    "recognises text in images in eng, deu; Tesseract's data of fra is missing"
    """
    used, missing = (", ".join(status.ocr.get(part, ())) for part in ("languages", "missing"))
    lines = (used and f"recognises text in images in {used}", missing and f"Tesseract's data of {missing} is missing")
    return "; ".join(filter(None, lines))


def readers_line(status: EdgeStatus) -> str:
    """Which kinds of documents an edge cannot read now, and how many wait for that; empty where it reads all.

    >>> readers_line(EdgeStatus("ward", readers={"faults": ["PDF files cannot be read here now"], "waiting": 3}))
    "PDF files cannot be read here now: see the edge's log; 3 documents wait and are tried again by themselves"
    """
    faults, waiting = ", ".join(status.readers.get("faults", ())), status.readers.get("waiting", 0)
    stuck = f"{counted(waiting, 'document')} wait and are tried again by themselves" if waiting else ""
    return "; ".join(filter(None, [faults and f"{faults}: see the edge's log", stuck]))


def documents_line(status: EdgeStatus) -> str:
    """How many documents are not read as well as they could be; empty where all are.

    >>> documents_line(EdgeStatus("ward", outdated=3, shortfalls={"boxes_unread": 1}))
    'newer parsers would read 3 documents anew: `dgrag edge reread`; not all was read: boxes_unread of 1 document (`dgrag documents`)'
    """
    outdated = f"newer parsers would read {counted(status.outdated, 'document')} anew: `dgrag edge reread`" if status.outdated else ""
    codes = [f"{code} of {counted(number, 'document')}" for code, number in status.shortfalls.items()]
    short = f"not all was read: {', '.join(codes)} (`dgrag documents`)" if codes else ""
    return "; ".join(filter(None, [outdated, short]))


def folder_lines(status: EdgeStatus) -> list[str]:
    """Each folder with which an edge is not in step as a whole, as one that is missing, and what to do; none where all are.

    >>> gone = {"folder": "/data/notes", "error": "the folder cannot be read – see that it is there"}
    >>> for line in folder_lines(EdgeStatus("ward", folders=[gone, {"folder": "/data/reports", "error": ""}])): print(line)
    ward: not in step with /data/notes: the folder cannot be read – see that it is there, or take it out of DGRAG_EDGE_FOLDERS
    """
    told = [one for one in status.folders if one["error"]]
    step = "or take it out of DGRAG_EDGE_FOLDERS"
    return [one_line(f"{status.edge}: not in step with {one['folder']}: {one['error']}, {step}") for one in told]


def embedder_line(status: EdgeStatus) -> str:
    """That the embedding model knows English alone, where passages are in other languages too, and what to do; else empty.

    >>> german, embedding = {"language": "de", "passages": 1200}, {"model": "all-MiniLM-L6-v2-int8/384/00"}
    >>> embedder_line(EdgeStatus("ward", languages=[german], embedding=embedding)).split(";")[0]
    'its embedding model knows English alone and finds what is in de by its words'
    """
    known = cosines_of(status.embedding.get("model", ""))
    others = [told["language"] for told in status.languages if told["language"] not in ENGLISH_OR_NONE]
    if not others or known is None or not known.english_only:
        return ""
    told = ", ".join(dict.fromkeys(others))
    return one_line(
        f"its embedding model knows English alone and finds what is in {told} by its words; `dgrag model fetch use-multilingual` and "
        "DGRAG_MODEL_EMBEDDER=use-multilingual, for all sites and the cloud, find it by its meaning too"
    )


def language(told: Mapping[str, Any]) -> str:
    """How many passages of a language, and who reads them."""
    found = told.get("typed", {}).get("person")
    pack = told["pack"] + (f", finds {found:.0%} of planted persons" if found is not None else "")
    reader = pack if told["pack"] else f"nobody: {told['next_step']}"
    return one_line(f"{counted(told['passages'], 'passage')} in {told['language']} ({reader})")


def calibration_line(status: EdgeStatus) -> str:
    """Which thresholds an edge has from its own documents, or why it does not use them; empty where it was not calibrated.

    >>> set_ = {"in_use": True, "why": "", "thresholds": {"min_sufficiency": 0.31}, "generator": "small"}
    >>> calibration_line(EdgeStatus("ward", calibration=set_))
    'calibrated for small: min_sufficiency 0.31'
    """
    told = status.calibration
    if not told.get("thresholds"):
        return ""
    said = f"calibrated for {told['generator']}: {', '.join(f'{name} {value:g}' for name, value in told['thresholds'].items())}"
    return one_line(said if told["in_use"] else f"{said}, and not used: {told['why'] or 'the model was not asked yet'}")


def model_line(status: EdgeStatus) -> str:
    """What the language model's server lacks, and what that costs; empty where it lacks nothing.

    >>> shortfalls = [{"lacks": "seed", "costs": "answers differ"}]
    >>> model_line(EdgeStatus("ward", model={"name": "m", "shortfalls": shortfalls}))
    'the server of its model m is without seed (answers differ)'
    """
    lacks = [f"{shortfall['lacks']} ({shortfall['costs']})" for shortfall in status.model.get("shortfalls", ())]
    return one_line(f"the server of its model {status.model['name']} is without {'; '.join(lacks)}") if lacks else ""


def kept_back(status: EdgeStatus) -> list[str]:
    """How much the sharing policy keeps at a site, each rule that does, and the line to write into the policy; nothing where all may leave.

    >>> hold = {"rule": 'label "law", not named', "documents": 1, "passages": 0}
    >>> hold |= {"line": '"law" = "full"', "advice": "under [labels]"}
    >>> kept = {"summaries": 80, "all_summaries": 80, "documents": 1, "all_documents": 2, "holds": [hold]}
    >>> for line in kept_back(EdgeStatus("ward", policy={"kept_back": kept})): print(line)
    ward: its sharing policy lets 0 of 80 summaries and 1 of 2 documents leave
      label "law", not named, holds 1 of them; to let them leave, add to its policy.toml, under [labels]: "law" = "full"
      to let only one of them leave, give it a label that may: dgrag add FILE --edge ward --labels LABEL
    """
    kept = status.policy.get("kept_back") or {}
    if not kept.get("holds"):
        return []
    summaries = _leaving(kept["summaries"], kept["all_summaries"], "summary", "summaries")
    documents = _leaving(kept["documents"], kept["all_documents"], "document", "documents")
    parked = f"; {kept['parked']:,} more parked" if kept.get("parked") else ""
    lines = [f"{status.edge}: its sharing policy lets {summaries} and {documents} leave{parked}"]
    for hold in kept["holds"]:
        held = counted(hold["passages"], "passage") if hold["passages"] else f"{hold['documents']:,} of them"
        if told := hold.get("summaries"):
            held = f"up to {counted(told, 'summary', 'summaries')}"
        advice = f"to let them leave, add to its policy.toml, {hold['advice']}: {hold['line']}" if hold["line"] else hold["advice"]
        lines.append(one_line(f"  {hold['rule']}, holds {held}; {advice}"))
    if any(hold["line"] for hold in kept["holds"]):
        lines.append(f"  to let only one of them leave, give it a label that may: dgrag add FILE --edge {status.edge} --labels LABEL")
    return lines


def _leaving(kept: int, of: int, thing: str, things: str) -> str:
    return f"{of - kept:,} of {counted(of, thing, things)}"


def withheld_line(edge: Mapping[str, Any]) -> str:
    """Of a row of the cloud's list of sites: what the site's own policy keeps there; empty where all may leave.

    >>> withheld_line({"edge": "ward", "summaries": 2, "withheld": 80})
    'ward: its sharing policy lets 2 of 82 summaries leave; `dgrag status` at that site says which rule, and the line to add'
    """
    withheld, told = edge.get("withheld", 0), edge["summaries"]
    said = f"{one_line(str(edge['edge']))}: its sharing policy lets {_leaving(withheld, told + withheld, 'summary', 'summaries')} leave"
    return f"{said}; `dgrag status` at that site says which rule, and the line to add" if withheld else ""


def gate(report: GateReport, reply: Answer) -> list[Text]:
    """Each step of the gate with its score and its threshold (DGRAG §III-C ⑤); what the answer has said already is not repeated."""
    stayed = "would " if report.decision == "escalate" and reply.route == "local" else ""
    why = "" if report.reason in reply.reason else f" – {one_line(report.reason)}"
    lines = [Text(f"gate: {stayed}{report.decision}{why}")]
    if found := report.confidence:
        line = f"  confidence: nearest passage {found.nearness:.2f} (threshold {found.min_nearness:.2f})"
        if found.unknown:
            line += f", {found.unknown:.0%} of the question's words unknown here (threshold {found.max_unknown:.0%})"
        if found.samples:
            line += f", {found.refusals} of {counted(found.samples, 'sample')} lack information"
        if found.sufficiency is not None:
            line += f", P(passages suffice) {found.sufficiency:.2f} (threshold {found.threshold:.2f})"
        lines.append(Text(line))
    if alike := report.similarity:
        claims = "not asked" if alike.semantic is None else f"{alike.semantic:.2f}"
        parts = f"cosine {alike.cosine:.2f}, Jaccard {alike.jaccard:.2f}, claims {claims}"
        lines.append(Text(f"  similarity: {alike.mean:.2f} (threshold {alike.threshold:.2f}; {parts})"))
    return lines


def edges(reports: Sequence[EdgeReport]) -> Table:
    """What each edge was asked for, and how it answered."""
    overview = any(report.asked_for == "reports" for report in reports)
    table = _table("edge", "status", *([">reports", ">points"] if overview else [">passages"]), ">bytes", ">ms", "why")
    for report in reports:
        read = [f"{report.reports:,} of {report.reports_there:,}" if report.reports_there else ""] if overview else []
        costs = str(report.evidence), count(report.bytes), f"{report.ms:.0f}"
        table.add_row(Text(one_line(report.edge)), report.status, *read, *costs, Text(one_line(report.reason)))
    return table


def trace(steps: Sequence[TraceStep]) -> Table:
    """Time, calls, tokens and bytes per step; the sums below, but for time, since steps may overlap.

    What was done several times is one row, what cost nothing is none.
    """
    table = _table("step", ">ms", ">calls", ">tokens in", ">out", ">sent", ">received")
    for name in dict.fromkeys(step.step for step in steps):
        same = [step for step in steps if step.step == name]
        ms, costs = f"{sum(step.ms for step in same):.0f}", _costs(same)
        if ms != "0" or any(costs):
            times = f" ×{len(same)}" if len(same) > 1 else ""
            table.add_row(Text(one_line(name) + times), ms, *costs)
    table.add_row(TOTAL, "", *_costs(steps))
    return table


def _costs(steps: Sequence[TraceStep]) -> list[str]:
    sums = [
        sum(step.calls for step in steps),
        sum(step.tokens_in for step in steps),
        sum(step.tokens_out for step in steps),
        sum(step.bytes_out for step in steps),
        sum(step.bytes_in for step in steps),
    ]
    return [count(number) for number in sums]


def count(number: int) -> str:
    """A number that can be read; nothing for zero.

    >>> count(12345), count(0)
    ('12,345', '')
    """
    return f"{number:,}" if number else ""


def cluster(rows: Sequence[tuple[str, str, str, EdgeStatus | None]]) -> Table:
    """(name, url, state, an edge's status) of each service; its way of retrieval where somebody has chosen another."""
    table = _table("service", "url", "state", ">documents", ">entities", ">relations")  # 80 columns; the rest is in --json
    for column in table.columns[:2]:
        column.no_wrap = True  # an address that is folded cannot be copied
    for name, url, state, status in rows:
        counts = _edge_counts(status) if status else [""] * 3
        said = f"{state}, {status.strategy}" if status and status.strategy not in ("", DEFAULT_STRATEGY) else state
        table.add_row(*(Text(one_line(cell)) for cell in (name, url, said)), *counts)
    return table


def _edge_counts(status: EdgeStatus) -> list[str]:
    parked = status.documents.get("parked", 0)
    documents = f"{status.ended - parked}/{status.total}" + (f", {parked} parked" if parked else "")
    return [documents, *(f"{number:,}" for number in (status.entities, status.relations))]


def cost(estimate: Mapping[str, Any]) -> RenderableType:
    """What indexing would cost, and each document that could not be read."""
    facts = {
        "documents": f"{estimate['documents']:,}",
        "known already": f"{estimate['duplicates']:,}",
        "passages": f"{estimate['chunks']:,} ({counted(estimate['tokens'], 'token')})",
        "model calls": f"at most {estimate['model_calls']:,}" if estimate["model_calls"] else "none",
        "model tokens": f"{estimate['tokens_in']:,} in, {estimate['tokens_out']:,} out",
        "time": f"about {duration(estimate['seconds'])} ({estimate['basis']})",
    }
    summary = table(("estimate", ""), facts.items())
    unreadable = [(item["name"], item["code"], item["reason"]) for item in estimate["unreadable"]]
    return Group(summary, table(("cannot be read", "what", "reason"), unreadable)) if unreadable else summary


def upload(results: Sequence[SentDocument | Refused]) -> RenderableType:
    """How many documents ended how, and each that did not become part of the graph, with its reason."""
    sent = [result for result in results if isinstance(result, SentDocument)]
    kinds = {
        "indexed": sum(document.status == "indexed" for document in sent),
        "of these known before": sum(document.duplicate for document in sent),
        "on the way": sum(document.status in {"queued", "running"} for document in sent),
        "replaced by a later one": sum(document.status == "replaced" for document in sent),
        "parked": sum(document.status == "parked" for document in sent),
        "refused": sum(isinstance(result, Refused) and result.kind == "refused" for result in results),
        "skipped rows": sum(isinstance(result, Refused) and result.kind == "skipped" for result in results),
    }
    summary = _table("documents", ">count")
    for kind, number in kinds.items():
        if number or kind == "indexed":
            summary.add_row(kind, str(number))
    return Group(summary, *replacements(sent), *failures(results))


def replacements(sent: Iterable[SentDocument]) -> list[RenderableType]:
    """The documents in whose place others of the same name stand now; empty when none did."""
    names = [one_line(document.name) for document in sent if document.replaces]
    if not names:
        return []
    told = "These replaced earlier documents of the same name. To keep both, add their common folder, or rename one:"
    return [Text(told, style="yellow"), *(Text(f"  {name}") for name in names)]


def failures(results: Iterable[SentDocument | Refused]) -> list[RenderableType]:
    """A table of the documents that failed; empty when none did."""
    table = _table("document", "what", "reason")
    for result in results:
        if isinstance(result, Refused):
            table.add_row(Text(one_line(result.name)), result.kind, Text(one_line(result.reason)))
        elif result.is_stuck:
            what = "parked" if result.status == "parked" else "waiting"
            table.add_row(Text(one_line(result.name)), what, Text(one_line(" – ".join(filter(None, [result.reason, result.next_step])))))
    return [table] if table.row_count else []


def share_now(sent: SentDocument) -> str:
    """How much of a document may leave as it stands: of a parked one, of which nothing is served, nothing. "": the edge has not said.

    >>> share_now(SentDocument("a.md", "d1", share="full")), share_now(SentDocument("a.md", "d1", share="full", status="parked"))
    ('full', 'never')
    """
    return "never" if sent.share and sent.status == "parked" and not sent.served else sent.share


def shares(results: Iterable[SentDocument | Refused]) -> list[Text]:
    """For each set of labels what may leave, and how to change it; a label that the policy does not name is a warning.

    Of what is parked nothing leaves.
    """
    told = dict[tuple[tuple[str, ...], bool], Text]()
    for result in results:
        if isinstance(result, SentDocument) and result.share:
            worn = f"labels {', '.join(result.labels)}" if result.labels else "without a label"
            leaves = f"{LEAVES.get(result.share, 'shared')} ({result.share})"
            parked = share_now(result) != result.share
            line = f"{worn}, parked: nothing leaves this site while it is parked; then {leaves}" if parked else f"{worn}: {leaves}"
            if result.unnamed_labels:
                line += f" – the policy does not name {', '.join(result.unnamed_labels)}"
            told[result.labels, parked] = Text(one_line(line), style="yellow" if result.unnamed_labels else "")
    return [*told.values(), Text(CHANGE_SHARING, style="dim")] if told else []


def _table(*columns: str) -> Table:
    """A borderless table; a name that begins with ``>`` is right-aligned."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    return table


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table in the same look; a cell of several lines is a ``Text``."""
    made = _table(*columns)
    for name, column in zip(columns, made.columns, strict=True):
        column.no_wrap = name in COPIED
    for row in rows:
        made.add_row(*(Text(one_line(cell)) if isinstance(cell, str) else cell for cell in row))
    return made


def lines(columns: Mapping[str, bool], rows: Iterable[Sequence[str]]) -> Table:
    """A table with one line a row; a column that is True here may be cut, with … at its end, to make room."""
    made = _table(*columns)
    for may_be_cut, column in zip(columns.values(), made.columns, strict=True):
        column.no_wrap = not may_be_cut
    for row in rows:
        made.add_row(*(Text(one_line(cell), no_wrap=True, overflow="ellipsis") for cell in row))
    return made
