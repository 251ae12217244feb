"""A page that shows Markdown: the strictest judge of what is inert."""

from markdown_it import MarkdownIt

_MARKDOWN = MarkdownIt("commonmark", {"html": True})
_ACTIVE = {"link_open", "image", "html_inline", "html_block"}


def active(text):
    """The kinds of active markup that a CommonMark viewer finds in a text."""
    blocks = _MARKDOWN.parse(text)
    return {token.type for block in blocks for token in [block, *(block.children or [])]} & _ACTIVE
