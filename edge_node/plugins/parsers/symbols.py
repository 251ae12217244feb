"""Signs of fonts that have a code page of their own (Symbol, Wingdings), as Unicode has them."""

from __future__ import annotations

import re

_SYMBOL = (  # Adobe's encoding of Symbol, from 0x20
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟ"
    "ΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
)
_SYMBOL_HIGH = (  # from 0xA0
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…  ↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑           ⟩∫"
)
_SIGNS = {
    "symbol": dict(enumerate(_SYMBOL, start=0x20)) | dict(enumerate(_SYMBOL_HIGH, start=0xA0)),
    "wingdings": {
        0x4A: "☺",
        0x6C: "●",
        0x6E: "■",
        0x6F: "□",
        0x71: "❑",
        0x72: "❒",
        0x76: "❖",
        0x77: "◆",
        0x9F: "•",
        0xA7: "▪",
        0xA8: "☐",
        0xD8: "➢",
        0xDF: "←",
        0xE0: "→",
        0xE1: "↑",
        0xE2: "↓",
        0xE8: "→",
        0xF0: "⇨",
        0xFB: "✗",
        0xFC: "✓",
        0xFD: "☒",
        0xFE: "☑",
    },
    "wingdings 2": {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0xA3: "☐"},
}
_PRIVATE = re.compile("[\uf020-\uf0ff]")  # where such fonts lie in Unicode
_HALF = re.compile("[\ud800-\udfff]")


def joined_halves(text: str) -> str:
    r"""Text in which no character stands as its two halves of UTF-16; a lone half is a lost one.

    >>> joined_halves("\ud800\udf32"), joined_halves("\ud800")
    ('𐌲', '\ufffd')
    """
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def unicode_symbols(text: str, font: str) -> str:
    r"""Text with the private signs of a font as Unicode has them; an unknown one is a blank.

    >>> unicode_symbols("\uf06d = 4 \uf0b4 2", "Symbol"), unicode_symbols("\uf0fe", "Wingdings")
    ('μ = 4 × 2', '☑')
    """
    signs = _SIGNS.get(font.lower(), _SIGNS["symbol"])
    return _PRIVATE.sub(lambda sign: signs.get(ord(sign[0]) - 0xF000, " "), text)
