"""Headers and footers: what recurs on pages stands in the text once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from edge_node.documents.blocks import Block, TextBlock

_PAGE_FIELD = re.compile(r"\s*(PAGE|NUMPAGES|SECTIONPAGES)\b", re.IGNORECASE)


def counts_pages(field_code: str) -> bool:
    """Whether a field of Word is a number of pages.

    >>> counts_pages(" PAGE "), counts_pages(" PAGEREF _Toc1 ")
    (True, False)
    """
    return _PAGE_FIELD.match(field_code) is not None


def margin_blocks(
    blocks: Iterable[Block], seen: set[str], *, has_page_number: bool
) -> Iterator[Block]:
    """Those that were not ``seen``, where they are added; a heading there is none of the document.

    ``has_page_number``: a number alone is that of a page.
    """
    for block in blocks:
        text = block.text.strip() if isinstance(block, TextBlock) else repr(block)
        if text in seen or (has_page_number and text.isdecimal()):
            continue
        seen.add(text)
        is_text = isinstance(block, TextBlock) and block.kind == "heading"
        yield TextBlock("paragraph", text) if is_text else block
