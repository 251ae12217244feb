"""Masks identifiers and names in what leaves, character for character, so that places in a document stay true (goal P5)."""

from __future__ import annotations

import hashlib
import html
import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from urllib.parse import unquote

import phonenumbers
from stdnum import iban, numdb
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.us import ssn

from edge_node.policy.patterns import bounded
from edge_node.policy.rules import Identifier, Redact
from shared.text.language import is_latin

CONTEXT_CHARS = 80  # beside a passage: an identifier that its edge cuts is looked for as a whole
MASK = "█"
_GAP = "[ ._/-]"  # what stands between groups of digits
_WIDE_GAP = "(?: ?[|,-] ?|[ ._/])"  # of an IBAN, whose country, length and check digits tell it from the cells of a table
_DASH = "(?: ?- ?|[ ._/])"
_NO_CODE = re.compile(r"[^A-Za-z0-9]")
_CARD_GROUPS = re.compile(  # of four times four digits, or of 4, 6 and 5: there alone a comma or a bar may stand between them
    r"(?<![^\W_])(?:(?:[3-6]\d|2[2-7])\d\d(?P<gap> ?[|,-] ?)\d{4}(?P=gap)\d{4}(?P=gap)\d{4}"
    r"|3[47]\d\d(?P<other> ?[|,-] ?)\d{6}(?P=other)\d{5})(?!\d)",
    re.ASCII,
)
_LEAST_CARD = 13  # digits
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)  # the sum of the digits of twice a digit
_WORD = re.compile(r"[^\W_]+")
_NAME_GAP_CHARS = 3  # at most so many characters between two words of a name
_PARTICLES = frozenset("al bin da de del della den der di do dos du el ibn la le ten ter van vom von zu zum zur".split())  # noqa: SIM905
_MOST_PARTICLES = 3  # "van der", "de la"
_MAX_NAME_WORDS = 12
_LEAST_GENITIVE = 4  # letters of a word to which a language adds an s, as in "Obermayers Akte"
_EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_PERSON = re.compile(  # numbers of persons in the United States, Britain and France, whose shape or check digits are known
    rf"(?<!\d)(?:\d{{3}}{_DASH}?\d{{2}}{_DASH}?\d{{4}}|\d{{3}}{_DASH}?\d{{3}}{_DASH}?\d{{4}}|[12](?:{_DASH}?\d){{14}})(?!\d)", re.ASCII
)
_RECORD = re.compile(
    r"\b(?P<code>[A-Z]{1,6}[-/_]?\d[\d-]{3,14}\d)\b"
    r"|\b(?:mrn|record|patient|case|chart|file|account|acct|policy|invoice|customer|member|admission|no|nr|number|id)\b"
    r"[\s.:#-]{0,4}(?:(?:no|nr|number|id)\b[\s.:#-]{0,4})?(?P<number>[A-Z]{0,6}[-/_]?\d[\d./-]{2,18}\d)\b",
    re.IGNORECASE,
)

_LINE_END = r"[^\S\n]*+\n\s*+"  # with blanks around it; possessive, so that no run of white space is looked at twice
_PIECE = re.compile(
    r"(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});)"
    rf"|(?P<joined>-{_LINE_END}(?=[a-z])|(?<=-){_LINE_END}(?=\d)|(?<=@){_LINE_END}|{_LINE_END}(?=@)"  # what the end of a line cuts
    r"|\*{1,3}|\\(?=[^\w\s]))"  # Markdown
    r"|(?P<percent>(?:%[0-9A-Fa-f]{2}){1,12})"  # of an address
    r"|(?P<inline></?(?:b|em|font|i|mark|small|span|strong|u)(?:\s[^<>\n]{0,200})?>)"
    r"|(?P<tag></?[A-Za-z][^<>\n]{0,200}>)"
    r"|(?P<space>\s+)"
    r"|(?P<character>.)",
    re.DOTALL,
)
_PLAIN = re.compile(r"(?:[^\W_]|[.,;:!?@/#()'\"-]| (?! ))*", re.ASCII)  # most texts: nothing here means anything else
_FOLDED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "0": "o"})
# Cyrillic, Greek and Armenian letters that are drawn as Latin ones
_LOOKS_LIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԚԜаеіјорсухѕԛԝһԁΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαινρυՕՍՏԼօսհոյցզ",
    "ABESIJKMHOPCTYXQWaeijopcyxsqwhdABEZHIKMNOPTYXoaivpuOUSLouhnjgq",
)

_LETTERED_WORD = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*")
_LETTERED_PARTICLES = frozenset("da de del della der di dos du el la le ten ter van von y".split())  # noqa: SIM905 - a list would be a page long
_LETTER_GAP = re.compile(r"[ \t\u00a0]{1,2}|\. ?")  # between the words of a name
LEAST_LETTERS = 2  # one letter of another script is a symbol, as in a formula


@dataclass(frozen=True, slots=True)
class Shadow:
    """``text`` to be searched, and for each of its characters where what it stands for begins and ends in the original."""

    text: str
    places: tuple[tuple[int, int], ...] | None  # None: the same as in the original

    @classmethod
    def of(cls, original: str, *, joined: bool = False) -> Shadow:
        r"""Compatibility forms become plain ones, digits 0-9, dashes "-", white space one blank; accents and what is invisible go.

        A tag is a blank; ``joined``: one inside a line, as <b>, is nothing.

        >>> Shadow.of("4111\u00ad **1111**, Nightin-\ngale").text
        '4111 1111, Nightingale'
        """
        if _PLAIN.fullmatch(original):
            return cls(original, None)
        text, places = list[str](), list[tuple[int, int]]()
        for piece in _PIECE.finditer(original):
            for character in "" if joined and piece["inline"] else _meant(piece):
                text.append(character)
                places.append(piece.span())
        return cls("".join(text), tuple(places))

    @classmethod
    def readings(cls, original: str) -> list[Shadow]:
        """A text as its words are written, and, where a tag inside a line may cut one, as they are read."""
        apart = cls.of(original)
        return [apart, cls.of(original, joined=True)] if "<" in original and ">" in original else [apart]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where [start, end) of ``text`` stands in the original; never empty for what is not."""
        if self.places is None or start >= end:
            return start, end
        return self.places[start][0], self.places[end - 1][1]


def _meant(piece: re.Match[str]) -> str:
    if piece["joined"]:
        return ""
    if piece["space"] or piece["tag"] or piece["inline"]:
        return " "
    if piece["percent"]:
        return "".join(map(_plain_letters, unquote(piece["percent"])))
    if piece["entity"]:
        return "".join(map(_plain_letters, html.unescape(piece["entity"])))
    return _plain_letters(piece["character"])


@lru_cache(4_096)
def _plain_letters(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Pd" or character == "\u2212":
        return "-"
    if category in {"Cf", "Mn", "Me"}:
        return ""
    whole = unicodedata.normalize("NFKD", character.translate(_LOOKS_LIKE))
    return "".join(part for part in whole if not unicodedata.combining(part))


def strangely_written(text: str) -> Iterator[tuple[int, int]]:
    """Characters [start, end) of words of a script that is not Latin, and of runs of capitalised words one of which has an accent.

    >>> text = "Dr. María de García saw 张伟 at the café."
    >>> [text[start:end] for start, end in strangely_written(text)]
    ['Dr. María de García', '张伟']
    """
    if text.isascii():
        return
    run: list[tuple[int, int]] = []
    for match in _LETTERED_WORD.finditer(text):
        word = match.group()
        joined = bool(run) and _LETTER_GAP.fullmatch(text, run[-1][1], match.start()) is not None
        if not joined or not (word[0].isupper() or word in _LETTERED_PARTICLES):
            yield from _name(text, run)
            run = []
        if word[0].isupper() or run:
            run.append(match.span())
        if sum(not is_latin(letter) for letter in word if letter.isalpha()) >= LEAST_LETTERS:
            yield match.span()
    yield from _name(text, run)


def _name(text: str, run: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    while run and text[slice(*run[-1])] in _LETTERED_PARTICLES:
        run = run[:-1]
    if run and any(len(word) > 1 and not word.isascii() for word in (text[start:end] for start, end in run)):
        yield run[0][0], run[-1][1]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of a text that must not leave, and what they are."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Redactor:
    """Finds what a policy masks. ``names``: their words in lower case without accents, by the first of them; ``surnames``: last words."""

    redact: Redact
    patterns: tuple[re.Pattern[str], ...]
    names: dict[str, frozenset[tuple[str, ...]]]
    surnames: frozenset[str]
    initials: frozenset[tuple[str, str]]  # of names of several words: the first letter, and the last word
    key: str  # twelve hex digits, other ones for other names; "": none

    @classmethod
    def of(cls, redact: Redact, typed: Iterable[str] = (), common: Collection[str] = ()) -> Redactor:
        """typed: the names of entities whose type is to be masked.

        Of one with several words the last one is masked alone too, where it begins with a capital or all is written small, unless it is
        in ``common``: things that are called so, in lower case.
        """
        typed = list(typed)
        found = {words for name in [*typed, *redact.names] if (words := words_of(name))}
        names: dict[str, set[tuple[str, ...]]] = {}
        for form in {form for words in found for form in _written(words)}:
            names.setdefault(form[0], set()).add(form[:_MAX_NAME_WORDS])
        surnames = frozenset(last_words(typed)) - set(common)
        known = json.dumps([sorted(found), sorted(surnames)])
        return cls(
            redact,
            tuple(map(bounded, redact.patterns)),
            {first: frozenset(of_it) for first, of_it in names.items()},
            surnames,
            frozenset((words[0][0], words[-1]) for words in found if len(words) > 1 and len(words[-1]) > 2),
            hashlib.sha256(known.encode()).hexdigest()[:12] if names else "",
        )

    @property
    def idle(self) -> bool:
        """Nothing is masked."""
        return not (self.redact.identifiers or self.patterns or self.names or self.redact.masks_persons)

    def differing(self, other: Redactor) -> frozenset[str] | None:
        """The words, in lower case without accents, of which a text has one that the other masks otherwise; None: any text may be such."""
        if self.redact != other.redact:
            return None
        forms = set().union(*self.names.values()) ^ set().union(*other.names.values())
        lasts = {last for _, last in self.initials ^ other.initials}
        words = {form[0] for form in forms} | lasts | (self.surnames ^ other.surnames)
        return frozenset(words | {f"{word}s" for word in words})

    def mask(self, text: str) -> str:
        """The text with everything masked that it holds."""
        return masked(text, self.spans(text))

    def mask_within(self, context: str, start: int, end: int) -> str:
        """``context[start:end]``, masked also where what is masked goes on beyond it."""
        cut = [Span(max(span.start, start) - start, min(span.end, end) - start, span.kind) for span in self.spans(context)]
        return masked(context[start:end], [span for span in cut if span.start < span.end])

    def spans(self, text: str) -> list[Span]:
        """Everything to be masked, also overlapping."""
        if self.idle:
            return []
        shadows = Shadow.readings(text)
        meant = [Span(*shadow.place(span.start, span.end), span.kind) for shadow in shadows for span in self._found(shadow.text)]
        if self.redact.masks_persons:
            meant += [Span(start, end, "name") for start, end in strangely_written(text)]
        # patterns may be written for what stands there
        return meant if shadows[0].places is None else meant + list(self._patterns(text))

    def _found(self, text: str) -> Iterator[Span]:
        for kind in self.redact.identifiers:
            yield from self._identifiers(kind, text)
        yield from self._patterns(text)
        yield from self._names(text)

    def _patterns(self, text: str) -> Iterator[Span]:
        return (Span(match.start(), match.end(), "pattern") for pattern in self.patterns for match in pattern.finditer(text))

    def _identifiers(self, kind: Identifier, text: str) -> Iterator[Span]:
        if kind == "phone":
            for region in [None, *self.redact.phone_regions] if any(map(str.isdigit, text)) else ():
                for match in phonenumbers.PhoneNumberMatcher(text, region, leniency=phonenumbers.Leniency.VALID, max_tries=1_000):
                    yield Span(match.start, match.end, kind)
            return
        for start, end in _FINDERS[kind](text):
            yield Span(start, end, kind)

    def _names(self, text: str) -> Iterator[Span]:
        if not self.names:
            return
        words = [(match.start(), match.end(), _plain(match.group())) for match in _WORD.finditer(text)]
        small = text.islower()
        for row, (start, end, word) in enumerate(words):
            is_written_as_one = small or text[start].isupper()
            stem = _stem(word) if is_written_as_one else word
            if is_written_as_one and not self.surnames.isdisjoint((word, stem)):
                yield Span(start, end, "name")
            for name in {*self.names.get(word, ()), *self.names.get(stem, ())}:
                if end := _end_of(name, words, row):
                    yield Span(start, end, "name")
            if len(word) == 1 and text[start].isupper() and (end := self._initialled(word, text, words, row)):
                yield Span(start, end, "name")

    def _initialled(self, initial: str, text: str, words: Sequence[tuple[int, int, str]], row: int) -> int:
        """Where "Q. Obermayer" ends that begins with an initial; 0: nobody is called so."""
        for last in range(row + 1, min(row + 3 + _MOST_PARTICLES, len(words))):
            start, end, word = words[last]
            if start - words[last - 1][1] > _NAME_GAP_CHARS:
                return 0
            if not self.initials.isdisjoint(((initial, word), (initial, _stem(word)))) and text[start].isupper():
                return end
            if len(word) > 1 and word not in _PARTICLES:
                return 0
        return 0


def masked(text: str, spans: Collection[Span]) -> str:
    """The text, as long as before, with each span blotted out; one that has room for it says what stood there.

    >>> masked("mail ann@example.org or 5", [Span(5, 20, "email"), Span(24, 25, "record")])
    'mail [email]████████ or █'
    """
    kept, place = list[str](), 0
    for start, end, kind in _joined(spans):
        label = f"[{kind}]"
        told = label if len(label) < end - start else ""  # a mask can be seen to be one
        kept += [text[place:start], told.ljust(end - start, MASK)]
        place = end
    return "".join([*kept, text[place:]])


def blotted(text: str) -> bool:
    """Whether nothing but masks is left of a text.

    >>> blotted("[name]██"), blotted("[name]██ theory"), blotted("Ward")
    (True, False, False)
    """
    return MASK in text and not any(character.isalnum() for character in re.sub(r"\[\w+\]", "", text))


def _joined(spans: Collection[Span]) -> list[tuple[int, int, str]]:
    joined: list[tuple[int, int, str]] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.kind)):
        if joined and span.start < joined[-1][1]:
            start, end, kind = joined[-1]
            joined[-1] = (start, max(end, span.end), kind)
        else:
            joined.append((span.start, span.end, span.kind))
    return joined


def last_words(names: Iterable[str]) -> set[str]:
    """The last word of each name of several words, in lower case without accents.

    >>> last_words(["Ann Lee", "Mortar"])
    {'lee'}
    """
    return {words[-1] for words in map(words_of, names) if len(words) > 1}


def words_of(text: str) -> tuple[str, ...]:
    """The words of a name as a ``Redactor`` compares them."""
    return tuple(_plain(word) for word in _WORD.findall(Shadow.of(text).text))


def words_in(text: str) -> frozenset[str]:
    """All words of a passage as a ``Redactor`` compares them, however tags cut them."""
    return frozenset(_plain(word) for shadow in Shadow.readings(text) for word in _WORD.findall(shadow.text))


def _written(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """As "Ann Lee", "Lee, Ann" and "AnnLee"; with its particles and without.

    >>> [" ".join(form) for form in _written(("ludwig", "van", "beethoven"))][3:]
    ['ludwig beethoven', 'beethoven ludwig', 'ludwigbeethoven']
    """
    bare = tuple(word for word in words if word not in _PARTICLES)
    for form in (words, bare) if 1 < len(bare) < len(words) else (words,):
        yield form
        if len(form) > 1:
            yield form[-1], *form[:-1]
            yield ("".join(form),)


def _end_of(name: tuple[str, ...], words: Sequence[tuple[int, int, str]], row: int) -> int:
    """Where the name ends that begins with words[row]; 0: it is another one. An initial and particles may stand between its words."""
    ends = words[row][1]
    for wanted in name[1:]:
        row += 1
        if row < len(words) and len(words[row][2]) == 1 != len(wanted):
            ends, row = words[row][1], row + 1
        for _ in range(_MOST_PARTICLES):
            if row < len(words) and words[row][2] in _PARTICLES and words[row][2] != wanted and words[row][0] - ends <= _NAME_GAP_CHARS:
                ends, row = words[row][1], row + 1
        if row >= len(words) or wanted not in (words[row][2], _stem(words[row][2])) or words[row][0] - ends > _NAME_GAP_CHARS:
            return 0
        ends = words[row][1]
    return ends


def _stem(word: str) -> str:
    """A word without the s of a genitive, as it stands where it is short.

    >>> _stem("obermayers"), _stem("ross")
    ('obermayer', 'ross')
    """
    return word[:-1] if word.endswith("s") and len(word) > _LEAST_GENITIVE else word


def _plain(word: str) -> str:
    """Without accents, strokes and case, so that Müller is found as MULLER too, and with the letter o for a zero."""
    if word.isascii():
        return word.lower().replace("0", "o")
    bare = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in bare if not unicodedata.combining(letter)).translate(_FOLDED)


def _grouped(
    first: str, character: str, most: int, longest: Callable[[str], int], *, gap: str = _GAP
) -> Callable[[str], Iterator[tuple[int, int]]]:
    """A finder of codes with check digits, in groups or not: the longest one from each place counts.

    ``longest`` tells how many of at most so many characters are the longest right code; 0: none is. It is asked once for each place where
    a group begins, so the time is linear in the text.
    """
    begin = re.compile(rf"(?:(?<![^\W_])|(?<=\bIBAN)){first}")
    run = re.compile(rf"{character}(?:{gap}?{character}){{0,{most - 1}}}")

    def find(text: str) -> Iterator[tuple[int, int]]:
        done = 0
        for match in begin.finditer(text):
            whole = run.match(text, match.start()) if match.start() >= done else None
            if whole is None:
                continue
            code = _NO_CODE.sub("", whole.group())
            if size := longest(code):
                done = [place for place, letter in enumerate(whole.group(), match.start() + 1) if letter.isalnum()][size - 1]
                yield match.start(), done

    return find


def _cards(text: str) -> Iterator[tuple[int, int]]:
    yield from _plain_cards(text)
    for match in _CARD_GROUPS.finditer(text):
        if _longest_card(code := _NO_CODE.sub("", match.group())) == len(code):
            yield match.span()


def _longest_card(digits: str) -> int:
    """Of the prefixes with 13 digits or more the length of the longest one with a right last digit (Luhn's sum, as ``stdnum.luhn`` has it).

    >>> _longest_card("41111111111111110"), _longest_card("4111111111111112")
    (16, 0)
    """
    plain = doubled = size = 0  # the sums of the prefix, its last digit taken once, or twice
    for number, digit in enumerate(map(int, digits), 1):
        plain, doubled = doubled + digit, plain + _DOUBLED[digit]
        if number >= _LEAST_CARD and plain % 10 == 0:
            size = number
    return size


def _longest_iban(code: str) -> int:
    """The length that the country's have, where the code begins with a right one.

    >>> _longest_iban("DE89370400440532013000AND"), _longest_iban("AB12AB12AB12AB12")
    (22, 0)
    """
    size = _iban_size(code[:2].upper())
    return size if 0 < size <= len(code) and iban.is_valid(code[:size]) else 0


@cache
def _iban_size(country: str) -> int:
    """How many characters a country's numbers have; 0: it has none."""
    form = numdb.get("iban").info(country)[0][1].get("bban", "")
    return 4 + sum(map(int, re.findall("[0-9]+", form))) if form else 0


def _person_numbers(text: str) -> Iterator[tuple[int, int]]:
    for match in _PERSON.finditer(text):
        digits = "".join(filter(str.isdigit, match.group()))
        if ssn.is_valid(digits) or nhs.is_valid(digits) or nir.is_valid(digits):
            yield match.span()


def _emails(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _EMAIL.finditer(text)) if "@" in text else iter(())


def _records(text: str) -> Iterator[tuple[int, int]]:
    for match in _RECORD.finditer(text):
        yield match.span("code" if match["code"] else "number")


_plain_cards = _grouped("[0-9]", "[0-9]", 19, _longest_card)
_FINDERS: dict[Identifier, Callable[[str], Iterator[tuple[int, int]]]] = {
    "email": _emails,
    "iban": _grouped("[A-Za-z]{2}[0-9]{2}", "[A-Za-z0-9]", 34, _longest_iban, gap=_WIDE_GAP),
    "card": _cards,
    "ssn": _person_numbers,
    "record": _records,
}
NOTHING_MASKED = Redactor.of(Redact())
