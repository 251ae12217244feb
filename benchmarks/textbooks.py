"""Four textbooks, four edges: what indexing costs, whether summaries route, what the gate escalates.

``python -m benchmarks.textbooks DATA [--state DIR] [--questions 10] [--out FILE]`` starts the real services by
``dgrag up``, so every figure crosses real HTTP between real processes. DATA is a folder of UltraDomain JSONL files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console

console = Console(stderr=True)
ANSWER_TIMEOUT_S = 400.0
TOP_ENTITIES = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """One question asked at one edge."""

    domain: str
    edge: str
    question: str
    reference: str
    seconds: float
    status: int
    answer: dict[str, Any]

    @property
    def within(self) -> bool:
        """Asked where its textbook is."""
        return self.domain == self.edge

    @property
    def escalated(self) -> bool:
        """The gate did not let the local answer pass."""
        return bool(self.answer.get("gate") and self.answer["gate"]["decision"] == "escalate")


def read_questions(data: Path, domain: str) -> list[tuple[str, str]]:
    """(question, reference answer) of a file, in file order."""
    rows = (json.loads(line) for line in (data / f"{domain}.jsonl").open(encoding="utf-8"))
    return [(row["input"], row["answers"][0]) for row in rows]


def routing(http: httpx.Client, cloud: str, questions: Mapping[str, Sequence[tuple[str, str]]], m: int) -> dict[str, Any]:
    """Summary matching over all questions: hit and any-mismatch rate of DGRAG §IV-E1, and the share of matches in the right domain."""
    hits = mismatches = right = matched = total = 0
    for domain, pairs in questions.items():
        for question, _ in pairs:
            found = http.post(f"{cloud}/v1/match", json={"question": question, "m": m}).raise_for_status().json()["matches"]
            edges = [match["edge"] for match in found]
            total += 1
            hits += domain in edges
            mismatches += any(edge != domain for edge in edges)
            right += edges.count(domain)
            matched += len(edges)
    return {"m": m, "questions": total, "hit": hits / total, "any_mismatch": mismatches / total, "right_share": right / max(matched, 1)}


def pairs_to_ask(questions: Mapping[str, Sequence[tuple[str, str]]], count: int) -> Iterator[tuple[str, str, str, str]]:
    """(domain, edge, question, reference): ``count`` of each domain at home, the next ``count`` at the following edge."""
    domains = list(questions)
    for place, domain in enumerate(domains):
        foreign = domains[(place + 1) % len(domains)]
        for question, reference in questions[domain][:count]:
            yield domain, domain, question, reference
        for question, reference in questions[domain][count : 2 * count]:
            yield domain, foreign, question, reference


def ask(http: httpx.Client, urls: Mapping[str, str], domain: str, edge: str, question: str, reference: str) -> Asked:
    """Ask one question; an error is a value with its status."""
    started = time.perf_counter()
    response = http.post(f"{urls[edge]}/v1/query", json={"question": question}, timeout=ANSWER_TIMEOUT_S)
    return Asked(domain, edge, question, reference, round(time.perf_counter() - started, 1), response.status_code, response.json())


def escalation(asked: Sequence[Asked], *, within: bool) -> dict[str, Any]:
    """Escalation share, errors and seconds of the questions asked at home, or away from home."""
    chosen = [item for item in asked if item.within == within]
    good = [item for item in chosen if item.status == 200]
    seconds = sorted(item.seconds for item in good)
    return {
        "questions": len(chosen),
        "errors": len(chosen) - len(good),
        "escalated": sum(item.escalated for item in good) / max(len(good), 1),
        "answered": sum(item.answer["answered"] for item in good) / max(len(good), 1),
        "median_s": seconds[len(seconds) // 2] if seconds else None,
    }


def start(data: Path, domains: Sequence[str], state: Path) -> dict[str, Any]:
    """``dgrag up``, detached, indexed."""
    files = [argument for domain in domains for argument in ("--data", str(data / f"{domain}.jsonl"))]
    command = [str(Path(sys.executable).with_name("dgrag")), "up", "--edges", str(len(domains)), *files, "--state", str(state)]
    done = subprocess.run([*command, "--detach", "--json"], stdout=subprocess.PIPE, check=True, text=True)  # noqa: S603 - our own command
    cluster: dict[str, Any] = json.loads(done.stdout)
    return cluster


def main(
    data: Annotated[Path, typer.Argument(help="folder of UltraDomain JSONL files", exists=True, file_okay=False)],
    state: Annotated[Path, typer.Option(help="where the cluster lives")] = Path(".dgrag-textbooks"),
    questions: Annotated[int, typer.Option(help="questions of each domain at home, and as many away")] = 10,
    out: Annotated[Path, typer.Option(help="result file")] = Path("benchmarks/results/textbooks.json"),
) -> None:
    """Index, route, ask; write the figures as one JSON file and all answers beside it."""
    domains = sorted(path.stem for path in data.glob("*.jsonl"))
    started = time.perf_counter()
    cluster = start(data, domains, state)
    indexed_s = round(time.perf_counter() - started, 1)
    urls = {edge["edge"]: edge["url"] for edge in cluster["edges"]}
    with httpx.Client(timeout=30) as http:
        status = {edge: http.get(f"{url}/v1/status").raise_for_status().json() for edge, url in urls.items()}
        top = {
            edge: [e["name"] for e in http.get(f"{url}/v1/entities", params={"limit": TOP_ENTITIES}).json()["entities"]]
            for edge, url in urls.items()
        }
        known = {domain: read_questions(data, domain) for domain in domains}
        routes = [routing(http, cluster["cloud"], known, m) for m in (1, 5)]
        todo = list(pairs_to_ask(known, questions))
        asked = []
        for number, item in enumerate(todo, start=1):
            asked.append(ask(http, urls, *item))
            last = asked[-1]
            console.print(f"{number}/{len(todo)} {last.domain} at {last.edge}: {last.answer.get('route', last.status)}, {last.seconds} s")
    result = {
        "indexed_s": indexed_s,
        "edges": status,
        "top_entities": top,
        "routing": routes,
        "within": escalation(asked, within=True),
        "out_of_domain": escalation(asked, within=False),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    answers = "".join(json.dumps(asdict(item), ensure_ascii=False) + "\n" for item in asked)
    out.with_suffix(".answers.jsonl").write_text(answers, encoding="utf-8")  # not for the repository: it quotes the data
    out.write_text(json.dumps(result, indent=1, ensure_ascii=False), encoding="utf-8")
    console.print({key: result[key] for key in ("indexed_s", "routing", "within", "out_of_domain")})


if __name__ == "__main__":
    typer.run(main)
