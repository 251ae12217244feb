"""Text that a terminal or a spreadsheet takes for nothing but text. Pure."""

from __future__ import annotations

import re
import unicodedata


def plain(text: str) -> str:
    r"""The text without control characters, but for line ends and tabs. A name is ``one_line``.

    >>> plain("a\x1b[31mb\n")
    'a[31mb\n'
    """
    lines = re.sub(r"[\u2028\u2029]", "\n", text)
    return "".join(char for char in lines if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"})


def one_line(text: str) -> str:
    r"""``plain`` text without line ends and tabs, so that it forges no row of a table.

    >>> one_line("ward\n2  10:00\tbank")
    'ward 2  10:00 bank'
    """
    return plain(re.sub(r"[\r\n\t\v\f\x85\u2028\u2029]+", " ", text))


def csv_cell(cell: object) -> object:
    r"""A cell as a spreadsheet may open it: text is one line, and none is a formula. A requester names itself and its purpose.

    >>> csv_cell("\t=HYPERLINK(1)"), csv_cell("ward\r\n7\x1b[2J"), csv_cell(-3)
    ("'=HYPERLINK(1)", 'ward 7[2J', -3)
    """
    if not isinstance(cell, str):
        return cell
    text = one_line(cell).strip()
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")) else text
