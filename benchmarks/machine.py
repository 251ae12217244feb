"""Where a result comes from: code, machine, models, prompts."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CPUINFO = Path("/proc/cpuinfo")
HASH_CHARS = 12
WRITE_PATH = (
    "edge_node/graph",
    "edge_node/ingest",
    "edge_node/store",
    "edge_node/strategies",
    "cloud_server/migrations",
    "cloud_server/summaries",
)


def code(root: Path = ROOT) -> dict[str, Any]:
    """The commit that runs, and whether files differ from it; "unknown" where git does not say."""
    commit = _git(root, "rev-parse", "HEAD")
    return {
        "commit": commit or "unknown",
        "dirty": bool(_git(root, "status", "--porcelain")) if commit else None,
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


def write_path(root: Path = ROOT) -> str:
    """A hash of the code that decides what an indexed state holds."""
    files = sorted(file for folder in WRITE_PATH for file in (root / folder).rglob("*") if file.suffix in {".py", ".sql"})
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:HASH_CHARS]


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
