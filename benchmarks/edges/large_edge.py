"""What a large edge takes: ``python -m benchmarks.edges.large_edge DATA [--passages 100000] [--steps 4] [--workers 2]``.

A real edge process with the default models and no language model reads textbooks, news, podcasts and encyclopaedia's paragraphs. Where
these are too few, they come again, with every name in them changed: spaCy and the embedder then work as on new texts, and the graph grows
as with these. After each step the textbooks' questions are asked, a document is added, changed and deleted; in the end the edge is started
anew. Prints one JSON line a step.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import typer

from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.edges.indexing import WARM_UP, cpu_s, memory_mb
from benchmarks.machine import code, machine
from benchmarks.meters import percentile_ms
from benchmarks.stages.index import disk_bytes
from benchmarks.under_load import edge_process

LOOK_S = 1.0
PATIENCE_S = 6 * 3600.0
PAGE = 64  # documents that are sent at once, when fewer wait
VOWELS, CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"
NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")
ONE_MORE = "Ruth Orr moved the Maristow infusion pump to the Halden ward. The ward is led by Dr. Amina Vale.\n\n"
ONE_MORE_CHARS = 3_000


def texts_of(data: Path) -> list[str]:
    """All different texts below a folder, those of one file after the other."""
    rows = (orjson.loads(line) for file in sorted(data.rglob("*.jsonl")) if file.name != "questions.jsonl" for line in _lines(file))
    return list(dict.fromkeys(row.get("context") or row.get("text", "") for row in rows))


def questions_of(data: Path) -> list[str]:
    """The textbooks' questions."""
    return [orjson.loads(line)["input"] for file in sorted(data.glob("standin_textbooks/*.jsonl")) for line in _lines(file)]


def _lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines()


def names_of(texts: Sequence[str]) -> frozenset[str]:
    """Words with a capital that nowhere stand without one.

    >>> sorted(names_of(["Then Halden paid. They went then; they knew Halden."]))
    ['Halden']
    """
    words = frozenset(word for text in texts for word in re.findall(r"\b[a-z]{4,}\b", text))
    return frozenset(name for text in texts for name in NAME.findall(text) if name.lower() not in words)


def renamed(text: str, names: frozenset[str], time_: int) -> str:
    """The text with other names: vowels stay vowels, and each time names are other ones; the first time, 0, they stay.

    >>> renamed("Then Halden paid.", frozenset({"Halden"}), 1)
    'Then Jemfip paid.'
    """
    return NAME.sub(lambda found: found[0].translate(_table(time_)) if found[0] in names else found[0], text) if time_ else text


def _table(time_: int) -> dict[int, int]:
    turned = "".join(letters[time_ % len(letters) :] + letters[: time_ % len(letters)] for letters in (VOWELS, CONSONANTS))
    return str.maketrans(VOWELS + CONSONANTS + (VOWELS + CONSONANTS).upper(), turned + turned.upper())


def documents(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(name, text), without an end."""
    names = names_of(texts)
    for time_ in count():
        for number, text in enumerate(texts):
            yield f"{time_}-{number}.md", renamed(text, names, time_)


class LargeEdge:
    """A running edge, and what it has taken so far."""

    def __init__(self, http: httpx2.Client, pid: int, folder: Path) -> None:
        self._http, self._pid, self._folder = http, pid, folder
        self._began, self._cpu_s, self._most_mb = time.perf_counter(), cpu_s(pid), 0.0
        self._sent = 0

    def fill(self, source: Iterator[tuple[str, str]], passages: int) -> dict[str, Any]:
        """Give it documents until it has so many passages, and wait until all is settled."""
        while (status := self._status())["chunks"] < passages:
            if status["documents"].get("queued", 0) < PAGE:
                for name, text in islice(source, PAGE):
                    self._http.post("/v1/documents", json={"name": name, "text": text}).raise_for_status()
                    self._sent += 1
            else:
                time.sleep(LOOK_S)
        asked = time.perf_counter()
        self._settle()
        status = self._status()
        counted = {name: status[name] for name in ("chunks", "tokens", "entities", "relations", "subgraphs", "summaries")}
        spent = {"wall_s": round(time.perf_counter() - self._began, 1), "cpu_s": round(cpu_s(self._pid) - self._cpu_s, 1)}
        last = {"last_settled_s": round(time.perf_counter() - asked, 1)}
        held = {"memory_mb": memory_mb(self._pid), "most_mb": self._most_mb, "disk_mb": round(disk_bytes(self._folder) / 2**20, 1)}
        return {"documents": self._sent, **counted, **spent, **last, **held}

    def ask(self, questions: Sequence[str]) -> dict[str, float]:
        """Each question once, of /v1/retrieve."""
        seconds, cpu = list[float](), cpu_s(self._pid)
        for question in questions:
            asked = time.perf_counter()
            self._http.post("/v1/retrieve", json={"question": question}).raise_for_status()
            seconds.append(time.perf_counter() - asked)
        times = {f"retrieve_p{q}_ms": percentile_ms(seconds[WARM_UP:], q) for q in (50, 95)}
        return times | {"retrieve_cpu_ms": round((cpu_s(self._pid) - cpu) / len(questions) * 1000, 1)}

    def change(self, text: str) -> dict[str, dict[str, float]]:
        """A document is added, sent with another text, and deleted: seconds until all is settled, and of the processor."""
        first, second = (f"{ONE_MORE}{text[start:][:ONE_MORE_CHARS]}" for start in (0, ONE_MORE_CHARS))
        found = {name: self._took("POST", "", {"name": "one.md", "text": said}) for name, said in (("added", first), ("changed", second))}
        (one,) = self._http.get("/v1/documents", params={"name": "one.md"}).json()["documents"]
        return found | {"deleted": self._took("DELETE", f"/{one['document_id']}")}

    def _took(self, method: str, path: str, body: Any = None) -> dict[str, float]:
        began, cpu = time.perf_counter(), cpu_s(self._pid)
        self._http.request(method, f"/v1/documents{path}", json=body).raise_for_status()
        self._settle(look_s=0.05)
        return {"s": round(time.perf_counter() - began, 2), "cpu_s": round(cpu_s(self._pid) - cpu, 2)}

    def _settle(self, look_s: float = LOOK_S) -> None:
        ends = time.perf_counter() + PATIENCE_S
        while not self._status()["settled"]:
            if time.perf_counter() > ends:
                raise TimeoutError("the edge did not settle")
            time.sleep(look_s)

    def _status(self) -> dict[str, Any]:
        self._most_mb = max(self._most_mb, memory_mb(self._pid))
        told: dict[str, Any] = self._http.get("/v1/status").raise_for_status().json()
        return told


def restarted(folder: Path, questions: Sequence[str], **settings: str) -> dict[str, float]:
    """Start on the store that is there: seconds until it is ready, what it holds then, and the first questions."""
    began = time.perf_counter()
    with edge_process(folder, **settings) as (http, process):
        ready = {"ready_s": round(time.perf_counter() - began, 1), "ready_mb": memory_mb(process.pid)}
        return ready | LargeEdge(http, process.pid, folder).ask(questions)


def main(
    data: Annotated[Path, typer.Argument(help="Folder of evaluation data.", exists=True, file_okay=False)],
    passages: Annotated[int, typer.Option(min=100)] = 100_000,
    steps: Annotated[int, typer.Option(min=1, help="At which it is measured, evenly.")] = 4,
    workers: Annotated[int, typer.Option(min=1, max=16, help="DGRAG_EDGE_WORKERS.")] = 1,
    memory: Annotated[str, typer.Option(help="DGRAG_EDGE_MEMORY: made when all is read, and not waited for.")] = "off",
) -> None:
    """Fill an edge step by step."""
    drop_settings_of_the_shell()
    texts, questions = texts_of(data), questions_of(data)
    source, settings = documents(texts), {"DGRAG_EDGE_WORKERS": str(workers), "DGRAG_EDGE_MEMORY": memory}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with edge_process(folder, **settings) as (http, process):
            edge = LargeEdge(http, process.pid, folder)
            for step in range(1, steps + 1):
                row = edge.fill(source, passages * step // steps) | edge.ask(questions) | edge.change(texts[0])
                print(orjson.dumps({**code(), "machine": machine(), "workers": workers, "memory": memory, **row}).decode(), flush=True)
        print(orjson.dumps(restarted(folder, questions, **settings)).decode())


if __name__ == "__main__":
    typer.run(main)
