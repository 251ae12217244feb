"""Equations in one line each: OMML (Word, PowerPoint) and MathML (OpenDocument, HTML).

A fraction is ``(a + b)/c``, a power ``x^2``, an index ``x_i``, a root ``√(x)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from edge_node.plugins.parsers.package import Element

OMML = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_WORD_TEXT = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}t"
_SIGNS = {"\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "", "\u2212": "−"}  # invisible ones
_SCRIPT_AT_END = re.compile(r"[_^][^\W_]+\Z")
_FRACTION_AT_START = re.compile(r"\d+/\d")
_TOKENS = ("mi", "mn", "mo", "ms", "mtext")  # of MathML: they hold characters
_DEEPEST = 60  # elements within elements; deeper ones are read as their characters


def linear_omml(element: Element, depth: int = 0) -> str:
    """An ``m:oMath`` or ``m:oMathPara``, or what stands in one, as a line."""
    if depth > _DEEPEST:
        return "".join(element.itertext())
    line = _joined(_omml_piece(child, depth) for child in element)
    return "".join(_SIGNS.get(sign, sign) for sign in line)


def _omml_piece(child: Element, depth: int) -> str:
    tag = child.tag
    if tag in (f"{OMML}t", _WORD_TEXT):
        return child.text or ""
    if rule := _OMML_RULES.get(tag):
        return rule(child, depth + 1)
    is_part = isinstance(tag, str) and not tag.endswith("Pr")
    return linear_omml(child, depth + 1) if is_part else ""


def _gap(line: str, piece: str) -> str:
    """A blank between what would be read as one: "a_n cos", not "a_ncos"; "2 1/2", not "21/2"."""
    is_mixed_number = line[-1:].isdigit() and _FRACTION_AT_START.match(piece)
    has_script = _SCRIPT_AT_END.search(line[-40:]) and piece[:1].isalnum()
    return " " if is_mixed_number or has_script else ""


def _joined(pieces: Iterable[str]) -> str:
    line = ""
    for piece in pieces:
        line += _gap(line, piece) + piece
    return line


def _part(element: Element, name: str, depth: int) -> str:
    part = element.find(f"{OMML}{name}")
    return "" if part is None else linear_omml(part, depth)


def _property(element: Element, name: str, default: str) -> str:
    sign = element.find(f"{OMML}{element.tag.rpartition('}')[2]}Pr/{OMML}{name}")
    return default if sign is None else sign.get(f"{OMML}val", "")


def _grouped(text: str) -> str:
    """An operand, in brackets unless it is a single name or number."""
    bare = text.strip()
    return bare if len(bare) < 2 or bare.isalnum() or _is_bracketed(bare) else f"({bare})"


def _is_bracketed(text: str) -> bool:
    return text[0] == "(" and text[-1] == ")" and "(" not in text[1:-1] and ")" not in text[1:-1]


def _scripts(base: str, below: str, above: str) -> str:
    lower = f"_{_grouped(below)}" if below.strip() else ""
    upper = f"^{_grouped(above)}" if above.strip() else ""
    return f"{base}{lower}{upper}"


def _fraction(element: Element, depth: int) -> str:
    over, under = _part(element, "num", depth), _part(element, "den", depth)
    if _property(element, "type", "bar") == "noBar":  # as in a binomial coefficient
        return f"{over}¦{under}"
    return f"{_grouped(over)}/{_grouped(under)}"


def _scripted(element: Element, depth: int) -> str:
    base = _part(element, "e", depth)
    return _scripts(base, _part(element, "sub", depth), _part(element, "sup", depth))


def _scripted_before(element: Element, depth: int) -> str:
    scripts = _scripts("", _part(element, "sub", depth), _part(element, "sup", depth))
    return scripts + _part(element, "e", depth)


def _root(element: Element, depth: int) -> str:
    degree = _part(element, "deg", depth).strip()
    sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(degree, f"root_{_grouped(degree)}")
    return f"{sign}({_part(element, 'e', depth)})"


def _large_operator(element: Element, depth: int) -> str:
    sign = _property(element, "chr", "∫")
    scripts = _scripts(sign, _part(element, "sub", depth), _part(element, "sup", depth))
    return f"{scripts} {_part(element, 'e', depth)}"


def _delimited(element: Element, depth: int) -> str:
    begin, end = _property(element, "begChr", "("), _property(element, "endChr", ")")
    parts = [linear_omml(each, depth) for each in element.findall(f"{OMML}e")]
    return f"{begin}{_property(element, 'sepChr', '|').join(parts)}{end}"


def _function(element: Element, depth: int) -> str:
    return f"{_part(element, 'fName', depth)} {_part(element, 'e', depth)}"


def _limit_below(element: Element, depth: int) -> str:
    return _scripts(_part(element, "e", depth), _part(element, "lim", depth), "")


def _limit_above(element: Element, depth: int) -> str:
    return _scripts(_part(element, "e", depth), "", _part(element, "lim", depth))


def _matrix(element: Element, depth: int) -> str:
    lines = []
    for line in element.findall(f"{OMML}mr"):
        cells = [linear_omml(cell, depth) for cell in line.findall(f"{OMML}e")]
        lines.append(", ".join(cells))
    return f"[{'; '.join(lines)}]"


def _lines(element: Element, depth: int) -> str:
    return "; ".join(linear_omml(each, depth) for each in element.findall(f"{OMML}e"))


_OMML_RULES: dict[str, Callable[[Element, int], str]] = {
    f"{OMML}f": _fraction,
    f"{OMML}sSup": _scripted,
    f"{OMML}sSub": _scripted,
    f"{OMML}sSubSup": _scripted,
    f"{OMML}sPre": _scripted_before,
    f"{OMML}rad": _root,
    f"{OMML}nary": _large_operator,
    f"{OMML}d": _delimited,
    f"{OMML}func": _function,
    f"{OMML}limLow": _limit_below,
    f"{OMML}limUpp": _limit_above,
    f"{OMML}m": _matrix,
    f"{OMML}eqArr": _lines,
}


OMML_NAMES = frozenset(
    (
        *(tag.removeprefix(OMML) for tag in _OMML_RULES),
        *(f"{tag.removeprefix(OMML)}Pr" for tag in _OMML_RULES),
        *("oMath", "r", "num", "den", "e", "sub", "sup", "deg", "fName", "lim", "mr"),
        *("chr", "begChr", "endChr", "sepChr", "type"),
    )
)


def linear_mathml(element: Element, depth: int = 0) -> str:
    """A ``math`` element of MathML, of any namespace or none, as a line."""
    if depth > _DEEPEST or not isinstance(element.tag, str):
        return "".join(element.itertext()) if isinstance(element.tag, str) else ""
    name = element.tag.rpartition("}")[2]
    if name in ("annotation", "annotation-xml"):
        return ""
    if name in _TOKENS or not len(element):
        return "".join(_SIGNS.get(sign, sign) for sign in "".join(element.itertext()).strip())
    operands = [linear_mathml(child, depth + 1) for child in element]
    if rule := _MATHML_RULES.get((name, len(operands))):
        return rule(operands)
    if name == "msqrt":
        return f"√({_joined(operands)})"
    if name == "mfenced":
        return f"{element.get('open', '(')}{', '.join(operands)}{element.get('close', ')')}"
    if name == "mtr":
        return ", ".join(operands)
    if name == "mtable":
        return f"[{'; '.join(operands)}]"
    return _joined(operands)


_MATHML_RULES: dict[tuple[str, int], Callable[[list[str]], str]] = {
    ("mfrac", 2): lambda operands: f"{_grouped(operands[0])}/{_grouped(operands[1])}",
    ("msup", 2): lambda operands: _scripts(operands[0], "", operands[1]),
    ("mover", 2): lambda operands: _scripts(operands[0], "", operands[1]),
    ("msub", 2): lambda operands: _scripts(operands[0], operands[1], ""),
    ("munder", 2): lambda operands: _scripts(operands[0], operands[1], ""),
    ("msubsup", 3): lambda operands: _scripts(*operands),
    ("munderover", 3): lambda operands: _scripts(*operands),
    ("mroot", 2): lambda operands: f"root_{_grouped(operands[1])}({operands[0]})",
}
