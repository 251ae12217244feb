"""Tesseract's data of languages, each a file: which are installed, which are used, and one folder that has them together."""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger("dgrag.edge.ocr")
FOLDERS = (  # of the system's packages, then of the extra ``ocr``
    "/opt/homebrew/share/tessdata",
    "/opt/homebrew/opt/tesseract/share/tessdata",
    "/usr/local/opt/tesseract/share/tessdata",
    "/usr/share/tesseract-ocr/5/tessdata",
    "/usr/share/tesseract-ocr/4/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    f"{sys.prefix}/share/tessdata",
)
WITH_PACKS = ("eng", "deu", "fra", "spa", "chi_sim")  # languages whose texts a pack reads: ``extraction.packs.table``
MOST_LANGUAGES = len(WITH_PACKS)  # at once where none is named: each takes its time
ENDING = ".traineddata"
NO_LANGUAGE = "osd"  # data of the same form, which tells how a page lies


@dataclass(frozen=True, slots=True)
class TesseractData:
    """Languages as Tesseract names them together ("eng+deu"), and the folder of their data."""

    languages: str
    folder: str


@dataclass(frozen=True, slots=True)
class Recognition:
    """The languages that the settings name, by commas, "" for none; and a folder of the edge's own that may hold links to their data.

    ``rereads``: whether a scan whose text layer is full of misread words is recognised again.
    """

    wanted: str = ""
    joined: str = ""
    rereads: bool = True

    def arguments(self) -> tuple[str, str, str]:
        """Itself as arguments of a process, as ``of`` takes them.

        >>> Recognition.of(*Recognition("fra", "data", rereads=False).arguments())
        Recognition(wanted='fra', joined='data', rereads=False)
        """
        return self.wanted, self.joined, "yes" if self.rereads else "no"

    @classmethod
    def of(cls, wanted: str, joined: str, rereads: str) -> Recognition:
        """What ``arguments`` gave."""
        return cls(wanted, joined, rereads == "yes")

    def names(self) -> tuple[str, ...]:
        """Languages to be used: those that are named, else those that are installed, first those whose texts a pack reads.

        >>> Recognition("fra,deu").names()
        ('fra', 'deu')
        """
        if self.wanted:
            return tuple(self.wanted.split(","))
        order = {name: at for at, name in enumerate(WITH_PACKS)}
        languages = _installed().keys() - {NO_LANGUAGE}
        return tuple(sorted(languages, key=lambda name: (order.get(name, MOST_LANGUAGES), name))[:MOST_LANGUAGES])

    def data(self) -> TesseractData | None:
        """What text in images is recognised with: the folder that has the most of the languages; None where none has any."""
        names = self.names()
        held = {folder: [name for name in names if _file(folder, name).is_file()] for folder in (*FOLDERS, self.joined) if folder}
        best = max(held, key=lambda folder: len(held[folder]), default="")
        return TesseractData("+".join(held[best]), best) if best and held[best] else None

    def view(self) -> dict[str, list[str]]:
        """For ``GET /v1/status``: the languages that are used, and those that are to be used and are not."""
        data = self.data()
        used = data.languages.split("+") if data else []
        return {"languages": used, "missing": [name for name in self.names() if name not in used]}


AS_INSTALLED = Recognition()
chosen: ContextVar[Recognition] = ContextVar("recognition", default=AS_INSTALLED)  # of the process, or the task, that reads


def recognition_of(wanted: str, state_dir: Path, *, rereads: bool = True) -> Recognition:
    """An edge's own, with its folder below ``state_dir``."""
    return Recognition(wanted, str(state_dir.absolute() / "tessdata"), rereads)


def prepared(made: Recognition) -> Recognition:
    """The same, with the data linked in its own folder where no other has all of it. Logs what is not installed."""
    found, joined = _installed(), Path(made.joined)
    if any(name in found for name in made.view()["missing"]):
        try:
            joined.mkdir(parents=True, exist_ok=True)
            for name in found.keys() & {*made.names(), NO_LANGUAGE}:
                _file(joined, name).unlink(missing_ok=True)
                _file(joined, name).symlink_to(found[name])
        except OSError as error:
            log.warning("the data of %s cannot be linked in %s: %s", ", ".join(made.names()), joined, error.strerror)
    if absent := [name for name in made.names() if name not in found]:
        used = ", ".join(made.view()["languages"]) or "no language"
        log.warning("Tesseract's data of %s is not installed (DGRAG_EDGE_OCR_LANGUAGES): images are read in %s", ", ".join(absent), used)
    return made


def _file(folder: str | Path, name: str) -> Path:
    return Path(folder) / f"{name}{ENDING}"


def _installed() -> dict[str, Path]:
    """What is installed, each with the file of the first folder that has it."""
    found = dict[str, Path]()
    for path in (path for folder in FOLDERS for path in Path(folder).glob(f"*{ENDING}")):
        if path.is_file():
            found.setdefault(path.stem, path)
    return found
