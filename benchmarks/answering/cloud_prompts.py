"""What the cloud's model reads of multi-hop questions: ``python -m benchmarks.answering.cloud_prompts [--system NAME]``.

The sets of ``multihop.toml``, each over five sites; every question is asked in mode ``cloud`` at its home. A stand-in takes the model's
place, notes what it is asked, and refuses: no answer is judged. Told are how many of the documents that an answer needs are in the prompt,
and how often the answer's words are, of answers that are no yes or no and stand in no question. Prints one JSON line a set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Annotated, Any

import numpy as np
import orjson
import typer

from benchmarks.board import Board
from benchmarks.cluster import drop_settings_of_the_shell
from benchmarks.config import CONFIGS, WORK, DataConfig, FederatedSplit, ModelsConfig, RunConfig, load_config
from benchmarks.datasets.passages import Passages
from benchmarks.machine import code, machine
from benchmarks.records import Question
from benchmarks.runner import Runner
from deploy.evaluation.intervals import wilson
from deploy.lab.no_model import SERVED, UNKNOWN


class _Notes(BaseHTTPRequestHandler):
    """Serves as a model that knows nothing. ``prompts``: what it was asked, each as one text."""

    def __init__(self, prompts: list[str], *asked: Any) -> None:
        self._prompts = prompts
        super().__init__(*asked)

    def do_GET(self) -> None:
        """The models that are served."""
        self._say(SERVED)

    def do_POST(self) -> None:
        """Note what is asked, and refuse in words."""
        body = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
        self._prompts.append("\n".join(message["content"] for message in body["messages"]))
        self._say(UNKNOWN)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def noting() -> Iterator[tuple[str, list[str]]]:
    """A stand-in's URL, and the prompts that it gets."""
    prompts = list[str]()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Notes, prompts)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", prompts
        server.shutdown()


def figures(questions: Sequence[Question], prompts: Sequence[str]) -> dict[str, Any]:
    """Shares over questions, and the mean length of a prompt; a question that came to no prompt has read nothing.

    >>> who = Question("q", "Who made the film?", "a", ("Ann Lee",), ("d1", "d2"))
    >>> told = figures([who], ["Passages: a, d1: Ann Lee made it. Question: Who made the film?"])
    >>> told["needed documents"], told["with the answer"]["mean"], told["prompts"]
    ('1 of 2', 1.0, 1)
    """
    read = {question.text: next((prompt for prompt in prompts if question.text in prompt), "") for question in questions}
    needed = [(question, document) for question in questions for document in question.gold]
    short = [question for question in questions if _is_telling(question)]
    has = [any(_plain(one) in _plain(read[question.text].replace(question.text, "")) for one in question.references) for question in short]
    return {
        "questions": len(questions),
        "prompts": sum(map(bool, read.values())),
        "needed documents": f"{sum(document in read[question.text] for question, document in needed)} of {len(needed)}",
        "with the answer": asdict(wilson(list(map(float, has)))),
        "characters": round(float(np.mean([len(prompt) for prompt in read.values() if prompt] or [0]))),
    }


def _is_telling(question: Question) -> bool:
    answers = set(map(_plain, question.references))
    return bool(answers) and not answers & {"yes", "no"} and not any(one in _plain(question.text) for one in answers)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def found(split: FederatedSplit, data: DataConfig, work: Path, system: str = "cloud") -> Mapping[str, Any]:
    """Run one set, each time anew. Raises BenchmarkError, and ValueError for a system that is not known."""
    with noting() as (url, prompts), Board() as board:
        asked = split.model_copy(update={"retrieval": (), "within": -1, "systems": (system,)})
        Runner(RunConfig(name="prompts", data=data, split=(asked,), models=ModelsConfig(generator=url)), work, board).run(work / "out")
        return figures(Passages.read(data.root / split.set, split.client).questions(), prompts)


def main(
    data: Annotated[Path | None, typer.Option(help="Root of the data, instead of the configurations'.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="This set alone; may be given again for others.")] = None,
    work: Annotated[Path, typer.Option(help="Where states are kept.")] = WORK,
    system: Annotated[str, typer.Option(help="Whose prompts: cloud, or centralized to compare it with.")] = "cloud",
) -> None:
    """Ask each set's questions, and say what was read."""
    drop_settings_of_the_shell()
    for split in load_config(CONFIGS / "multihop.toml").split:
        if isinstance(split, FederatedSplit) and (not only or split.name in only):
            told = found(split, DataConfig(root=data) if data else DataConfig(), work.resolve(), system)
            typer.echo(orjson.dumps({"set": split.name, "system": system, **code(), "machine": machine(), **told}))


if __name__ == "__main__":
    typer.run(main)
