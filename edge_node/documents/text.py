"""What every reader returns, and the form in which text enters the system."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from edge_node.records import Table
from shared.errors import UnreadableDocument
from shared.records import Mark

MAX_TEXT_CHARS = 20_000_000  # of one document: about 30 thick books
OLE_MAGIC = b"\xd0\xcf\x11\xe0"  # of a compound file: of before 2007, of Outlook, or behind a password
MAX_PAGES = 5_000  # of a document, or slides
MAX_TITLE_CHARS = 200
MAX_PLACE_CHARS = 120

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Control characters but tab and newline: a blank stands where they part two words or figures.
_CONTROLS = "\x00-\x08\x0e-\x1f\x7f-\x9f"
_CONTROL_RUN = re.compile(rf"[{_CONTROLS}]+")
_COLOURS = re.compile("\x1b\\[[0-9;]{0,20}[A-Za-z]")  # and other commands to a terminal
_CUT = re.compile("\xad[ \t]{0,80}\n[ \t]{0,80}(?=[^\\W\\d_])")  # a soft hyphen that a line's end made visible
# What is left of them, lone surrogates, and signs without width that would split a word for every later match.
_UNWANTED = re.compile(rf"[{_CONTROLS}\xad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
_MAX_MARKS = 30  # on one letter, as in Unicode's stream-safe format: NFC takes time with the square of their number
_MARKS = re.compile(rf"[^\w\s\x00-\x7f]{{{_MAX_MARKS + 1},}}")
_BLANK_LINES = re.compile(r"\n{3,}")
_KEPT_OF_DATA = 64  # characters: enough to see what it was
_SHORT = 1_000  # too short for such data
_DATA = re.compile(rf"(?<![\w+/=-])([\w+/=-]{{{_KEPT_OF_DATA}}})[\w+/=-]{{960,}}+", re.ASCII)  # Base64 in one line: no word is so long
_LOST = "\ufffd"  # stands for bytes that are no character
_MAX_LOST_SHARE = 0.2  # French that is read as ASCII loses 4 % of its characters, noise half of them


@dataclass(frozen=True, slots=True)
class ReadText:
    """A document as text. Headings are lines that begin with ``#``, list items with ``-``; blank lines part paragraphs."""

    title: str
    text: str
    places: tuple[Mark, ...] = ()  # of the text as it is here: with places, it is normalised already
    shortfalls: tuple[tuple[str, str], ...] = ()  # code and message: what of the document could not be read, or not well
    tables: tuple[Table, ...] = ()  # as they were found in it, beside their rows' sentences in the text
    parsers: tuple[str, ...] = field(default=(), compare=False)  # the version tags of those that read it and what is inside


def normalised(text: str) -> str:
    r"""Return ``text`` in NFC, with ``\n`` line ends, without control characters, lone surrogates, runs of blank lines and Base64.

    A word that a soft hyphen has cut at a line's end is whole; what control characters part stays parted.

    >>> normalised('Cafe\u0301\r\n\r\n\r\n\x00two\ud800  \n')
    'Café\n\ntwo'
    >>> normalised('5\x9610 mg of Po\xad\nlitik')
    '5 10 mg of Politik'
    """
    if len(text) < _SHORT and text.isascii() and text.isprintable():
        return text.rstrip()
    text = _CUT.sub("", _COLOURS.sub("", _LINE_ENDS.sub("\n", text)))
    text = _UNWANTED.sub("", _CONTROL_RUN.sub(_blank_between, text)).replace("\xa0", " ")
    text = unicodedata.normalize("NFC", _MARKS.sub(_fewer_marks, text))
    text = _DATA.sub(r"\1…", text)
    return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip("\n")


def _blank_between(run: re.Match[str]) -> str:
    """A blank for control characters that part two words, nothing for others."""
    before, after = run.string[max(run.start() - 1, 0) : run.start()], run.string[run.end() : run.end() + 1]
    return " " if before.strip() and after.strip() else ""


def _fewer_marks(run: re.Match[str]) -> str:
    return "".join(sign for at, sign in enumerate(run.group()) if at < _MAX_MARKS or not unicodedata.combining(sign))


def one_line(text: str) -> str:
    """Return ``text`` as a title: normalised, white space squeezed, at most ``MAX_TITLE_CHARS`` characters."""
    return " ".join(normalised(text).split())[:MAX_TITLE_CHARS].rstrip()


def shortened_place(place: str) -> str:
    """Return the name of a place as one line of at most ``MAX_PLACE_CHARS`` characters."""
    return one_line(place)[:MAX_PLACE_CHARS]


def stem(name: str) -> str:
    """Return a file name without its folders and suffix.

    >>> stem('wards/juniper.v2.md')
    'juniper.v2'
    """
    base = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return base.rpartition(".")[0] or base


def suffix(name: str) -> str:
    """Return a file name's suffix in lower case, with its dot; ``""`` if it has none.

    >>> suffix('Report.PDF'), suffix('v1.2/report')
    ('.pdf', '')
    """
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    return base[base.rfind(".") :].lower() if "." in base else ""


def check_pages(name: str, count: int, *, unit: str = "pages", most: int | None = None) -> None:
    """Raises UnreadableDocument (``too_large``) for a document of more than ``most`` pages, before they are read."""
    limit = MAX_PAGES if most is None else most
    if count > limit:
        raise too_large(name, f"has more than {limit} {unit}")


def capped(name: str, parts: Iterable[str], *, separator: str = "\n") -> str:
    """Join ``parts``; raise UnreadableDocument (``too_large``) as soon as they pass ``MAX_TEXT_CHARS``."""
    kept: list[str] = []
    total = 0
    for part in parts:
        total += len(part) + len(separator)
        if total > MAX_TEXT_CHARS:
            raise too_large(name, f"holds more than {MAX_TEXT_CHARS} characters of text")
        kept.append(part)
    return separator.join(kept)


def is_noise(text: str) -> bool:
    """Whether so much of ``text`` stands for no character that it is other bytes, read as text.

    >>> is_noise("Caf\ufffd, two rooms, ten tables"), is_noise("\ufffd\ufffdP\ufffd")
    (False, True)
    """
    return text.count(_LOST) > _MAX_LOST_SHARE * len(text)


def not_text(name: str) -> UnreadableDocument:
    """Return the error for bytes that stand for no text."""
    return UnreadableDocument(name, "not_text", "its bytes are not text in any known encoding", next_step="save it as UTF-8 text or as PDF")


def too_large(name: str, message: str) -> UnreadableDocument:
    """Return the error for a document that would unfold into more than a node should hold."""
    return UnreadableDocument(name, "too_large", message, next_step="split the document and add the parts")


def row_sentence(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return one table row as a sentence that names each filled column, so that it can be understood alone.

    >>> row_sentence(['Ward', 'Beds'], ['Juniper', '28', 'new'])
    'Ward: Juniper; Beds: 28; new.'
    >>> row_sentence(['Ward'], [' '])
    ''
    """
    names = [*header, *[""] * (len(cells) - len(header))]
    return named_values((" ".join(label.split()) for label in names), (" ".join(cell.split()) for cell in cells))


def named_values(names: Iterable[str], texts: Iterable[str]) -> str:
    """Return a sentence of the texts that are not empty, each with its name; white space stays as it is."""
    pairs = zip(names, texts, strict=False)
    return ended("; ".join([f"{name}: {text}" if name else text for name, text in pairs if text]))


def ended(line: str) -> str:
    """Return a line that ends as a sentence does, unless it is empty."""
    return line if not line or line.endswith((".", "!", "?")) else line + "."
