"""Rows of tables: a cell that is a name or a code is one entity, whole, in every language, beside what a pack finds (design §5)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate, chain, groupby, pairwise

from edge_node.extraction.names import REMEMBERED, is_entity, normalise
from edge_node.extraction.packs.words import WITH_LISTS, words_of_language
from edge_node.extraction.syntax import CONCEPT, NameCandidate, Triple
from edge_node.extraction.words import STOP_WORDS
from shared.records import Chunk
from shared.text.sentences import NUMBER_WORDS

MOST_WORDS, MOST_CHARS, MOST_UNCASED = 6, 60, 16  # of a name in a cell; characters of one in a script without capitals
MOST_LABEL_WORDS = 6
MOST_CELLS = 40  # of a row that are related to its first
MOST_SAID = 200  # characters of a row that is told whole
PERSON = "person"
SEPARATOR = "; "

_PLACE = re.compile(r"(?:.*, )?(?:row|record) \d+")
_LABEL = re.compile(r"(?:[^:;.]|\.(?! )){1,40}(?=: )")
_ENDS = (".", "!", "?")
_INITIALS = re.compile(r"\w\.\w\.$")
_SAID = re.compile(r"[,:;?!，。！？；：、…\"“”„«»@]|\w{4}\. ")  # lists, sentences and addresses have it, and names do not
_UNCASED_SAID = re.compile("[的了是不已未需待将被]")  # words of a Chinese statement
_DATE = re.compile(r"\d{4}-\d\d-\d\d.*|[\d年月日时分秒点周星期上下午一二三四五六七八九十零〇两百千万个元台天%％\s.-]+")
_QUANTITY = re.compile(
    r"[\d.,\s]*\d\s?(?:[a-zµ%€$£°]+[²³\d]?(?:/\w+)?|[a-zA-Zµ]?(?:W|V|A|N|L|J|K|Wh|Ah|VA|Hz|Pa|B|Bq|Gy|Sv)|°[CF])(?: .*)?|[\d.,]+ \S+"
)
_CODE = re.compile(r"(?:[A-Z]{1,6}[-/]?\d|\d+[-/]?[A-Z])[\w/-]*")
_PART = re.compile(r"[^\W_]+")
_LINKS = frozenset(
    """
    of the and de la le les du des del di da do dos van von der den dem die das am im an zum zur und für y e et à
    al el los las & + - –
    """.split()  # noqa: SIM905 - a list would be a page long
)
_ARTICLES = frozenset({"the"})  # of no name but behind another small word: "Bank of the West", not "Check the Pump"
_NO_NAMES = frozenset(
    """
    yes no true false ok none nil n/a na tbd tbc unknown ja nein keine kein keiner unbekannt oui non aucun aucune inconnu sí si ninguno
    ninguna да нет 是 否 有 无 正常 合格 不合格
    """.split()  # noqa: SIM905
)

_TIMES = NUMBER_WORDS | frozenset("q1 q2 q3 q4 kw cw fy mon tue wed thu fri sat sun mo di mi do fr sa so".split())  # noqa: SIM905
_PARTICLES = frozenset("van von de der di da du del la le el al".split())  # noqa: SIM905 - "de Vries BV"
_OPENERS = frozenset("in im on at out under not no nicht kein keine ohne mit wird ist en sin sans hors à".split())  # noqa: SIM905
_TITLES = frozenset("Dr. Dr Prof. Prof Mr. Mr Mrs. Mrs Ms. Ms Herr Frau Ing. Dipl.-Ing. Sr. Sra. M. Mme".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Cell:
    """Characters [start, end) of rows, in the row that begins at ``row``, below the column ``label``; "": its table names none."""

    start: int
    end: int
    row: int
    label: str
    is_name: bool


def stretches(chunk: Chunk, tidied: Callable[[str], str] = str.strip) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    r"""The text of a chunk in stretches: rows of a table that follow each other, ``tidied``, with their cells, and other text as it is.

    A line is a row where the place of the chunk says so ("Stock, row 17"), or where it is written as readers write rows.

    >>> from shared.records import ChunkId, DocumentId
    >>> said = "It rains.\nPump: P-7; Lot: L-22.\nPump: P-9; Lot: L-23.\nIt stops.\n"
    >>> [(text, len(cells)) for text, cells in stretches(Chunk(ChunkId("d:0"), DocumentId("d"), 0, said, 0, len(said), 20))]
    [('It rains.\n', 0), ('Pump: P-7; Lot: L-22. Pump: P-9; Lot: L-23.', 4), ('It stops.\n', 0)]
    """
    for is_row, run in groupby(_lines(chunk), key=lambda line: line[1]):
        if is_row:
            rows = [(tidied(text), is_cut) for text, _, is_cut in run]
            starts = accumulate((len(row) + 1 for row, _ in rows), initial=0)
            found = (cells_of(row, at, is_cut=is_cut) for (row, is_cut), at in zip(rows, starts, strict=False))
            yield " ".join(row for row, _ in rows), tuple(chain.from_iterable(found))
        else:
            yield "".join(text for text, _, _ in run), ()


def _lines(chunk: Chunk) -> Iterator[tuple[str, bool, bool]]:
    """Each line with its end, whether it is a row, and whether it begins before the chunk does."""
    placed = {max(0, at - chunk.start): at < chunk.start for at, place in chunk.places if _PLACE.fullmatch(place)}
    at = 0
    for line in chunk.text.splitlines(keepends=True):
        is_cut = placed.get(at, at == 0 and chunk.start > 0)
        row = line.strip()
        yield line, bool(row) and (at in placed or _is_row(row, is_cut=is_cut)), is_cut
        at += len(line)


def _is_row(line: str, *, is_cut: bool) -> bool:
    """Whether a line has the form of ``row_sentence``, with two named columns at least; one that is cut begins within a cell."""
    if SEPARATOR not in line or not line.endswith(_ENDS):
        return False
    labels = [match[0] if match and len(match[0].split()) <= MOST_LABEL_WORDS else "" for match in map(_LABEL.match, line.split(SEPARATOR))]
    return sum(map(bool, labels)) > 1 and (is_cut or bool(labels[0]))


def cells_of(row: str, begin: int = 0, *, is_cut: bool = False) -> tuple[Cell, ...]:
    """The cells of a row that begins at a character.

    The first of one that is cut is no name, nor is the last of one without an end: they may be parts of names.

    >>> row = "Pump: Pump P-7; Lot: L-22; Checked: 2024-03-02; Remark: runs again."
    >>> [(row[cell.start:cell.end], cell.label) for cell in cells_of(row) if cell.is_name]
    [('Pump P-7', 'Pump'), ('L-22', 'Lot')]
    """
    found: list[Cell] = []
    at, label = 0, ""
    for piece in row.split(SEPARATOR):
        match = _LABEL.match(piece)
        label = match[0].strip() if match else label
        start, end = at + (len(match[0]) + 2 if match else 0), at + len(piece)
        is_part = is_cut and at == 0 and match is None
        if end == len(row):
            is_part |= not row.endswith(_ENDS)
            end -= row.endswith(".") and not _INITIALS.search(row)
        found.append(
            Cell(begin + start, begin + end, begin, label, not is_part and end - start <= MOST_CHARS and names_something(row[start:end]))
        )
        at += len(piece) + len(SEPARATOR)
    return tuple(found)


@lru_cache(maxsize=REMEMBERED)
def names_something(cell: str) -> bool:
    """Whether a cell is a name or a code: short, with a capital or a digit where letters have a case, and no date, number or statement.

    >>> [names_something(cell) for cell in ("Pump P-7", "L-22", "Alder & Finch Ltd", "Klinik am Park", "Müller KG", "手术室二号泵")]
    [True, True, True, True, True, True]
    >>> cells = ("12.5 kg", "28 Betten", "2 March 2024", "2. März 2024", "Q3 2024", "Yes", "runs again", "Needs a new fan", "an@b.org")
    >>> [names_something(cell) for cell in cells if names_something(cell)]
    []
    """
    words = cell.split()
    if not words or len(words) > MOST_WORDS or _SAID.search(cell) or not is_entity(cell):
        return False
    if _DATE.fullmatch(cell) or _QUANTITY.fullmatch(cell) or all(map(_says_nothing, words)):
        return False
    if cell.lower() == cell.upper():
        return len(cell) <= MOST_UNCASED and not _UNCASED_SAID.search(cell)
    if any(map(_CODE.fullmatch, words)):  # "infusion pump P-7", but not "replaced by P-7"
        return _is_marked(words[-1]) and all(_is_marked(word) or word not in STOP_WORDS for word in words)
    return (len(words) > 1 or _is_plainly_a_name(cell)) and _is_linked(words)


def _is_plainly_a_name(word: str) -> bool:
    """One word that no pack need know: "NATO", "HbA1c"; "Fee" and "Novabell" are told apart by a pack alone."""
    return any(sign.isupper() or sign.isdigit() for sign in word[1:])


def _is_linked(words: Sequence[str]) -> bool:
    """Whether all words have capitals but small ones between them, none of which stands before a time or a number ("Price of 2024")."""
    small = [not _is_marked(word) and (word in _LINKS or word in _PARTICLES or word.endswith(".")) for word in words]
    opens = (words[0] in _PARTICLES or not small[0]) and words[0].lower() not in _OPENERS
    if (
        not opens
        or small[-1]
        or not all(is_small or _is_marked(word) or word == "plc" for is_small, word in zip(small, words, strict=True))
    ):
        return False
    behind = [(word, before) for before, word in pairwise(words) if before in _LINKS or word in _ARTICLES]
    return all(before in _LINKS if word in _ARTICLES else word in _LINKS or not _says_nothing(word) for word, before in behind)


def _says_nothing(word: str) -> bool:
    """A number, or one of the words that are no name alone, also several with signs between them: "02-Mar-2024"; a code does."""
    small, said = word.casefold(), _said_anywhere()
    known = _TIMES if _CODE.fullmatch(word) and word.isupper() else said
    return small in said or all(part.isdigit() or (len(part) > 1 and part in known) for part in _PART.findall(small))


def _is_marked(word: str) -> bool:
    """Has a capital, a digit, or a letter of a script without capitals."""
    return any(sign.isupper() or sign.isdigit() or (sign.isalpha() and sign.lower() == sign.upper()) for sign in word)


@cache
def _said_anywhere() -> frozenset[str]:
    """Words of times, measures and grammar, of all languages with lists: what is made of nothing else is no name."""
    lists = [words_of_language(language) for language in sorted(WITH_LISTS)]
    return STOP_WORDS | _TIMES | _NO_NAMES | _LINKS | frozenset().union(*(each.dropped | each.stop for each in lists))


@dataclass(frozen=True, slots=True)
class Found:
    """What is found in rows: candidates by their number, who is related to whom, and by candidate what is said of it."""

    candidates: dict[int, NameCandidate]
    triples: list[Triple]
    sentences: dict[int, str]


def with_cells(text: str, cells: Sequence[Cell], found: Found, places: Mapping[int, int]) -> Found:
    """What a pack found in rows, with the cells that are names as entities; numbered anew.

    A cell takes the place of the pieces that were found in it, and the type of the one that is all of it, else of the longest that has
    one. Persons in it stay, for who masks them. A row's first name is related to its others by the names of their columns; between
    cells no grammar holds. ``places``: of each found candidate the character that its head begins at.

    >>> row = "Pump: Pump P-7; Lot: L-22."
    >>> of_pack = Found({2: NameCandidate("p 7", "P-7", "product", "name", 2)}, [], {2: row})
    >>> found = with_cells(row, cells_of(row), of_pack, {2: 11})
    >>> [(one.name, one.type) for one in found.candidates.values()], found.triples
    ([('Pump P-7', 'product'), ('L-22', 'concept')], [Triple(source=0, target=1, phrase='lot')])
    """
    within = _within(cells, places)
    ends = {cell.row: cell.end for cell in cells}
    kept: list[tuple[NameCandidate, str]] = []
    news: dict[int, int] = {}  # by the number that a pack gave
    joined: list[Triple] = []
    first: dict[int, tuple[int, Cell]] = {}  # by row
    for cell in cells:
        pieces = {number: found.candidates[number] for number in within.get(cell.start, ())}
        if cell.is_name:
            name = _named(text[cell.start : cell.end], pieces.values())
            head, of_row = first.setdefault(cell.row, (len(kept), cell))
            if cell.label and len(kept) - head in range(1, MOST_CELLS) and kept[head][0].key != name.key:
                joined.append(Triple(head, len(kept), cell.label.lower()))
            kept.append((name, _said_of(text, of_row, cell, ends[cell.row])))
            pieces = {number: one for number, one in pieces.items() if one.type == PERSON and one.key != name.key}
        news |= {number: len(kept) + place for place, number in enumerate(pieces)}
        kept += [(one, found.sentences.get(number, "")) for number, one in pieces.items()]
    cell_of = {number: start for start, numbers in within.items() for number in numbers}
    own = [one for one in found.triples if {one.source, one.target} <= news.keys() and cell_of[one.source] == cell_of[one.target]]
    return Found(
        {new: replace(one, root=new) for new, (one, _) in enumerate(kept)},
        joined + [Triple(news[one.source], news[one.target], one.phrase) for one in own],
        {new: said for new, (_, said) in enumerate(kept)},
    )


def _within(cells: Sequence[Cell], places: Mapping[int, int]) -> dict[int, list[int]]:
    """By the start of a cell the numbers of the candidates in it; what is in none is of a column's name."""
    starts = [cell.start for cell in cells]
    found = defaultdict[int, list[int]](list)
    for number, place in sorted(places.items()):
        at = bisect_right(starts, place) - 1
        if at >= 0 and place < cells[at].end:
            found[starts[at]].append(number)
    return found


def _named(name: str, inside: Collection[NameCandidate]) -> NameCandidate:
    """The candidate that a cell is; "Dr. Anna Lee" is the Anna Lee whom a pack found in it."""
    key = normalise(name)
    for one in inside:
        if one.key == key or (one.type == PERSON and _TITLES.issuperset(name.replace(one.name, "", 1).split())):
            return replace(one, name=name if one.key == key else one.name, standing="name")
    typed = sorted((one for one in inside if one.type not in (CONCEPT, PERSON)), key=lambda one: len(one.name))
    return NameCandidate(key, name, typed[-1].type if typed else CONCEPT, "name", 0)


def _said_of(text: str, first: Cell, cell: Cell, end: int) -> str:
    """The row, which has its last cell's ``end``; of a long one its first name and the cell."""
    if end - cell.row < MOST_SAID:
        return f"{text[cell.row : end]}."
    said = [f"{one.label}: {text[one.start : one.end]}".removeprefix(": ") for one in dict.fromkeys((first, cell))]
    return SEPARATOR.join(said) + "."
