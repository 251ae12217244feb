"""What answers to questions about everything are worth, without a judge: ``python -m benchmarks.graphrag.global_answers DATA --url MODEL``.

DATA is a folder with ``corpus.jsonl``; the questions are lines of a file. One edge reads all documents; with ``--client FIELD`` an edge
for each value of that field does, beside a cloud. The first edge is asked. Real processes, the default embedder, and the model at MODEL.
One line an answer goes into a journal, so a killed run goes on; one JSON line is printed at the end.

No measure depends on an order of two texts. A line of an answer is *told* where it stands word by word in a document that it cites,
*counted* where it is a count, and *joined* else: those a person has to read. Of counts, ``recall_at_10`` is the share of the ten names that
most documents hold, as strings, among the ten that the first answer without a subject tells.
"""

from __future__ import annotations

import calendar
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import WORK, digest
from benchmarks.journal import Journal
from benchmarks.machine import code, machine
from benchmarks.meters import percentile_ms
from benchmarks.metrics.overviews import carried
from benchmarks.under_load import edge_process, service_process, wait_settled
from edge_node.answering.picking import is_about_all
from shared.counts import MOST_NAME_CHARS
from shared.text.fence import one_line
from shared.text.sentences import content_words, names_in

STAGE = "global"
KINDS = ("counted", "told", "joined")
QUESTIONS = (
    Path(__file__).parent.parent / "configs" / "questions" / "multihop_rag.jsonl"
)  # written from GraphRAG's §3.2 for the news articles
MARK = re.compile(r"\s*\[\d+\]")
COUNTED = re.compile(rf"(\S.{{0,{MOST_NAME_CHARS - 1}}}) is named in (?:at least )?(\d+) of \d+ documents")
BEST = 10
SMALL = 0.25  # texts with a word in small letters, for each that has it as a name
WORD = re.compile(r"[\w’']+")
SPEAKER = re.compile(r"I[’']")
DATES = frozenset({*calendar.day_name, *calendar.month_name})
TIMEOUT_S = 900.0


def lines_of(answer: str) -> list[str]:
    """The lines of an answer without their markers; headings and numbers of lists are none."""
    bare = (one_line(MARK.sub("", line)) for line in answer.splitlines())
    return [line for line in bare if len(content_words(line)) >= 2]


def kind_of(line: str, cited: Sequence[str]) -> str:
    """How a line of an answer rests on the documents that it cites: counted, told in their words, or joined by the model.

    >>> kind_of("Pumps fail.", ["It is so. Pumps fail."]), kind_of("Ann is named in 3 of 9 documents.", []), kind_of("Pumps rust.", [""])
    ('told', 'counted', 'joined')
    """
    if COUNTED.match(line):
        return "counted"
    whole = line.rstrip(".…")
    return "told" if any(whole in one_line(text) for text in cited) else "joined"


def in_documents(name: str, texts: Sequence[str]) -> int:
    """How many texts hold a name as a word."""
    found = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return sum(found.search(text) is not None for text in texts)


def names_of(texts: Sequence[str]) -> list[str]:
    """What is written with a capital in two texts at least, and is no date, no "I've", nor a word that most of them write small.

    >>> names_of(["However, Ann left in May.", "Ann stayed; however, Bo left."])
    ['Ann']
    """
    holding = Counter(name for text in texts for name in set(names_in(text)))
    small = Counter(word for text in texts for word in set(WORD.findall(text)) if word.islower())
    own = {name: count for name, count in holding.items() if count > 1 and name not in DATES and not SPEAKER.match(name)}
    return [name for name, count in own.items() if small[name.lower()] <= SMALL * count]


def recall_at_10(told: Sequence[str], known: Sequence[str], texts: Sequence[str]) -> float:
    """The share of the ``BEST`` names that most texts hold, out of all known ones, that were told; who ties with the last may stand for it.

    >>> recall_at_10(["Ann"], ["Ann", "Bo"], ["Ann and Bo", "Ann", "Cy"])
    0.5
    """
    holding = {name: in_documents(name, texts) for name in dict.fromkeys([*known, *told])}
    counts = sorted(holding.values(), reverse=True)[:BEST]
    return round(sum(holding[name] >= counts[-1] for name in told[:BEST]) / len(counts), 2)


def _documents(data: Path, client: str) -> dict[str, dict[str, str]]:
    """Texts by the name of their document, by the edge that holds them."""
    found: dict[str, dict[str, str]] = {}
    for line in (data / "corpus.jsonl").read_bytes().splitlines():
        row = orjson.loads(line)
        edge = f"edge-{row[client]}" if client else "edge"
        found.setdefault(edge, {})[f"{row['doc_id']}.md"] = f"# {row['title']}\n\n{row['text']}\n" if row["title"] else row["text"]
    return found


@contextmanager
def _federation(top: Path, documents: Mapping[str, Mapping[str, str]], url: str) -> Iterator[httpx2.Client]:
    """The first edge, with all documents indexed; what was indexed in this folder before stays."""
    with ExitStack() as stack:
        told, edges = {"DGRAG_MODEL_URL": url}, list[httpx2.Client]()
        if len(documents) > 1:
            (top / "cloud").mkdir(parents=True, exist_ok=True)
            cloud, _ = stack.enter_context(service_process("cloud_server", "DGRAG_CLOUD", top / "cloud", **told))
            told["DGRAG_EDGE_CLOUD_URL"] = str(cloud.base_url)
        for name, texts in sorted(documents.items()):
            (top / name).mkdir(parents=True, exist_ok=True)
            edges.append(stack.enter_context(edge_process(top / name, **told, DGRAG_EDGE_ID=name))[0])
            for document, text in texts.items():
                edges[-1].post("/v1/documents", json={"name": document, "text": text}).raise_for_status()
        wait_settled(edges)
        yield edges[0]


def asked_once(http: httpx2.Client, question: str, texts: Mapping[str, str], *, alone: bool) -> dict[str, Any]:
    """One answer and its measures. ``texts`` by the name of their document; ``alone``: the question stays at the edge."""
    began = time.perf_counter()
    body = {"question": question, "mode": "global", "allow_escalation": "no" if alone else "yes"}
    answer = http.post("/v1/query", json=body, timeout=TIMEOUT_S)
    answer.raise_for_status()
    found = answer.json()
    seconds = round(time.perf_counter() - began, 1)
    cited = [texts[one["document"]] for one in found["citations"] if one["document"] in texts]
    lines = lines_of(found["answer"]) if found["answered"] else []
    kinds = [kind_of(line, cited) for line in lines]
    return {
        "answer": found["answer"],
        "answered": found["answered"],
        "seconds": seconds,
        "lines": len(lines),
        **{kind: kinds.count(kind) for kind in KINDS},
        "documents": len({one["document"] for one in found["citations"]}),
        "edges": len({one["edge"] for one in found["citations"]}),
        "calls": sum(step["calls"] for step in found["trace"]),
        "moved": carried(found["edges"], found["trace"]),
        "joined_lines": [line for line, kind in zip(lines, kinds, strict=True) if kind == "joined"],
        "named": [match[1] for line in lines if (match := COUNTED.match(line))],
    }


def summary(rows: Mapping[str, Mapping[str, Any]], texts: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
    """Means over the answers, by question; ``known``: names that the recall looks among."""
    answered = [row for row in rows.values() if row["answered"]]
    seconds = [row["seconds"] for row in rows.values()]
    told: list[str] = next((row["named"] for question, row in rows.items() if row["named"] and is_about_all(question)), [])
    lines = sum(row["lines"] for row in answered)
    return {
        "questions": len(rows),
        "answered": len(answered),
        "p50_s": round(percentile_ms(seconds, 50) / 1000, 1),
        "most_s": max(seconds),
        **{name: round(sum(row[name] for row in answered) / max(1, len(answered)), 1) for name in ("lines", "documents", "edges", "calls")},
        **{f"share_{kind}": round(sum(row[kind] for row in answered) / max(1, lines), 3) for kind in KINDS},
        "fewest_documents": min((row["documents"] for row in answered), default=0),
        "moved_of_corpus": round(sum(row["moved"] for row in rows.values()) / max(1, len(rows)) / sum(map(len, texts)), 5),
        "recall_at_10": recall_at_10(told, known, texts) if told else None,
    }


def main(
    data: Annotated[Path, typer.Argument(help="A folder with corpus.jsonl.", exists=True, file_okay=False)],
    url: Annotated[str, typer.Option(help="Of the language model.")],
    questions: Annotated[Path, typer.Option(help="JSON lines with a question each.")] = QUESTIONS,
    most: Annotated[int, typer.Option(min=1, help="At most so many questions.")] = 25,
    client: Annotated[str, typer.Option(help="Field of the documents that names their edge; empty: one edge.")] = "",
    work: Annotated[Path, typer.Option(help="Folder of the index and the journal.")] = WORK / "global",
) -> None:
    """Ask questions about everything, and print what the answers rest on."""
    drop_settings_of_the_shell()
    documents = _documents(data, client)
    texts = {name: text for held in documents.values() for name, text in held.items()}
    asked = [orjson.loads(line)["question"] for line in questions.read_bytes().splitlines()][:most]
    folder = work / digest([str(data), client])[:12]
    with Journal(folder / "journal.jsonl") as journal:
        if any(not journal.done(STAGE, question) for question in asked):
            with _federation(folder, documents, url) as http:
                for question in asked:
                    if not journal.done(STAGE, question):
                        journal.add(STAGE, question, asked_once(http, question, texts, alone=not client))
        rows = {question: journal.row(STAGE, question) for question in asked}
    held = list(texts.values())
    known = names_of(held)
    found = {"data": data.name, "client": client, **summary(rows, held, known)}
    typer.echo(orjson.dumps({**code(), "machine": machine(), **found}))


if __name__ == "__main__":
    typer.run(main)
