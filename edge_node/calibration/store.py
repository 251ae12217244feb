"""What a calibration has asked so far, and what it has set: two values of the store's meta table. No text of a document is among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from edge_node.calibration.choice import Choice, Scored
from edge_node.database.schema import Database
from shared.models.fingerprint import Mark

T = TypeVar("T")
ASKED, SET = "calibration_asked", "calibration"  # keys in meta


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions that were tried with these models. ``rows``: by the key of what each was made of; None: nothing could be made of it."""

    generator: Mark
    embedder: str  # its fingerprint
    rows: Mapping[str, Scored | None]
    seconds: float = 0.0  # that all of them took


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A choice, and the models that it holds for. ``at``: seconds since the epoch."""

    generator: Mark
    embedder: str
    choice: Choice
    thresholds: Mapping[str, float]
    at: float


_ASKED, _SET = TypeAdapter(Asked), TypeAdapter(Calibrated)


class CalibrationStore:
    """Reads and writes both. What is damaged, or of another release, is as good as not there: it can be made again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def asked(self) -> Asked | None:
        """What was tried so far."""
        return _read(_ASKED, self._database.meta(ASKED))

    def keep_asked(self, asked: Asked) -> None:
        """Note what was tried."""
        self._database.set_meta(ASKED, _ASKED.dump_json(asked).decode())

    def calibrated(self) -> Calibrated | None:
        """What is set."""
        return _read(_SET, self._database.meta(SET))

    def keep_calibrated(self, calibrated: Calibrated) -> None:
        """Set a choice."""
        self._database.set_meta(SET, _SET.dump_json(calibrated).decode())

    def clear(self) -> None:
        """Forget both."""
        with self._database.write() as tx:
            tx.execute("DELETE FROM meta WHERE key IN (?, ?)", (ASKED, SET))


def _read(kind: TypeAdapter[T], value: str) -> T | None:
    try:
        return kind.validate_json(value) if value else None
    except ValidationError:
        return None
