"""Text that is struck through: parsers mark it alike, so that nobody takes it for valid.

Of sheets whole cells are marked. Presentations before 2007 and .xlsb workbooks do not say it.
"""

from __future__ import annotations

STRUCK = "~~"  # as in Markdown of GitHub


def struck(text: str) -> str:
    """A text all of which is struck through.

    >>> struck("5 mg"), struck("")
    ('~~5 mg~~', '')
    """
    return f"{STRUCK}{text}{STRUCK}" if text.strip() else text


def mark_struck(pieces: list[str], start: int = 0) -> None:
    """Mark the words from piece ``start`` on, as one with what is struck right before them.

    >>> pieces = ["Give", " 5", " mg", " daily"]
    >>> mark_struck(pieces, 3)
    >>> "".join(pieces)
    'Give 5 mg ~~daily~~'
    """
    text = "".join(piece for piece in pieces[start:] if piece != STRUCK)
    words = text.strip()
    if not words:
        return
    before, behind = text.split(words, 1)
    last = start - 1
    while last >= 0 and not pieces[last].strip(" "):
        last -= 1
    if last >= 0 and pieces[last] == STRUCK:
        del pieces[last]
        pieces[start - 1 :] = [before, words, STRUCK, behind]
    else:
        pieces[start:] = [before, STRUCK, words, STRUCK, behind]
