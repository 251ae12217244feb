"""Notebooks (.ipynb, nbformat 3 and 4): cells in order, with what they printed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from edge_node.documents.blocks import Block, ParsedDocument, TextBlock
from edge_node.documents.parsers import Parser
from edge_node.plugins.parsers.charsets import decoded
from edge_node.plugins.parsers.html import left_out_of
from edge_node.plugins.parsers.json_lines import parse_json
from edge_node.plugins.parsers.markdown import html_blocks, markdown_blocks
from edge_node.plugins.parsers.package import left_out


def parse_notebook(name: str, data: bytes) -> ParsedDocument:
    """Markdown, code and printed results; pictures are a shortfall. Raises as ``parse_json``."""
    source = decoded(name, data)
    try:
        notebook = json.loads(source.text)
    except (ValueError, RecursionError):
        return parse_json(name, data)
    cells = _cells(notebook) if isinstance(notebook, dict) else []
    if not cells:
        return parse_json(name, data)
    kinds = Counter[str]()
    blocks = tuple(block for cell in cells for block in _cell_blocks(cell, kinds))
    pictures = sum(_is_picture(output) for cell in cells for output in _dicts(cell.get("outputs")))
    counts = (pictures, "picture in the results", "pictures in the results")
    shortfalls = (*source.shortfalls, *left_out_of(kinds), *left_out(counts, code="part_unread"))
    return ParsedDocument(blocks, "", shortfalls)


def _cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    if cells := _dicts(notebook.get("cells")):
        return cells
    sheets = _dicts(notebook.get("worksheets"))
    return [cell for sheet in sheets for cell in _dicts(sheet.get("cells"))]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    """A text is stated whole, or as a list of its lines with their ends or, of old, without."""
    if not isinstance(value, list):
        return str(value or "")
    lines = list(map(str, value))
    has_ends = all(line.endswith("\n") for line in lines[:-1])
    return ("" if has_ends else "\n").join(lines)


def _cell_blocks(cell: dict[str, Any], left_out: Counter[str]) -> Iterator[Block]:
    text = _text(cell.get("source") or cell.get("input"))
    match cell.get("cell_type"):
        case "markdown":
            yield from markdown_blocks(text, left_out)
        case "heading":
            yield TextBlock("heading", text, int(cell.get("level") or 1))
        case "code":
            yield TextBlock("code", text.rstrip("\n"))
            for output in _dicts(cell.get("outputs")):
                yield from _output_blocks(output, left_out)
        case _:
            yield TextBlock("paragraph", text)


def _output_blocks(output: dict[str, Any], left_out: Counter[str]) -> Iterator[Block]:
    if output.get("output_type") in ("error", "pyerr"):
        yield TextBlock("paragraph", f"{output.get('ename')}: {output.get('evalue')}")
        return
    forms = output.get("data")
    forms = forms if isinstance(forms, dict) else output
    html = _text(forms.get("text/html") or forms.get("html"))
    plain = _text(forms.get("text/plain") or forms.get("text"))
    if "<table" in html:
        yield from html_blocks(html, left_out)
    elif markdown := _text(forms.get("text/markdown")):
        yield from markdown_blocks(markdown, left_out)
    elif plain or html:
        yield TextBlock("code", (plain or html).strip("\n"))


def _is_picture(output: dict[str, Any]) -> bool:
    forms = output.get("data")
    forms = forms if isinstance(forms, dict) else output
    return any(key.startswith("image/") or key in ("png", "jpeg", "svg") for key in forms)


NOTEBOOK = Parser("notebook", 2, parse_notebook, media_types={".ipynb": "application/x-ipynb+json"})
