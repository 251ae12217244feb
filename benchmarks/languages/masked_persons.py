"""Which names of persons leave a site that masks persons: ``python -m benchmarks.languages.masked_persons``, no model server.

200 English sentences of the frames that rules were made with (``datasets/languages.toml``), in ten sites of twenty, so that no name helps
another; then twice 200 held-out ones (``datasets/persons.toml``), each set in a site with the documents of the sample sites. Each sentence
is a document, which is asked for by its own text as masked. A name leaves where any word of it stands in a summary or in its passage on the
wire.
``--news FILE`` adds what the mask hides of other text: the share of characters, and milliseconds for 1,000 passages.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.instant_edge import add, running
from benchmarks.languages.names import planted
from benchmarks.machine import code, machine
from benchmarks.sharing import UNLIMITED
from benchmarks.stand_ins import InstantEmbedder, InstantGenerator, Models
from deploy.cli.demo import SAMPLES
from edge_node.build import Adapters, build_node
from edge_node.documents.readers import read
from edge_node.egress.bodies import reply_body
from edge_node.egress.dry_run import next_sync
from edge_node.egress.policy_file import NAME
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from shared.models.build import build_tokenizer
from shared.models.settings import ModelSettings
from shared.wire import EvidenceRequest

OUT = Path("benchmarks/results/masked_persons.json")
POLICY = "\n".join(["version = 1", *UNLIMITED, "[redact]", 'types = ["person"]', ""])
BUDGET = 2_000  # tokens of a reply: documents that say the same but for the name come together
SITE = 20  # sentences of the known frames: no word of a name is in two of them
LEAST_LETTERS = 2  # of a word of a name, as initials tell little
PASSAGE_CHARS = 1_000
PARTICLES = frozenset({"van", "der", "bin"})
Document = tuple[str, str]  # name, text


@dataclass(frozen=True, slots=True)
class Person:
    """A planted name, the kind of its frame, and the texts that hold it or a part of it."""

    name: str
    kind: str
    texts: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """What must not leave.

        >>> Person("J. R. van der Meer-Lee", "", ()).words
        ['Meer', 'Lee']
        """
        return [word for word in re.findall(r"[^\W\d_]+", self.name) if len(word) >= LEAST_LETTERS and word not in PARTICLES]


def held_out(said: Mapping[str, Any]) -> list[Person]:
    """Each name of the file once, each frame as often as any other.

    >>> said = {"names": "Ann Lee; Bo Ek", "kind": [{"kind": "a title", "frames": ["Dr {last} came."]}]}
    >>> [person.texts for person in held_out(said)]
    [('Dr Lee came.',), ('Dr Ek came.',)]
    """
    names = [name.strip() for line in said["names"].strip().splitlines() for name in line.split(";")]
    frames = [(kind["kind"], frame) for kind in said["kind"] for frame in kind["frames"]]
    found = []
    for row, name in enumerate(names):
        kind, frame = frames[row % len(frames)]
        found.append(Person(name, kind, tuple(frame.format(name=name, last=name.split()[-1]).split("\n---\n"))))
    return found


def known(said: Mapping[str, Any]) -> list[Person]:
    """The persons of the sentences that rules were made with."""
    return [Person(one.names["person"], "known frames", (one.text,)) for one in planted("en", said)]


@asynccontextmanager
async def site(folder: Path, documents: Sequence[Document]) -> AsyncIterator[EdgeNode]:
    """An edge with these documents that masks persons; its names are found by the real packs."""
    (folder / NAME).write_text(POLICY, encoding="utf-8")
    models = Models()
    settings = EdgeSettings(id="site", state_dir=folder, evidence_threshold=-1.0, reader_threshold=-1.0, min_nearness=-1.0)
    parts = Adapters(InstantGenerator(models), InstantEmbedder(models), build_tokenizer(ModelSettings()), None)
    node = build_node(settings, parts)
    async with running(node):
        await add(node, documents)
        await node.worker.settle()
        yield node


async def on_the_wire(node: EdgeNode, texts: Sequence[Document]) -> dict[str, str]:
    """By document, its passages as replies showed them when each was asked for; "": all summaries."""
    told = {"": " ".join(body.decode() for body in next_sync(node.graph, epoch="", version=-1))}
    mask = node.sharing.redactor_now().mask
    for number, (_, text) in enumerate(texts):
        request = EvidenceRequest(request_id=str(number), question=mask(text), budget_tokens=BUDGET, whole=True, deadline_ms=60_000)
        for item in json.loads(reply_body((await node.for_others.evidence(request)).reply))["evidence"]:
            told[item["document"]] = told.get(item["document"], "") + " " + item["title"] + " " + item["text"]
    return told


async def leaving(folder: Path, persons: Sequence[Person], others: Sequence[Document] = ()) -> list[tuple[Person, list[str]]]:
    """Of each person, the words that left. Raises AssertionError if a document was never on the wire."""
    documents = [(_file(row, part), text) for row, person in enumerate(persons) for part, text in enumerate(person.texts)]
    async with site(folder, [*others, *documents]) as node:
        told = await on_the_wire(node, documents)
    assert told.keys() >= {name for name, _ in documents}
    ordinary = " ".join(text for _, text in others)
    found = []
    for row, person in enumerate(persons):
        shown = " ".join(told[_file(row, part)] for part in range(len(person.texts)))
        left = [word for word in person.words if _stands(word, shown) or (_stands(word, told[""]) and not _stands(word, ordinary))]
        found.append((person, left))
    return found


def _file(row: int, part: int) -> str:
    """The name of a document: without figures, as the mask takes some of them for parts of names."""
    return f"{'xyz'[part]}{''.join('qwjvkzxhgf'[int(digit)] for digit in str(row))}.md"


def _stands(word: str, text: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text) is not None


def figures(found: Sequence[tuple[Person, Sequence[str]]]) -> dict[str, Any]:
    """By kind of frame, how many persons there are and how many stayed; then which words left.

    >>> figures([(Person("Ann Lee", "rows", ()), []), (Person("Bo Ek", "rows", ()), ["Ek"])])
    {'rows': {'n': 2, 'stayed': 1}, 'all': {'n': 2, 'stayed': 1, 'recall': 0.5}, 'left': ['Bo Ek: Ek']}
    """
    n, stayed = Counter(person.kind for person, _ in found), Counter(person.kind for person, left in found if not left)
    rows: dict[str, Any] = {kind: {"n": n[kind], "stayed": stayed[kind]} for kind in n}
    rows["all"] = {"n": n.total(), "stayed": stayed.total(), "recall": round(stayed.total() / n.total(), 3)}
    return rows | {"left": [f"{person.name}: {' '.join(left)}" for person, left in found if left]}


def samples() -> list[Document]:
    """The documents of the sample sites."""
    return [(file.name, read(file.name, file.read_bytes()).text) for file in sorted(SAMPLES.glob("*/*"))]


async def hidden(folder: Path, texts: Sequence[str]) -> dict[str, float]:
    """What the mask hides of the texts of a corpus, and what it costs."""
    async with site(folder, [(f"news-{number}.md", text) for number, text in enumerate(texts)]) as node:
        redactor = node.sharing.redactor_now()
    passages = [text[start : start + PASSAGE_CHARS] for text in texts for start in range(0, len(text), PASSAGE_CHARS)]
    started = time.perf_counter()
    masked = [redactor.mask(passage) for passage in passages]
    seconds = time.perf_counter() - started
    changed = sum(one != other for before, after in zip(passages, masked, strict=True) for one, other in zip(before, after, strict=True))
    return {"characters": round(changed / sum(map(len, passages)), 4), "ms_of_1000_passages": round(1e6 * seconds / len(passages), 0)}


def _dataset(name: str) -> dict[str, Any]:
    return tomllib.loads(files("benchmarks.datasets").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


async def measured(news: Sequence[str]) -> dict[str, Any]:
    """All figures."""
    before = known(_dataset("languages")["en"])
    found: list[tuple[Person, list[str]]] = []
    for start in range(0, len(before), SITE):
        with tempfile.TemporaryDirectory() as folder:
            found += await leaving(Path(folder), before[start : start + SITE])
    rows = {"known": figures(found)}
    for part, said in _dataset("persons").items():
        with tempfile.TemporaryDirectory() as folder:
            rows[f"{part} held out"] = figures(await leaving(Path(folder), held_out(said), samples()))
    if news:
        with tempfile.TemporaryDirectory() as folder:
            rows["news"] = await hidden(Path(folder), news)
    return rows


def main(
    out: Annotated[Path, typer.Option(dir_okay=False)] = OUT,
    news: Annotated[Path | None, typer.Option(help="A corpus.jsonl with texts.", exists=True, dir_okay=False)] = None,
) -> None:
    """Measure, print, and write the result."""
    texts = [json.loads(line)["text"] for line in news.read_text(encoding="utf-8").splitlines()] if news else []
    rows = asyncio.run(measured(texts))
    typer.echo(json.dumps(rows, indent=1))
    out.write_text(json.dumps({"machine": machine(), "code": code(), **rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
