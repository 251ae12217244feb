"""What a page holds and does not show: by its attributes, its styles and its style sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_SELECTORS = 200
MAX_SHEET_CHARS = 500_000
_END = r"\s*(?:!important\s*)?(?:;|$)"
_NO_EXTENT = rf"(?:max-)?(?:height|width)\s*:\s*0(?:px)?{_END}"
_HIDDEN = re.compile(
    rf"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    rf"|opacity\s*:\s*0?\.?0+{_END}|{_NO_EXTENT}.{{0,500}}?overflow\s*:\s*hidden"
    rf"|overflow\s*:\s*hidden.{{0,500}}?{_NO_EXTENT})",
    re.IGNORECASE | re.DOTALL,
)
_NO_SIZE = re.compile(
    rf"(?:^|[;\s])font-size\s*:\s*0?\.?0+(?:[a-z]{{2,4}}|%)?{_END}", re.IGNORECASE
)
_SHOWN = re.compile(r"display\s*:\s*(?!none)|visibility\s*:\s*visible", re.IGNORECASE)
_STRUCK = re.compile(r"text-decoration(?:-line)?\s*+:[^;]{0,100}?\bline-through", re.IGNORECASE)
_COMMENT = re.compile(r"/\*(?:.*?\*/|.*+)", re.DOTALL)
_RULE = re.compile(r"([^{}]{1,300})\{([^{}]{0,2000})\}")
_SIMPLE_SELECTOR = re.compile(r"[\w-]*(?:[.#][\w-]+)+")


def is_hidden(node: LexborNode, tag: str, attributes: Mapping[str, str | None]) -> bool:
    """Whether an element says of itself that it is not shown.

    One with a font size of 0 may hold others that set their own.
    """
    if "hidden" in attributes or (tag == "dialog" and "open" not in attributes):
        return True
    style = attributes.get("style") or ""
    if not style:
        return False
    if _HIDDEN.search(style):
        return True
    return bool(_NO_SIZE.search(style)) and not _sets_size(node)


def _sets_size(node: LexborNode) -> bool:
    styled = node.css('[style*="font"]')
    return any(inner.mem_id != node.mem_id for inner in styled)


def is_struck(tag: str, attributes: Mapping[str, str | None]) -> bool:
    """Whether an element says of itself that its text is struck through."""
    if tag in ("s", "strike"):
        return True
    style = attributes.get("style") or ""
    return "line-through" in style and _STRUCK.search(style) is not None


def struck_nodes(tree: LexborHTMLParser) -> frozenset[int]:
    """The elements whose text rules of the page's style sheets strike through."""
    rules = (selectors for selectors, style in _rules(tree) if _STRUCK.search(style))
    names = (name.strip() for selectors in rules for name in selectors.split(","))
    simple = list(filter(_SIMPLE_SELECTOR.fullmatch, names))[:MAX_SELECTORS]
    return frozenset(node.mem_id for name in simple for node in tree.css(name))


def hidden_nodes(tree: LexborHTMLParser) -> frozenset[int]:
    """The elements that rules of the page's style sheets hide, for any width and medium.

    A class that another rule shows again is switched by a script: its elements are content.
    """
    hiding = dict[str, None]()
    shown = ""
    for selectors, style in _rules(tree):
        if _HIDDEN.search(style) or _NO_SIZE.search(style):
            simple = filter(_SIMPLE_SELECTOR.fullmatch, map(str.strip, selectors.split(",")))
            hiding |= dict.fromkeys(simple)
        elif _SHOWN.search(style):
            shown += f" {selectors} "
    found = set[int]()
    for selector in list(hiding)[:MAX_SELECTORS]:
        if not re.search(rf"{re.escape(selector)}(?![\w-])", shown):
            found.update(node.mem_id for node in tree.css(selector))
    return frozenset(found)


def _rules(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for sheet in tree.css("style"):
        medium = (sheet.attributes.get("media") or "").casefold()
        if medium in ("", "all", "screen"):
            text = _COMMENT.sub("", sheet.text()[:MAX_SHEET_CHARS])
            for rule in _RULE.finditer(_without_conditions(text)):
                yield rule[1], rule[2]


def _without_conditions(text: str) -> str:
    """A style sheet without its blocks of rules for some media."""
    kept = list[str]()
    depth = begin = 0
    is_condition = False
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "}":
            depth = max(0, depth - 1)
            if is_condition and depth == 0:
                begin, is_condition = brace.end(), False
            continue
        if depth == 0:
            head = max(text.rfind("}", begin, brace.start()), text.rfind(";", begin, brace.start()))
            start = max(head + 1, begin)
            if text[start : brace.start()].lstrip().startswith("@"):
                kept.append(text[begin:start])
                is_condition = True
        depth += 1
    return "".join([*kept, "" if is_condition else text[begin:]])
