"""Text that a terminal or a spreadsheet takes for nothing but text. Pure."""

from __future__ import annotations

import re
import unicodedata

LINE_END = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # all that str.splitlines breaks at, but "\n"


def plain(text: str) -> str:
    r"""A text of several lines without control characters, but for tabs; each line ends in "\n". A name is ``one_line``.

    >>> plain("a\x1b[31mb\u2028c\r\n")
    'a[31mb\nc\n'
    """
    lines = LINE_END.sub("\n", text)
    return "".join(char for char in lines if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"})


def one_line(text: str) -> str:
    r"""``plain`` text without line ends and tabs, so that it forges no row of a table.

    >>> one_line("ward\n2  10:00\tbank\x85\u2028x")
    'ward 2  10:00 bank x'
    """
    return re.sub(r"[\n\t]+", " ", plain(text))


def csv_cell(cell: object) -> object:
    r"""A cell as a spreadsheet may open it: text is one line, and none is a formula. A requester names itself and its purpose.

    >>> csv_cell("\t=HYPERLINK(1)"), csv_cell("ward\r\n7\x1b[2J"), csv_cell(-3)
    ("'=HYPERLINK(1)", 'ward 7[2J', -3)
    """
    if not isinstance(cell, str):
        return cell
    text = one_line(cell).strip()
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")) else text
