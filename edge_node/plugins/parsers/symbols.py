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
_WINGDINGS = {  # by the code of the first: signs that follow each other; a blank is no usual one
    0x22: "✂✁   ",
    0x28: "☎✆✉",
    0x36: "⌛",
    0x3E: "✇✍",
    0x41: "✌ 👍👎☜☞☝☟ ☺ ☹ ☠",
    0x51: "✈☼ ❄",
    0x58: "✠✡☪☯ ☸♈♉♊♋♌♍♎♏♐♑♒♓&&●❍■□",
    0x71: "❑❒⬧⧫◆❖◆☒ ⌘",
    0x7D: "“”▯⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿",
    0x9E: "·•▪○○○◉◎ ▪☐",
    0xAA: "✦★✶✴✹✵",
    0xB5: "✪✰🕐🕑🕒🕓🕔🕕🕖🕗🕘🕙🕚🕛",
    0xD5: "⌫⌦◀➢▲▼⇐⇒⇑⇓←→↑↓↖↗↙↘←→↑↓↖↗↙↘⇦⇨⇧⇩⇔⇕⇖⇗⇙⇘▭▫✗✓☒☑",
}
_WINGDINGS_2 = {0x4F: "✗✓☒☑☒☒⊗⊗⊘⊘", 0xA3: "☐"}
_WINGDINGS_3 = {0x21: "←→↑↓↖↗↙↘", 0x70: "▲▼△▽◀▶◁▷◣◢◤◥◀▶▲▼"}
_WEBDINGS = {
    0x33: "◀▶▲▼⏪⏩⏮⏭⏸⏹⏺",
    0x61: "✓",
    0x63: "□",
    0x67: "■",
    0x69: "ℹ",
    0x6E: "●",
    0x72: "✗❓",
}


_OF_ANY_FONT = {0x20: " ", 0xA7: "▪", 0xB7: "•"}  # the marks of lists in Wingdings and Symbol


def _by_code(runs: dict[int, str]) -> dict[int, str]:
    signs = dict(_OF_ANY_FONT)
    for start, run in runs.items():
        signs |= {code: sign for code, sign in enumerate(run, start=start) if sign != " "}
    return signs


UNKNOWN = "□"
_SIGNS = {
    "symbol": dict(enumerate(_SYMBOL, start=0x20)) | dict(enumerate(_SYMBOL_HIGH, start=0xA0)),
    "wingdings": _by_code(_WINGDINGS),
    "wingdings 2": _by_code(_WINGDINGS_2),
    "wingdings 3": _by_code(_WINGDINGS_3),
    "webdings": _by_code(_WEBDINGS),
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


def has_private_signs(text: str) -> bool:
    """Whether a text has signs that only their font explains."""
    return _PRIVATE.search(text) is not None


def is_symbol_font(font: str) -> bool:
    """Whether the signs of a font are known here."""
    return _name(font) in _SIGNS


def _name(font: str) -> str:
    return font.lower().removesuffix("-regular").removesuffix("mt")


def unicode_symbols(text: str, font: str) -> str:
    r"""Text with the private signs of a font as Unicode has them; "□" for those that are not known.

    >>> unicode_symbols("\uf06d = 4 \uf0b4 2", "Symbol"), unicode_symbols("\uf0fe", "Wingdings")
    ('μ = 4 × 2', '☑')
    >>> unicode_symbols("\uf061 \uf0b7 \uf061", "Marlett"), unicode_symbols("\uf061", "Webdings")
    ('□ • □', '✓')
    """
    signs = _SIGNS.get(_name(font), _OF_ANY_FONT)
    return _PRIVATE.sub(lambda sign: signs.get(ord(sign[0]) - 0xF000, UNKNOWN), text)
