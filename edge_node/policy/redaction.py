"""Masks identifiers and names in what leaves, character for character, so that places in a document stay true (goal P5)."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import phonenumbers

from edge_node.policy.identifiers import FINDERS, person_numbers
from edge_node.policy.lettering import UNSPACED, WITH_CAPITALS, capitalised, is_unspaced, strangely_written
from edge_node.policy.patterns import bounded
from edge_node.policy.persons import may_be_persons
from edge_node.policy.rules import Identifier, Redact
from edge_node.policy.shadow import Shadow
from shared.text.language import READ, language_of_question

CONTEXT_CHARS = 80  # beside a passage: an identifier that its edge cuts is looked for as a whole
MASK = "█"
_FOLDED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "0": "o"})
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")  # what is written without blanks: letter by letter
_NAME_GAP_CHARS = 3  # at most so many characters between two words of a name
_PARTICLES = frozenset("al bin da de del della den der di do dos du el ibn la le ten ter van vom von zu zum zur".split())  # noqa: SIM905
_MOST_PARTICLES = 3  # "van der", "de la"
_MAX_NAME_WORDS = 60
_LEAST_GENITIVE = 4  # letters of a word to which a language adds an s, as in "Obermayers Akte"


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
    def of(
        cls, redact: Redact, typed: Iterable[str] = (), common: Collection[str] = (), surnames: AbstractSet[str] = frozenset()
    ) -> Redactor:
        """typed: the names of entities whose type is to be masked; surnames: last words of others, masked alone as those of ``typed`` are.

        Of one with several words the last one is masked alone too, where it begins with a capital or all is written small, unless it is
        in ``common``: things that are called so, in lower case.
        """
        typed = list(typed)
        found = {words for name in [*typed, *redact.names] if (words := words_of(name))}
        names: dict[str, set[tuple[str, ...]]] = {}
        for form in {form for words in found for form in _written(words)}:
            names.setdefault(form[0], set()).add(form[:_MAX_NAME_WORDS])
        surnames = frozenset(last_words(typed) | surnames) - set(common)
        known = json.dumps([sorted(found), sorted(surnames)])
        return cls(
            redact,
            tuple(map(bounded, redact.patterns)),
            {first: frozenset(of_it) for first, of_it in names.items()},
            surnames,
            frozenset((words[0][0], words[-1]) for words in found if len(words) > 1 and len(words[-1]) > 2),
            hashlib.sha256(known.encode()).hexdigest()[:12] if names or surnames else "",
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

    def mask_question(self, question: str) -> str:
        """A question with everything masked that it holds; where names of persons are, and nobody finds them in its language, all names."""
        language = language_of_question(question)
        spans = self.spans(question, is_english=language == READ)
        if self.redact.masks_persons and language not in WITH_CAPITALS:
            spans += [Span(start, end, "name") for start, end in capitalised(question)]
        return masked(question, spans)

    def mask_within(self, context: str, start: int, end: int) -> str:
        """``context[start:end]``, masked also where what is masked goes on beyond it."""
        cut = [Span(max(span.start, start) - start, min(span.end, end) - start, span.kind) for span in self.spans(context)]
        return masked(context[start:end], [span for span in cut if span.start < span.end])

    def spans(self, text: str, *, is_english: bool = True) -> list[Span]:
        """Everything to be masked, also overlapping; what only looks like a person, in English."""
        if self.idle:
            return []
        shadows = Shadow.readings(text)
        meant = [Span(*shadow.place(span.start, span.end), span.kind) for shadow in shadows for span in self._found(shadow.text)]
        if self.redact.masks_persons:
            finders = (strangely_written, may_be_persons) if is_english else (strangely_written,)
            meant += [Span(start, end, "name") for find in finders for start, end in find(text)]
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
            for region in [None, *self.redact.regions] if any(map(str.isdigit, text)) else ():
                for match in phonenumbers.PhoneNumberMatcher(text, region, leniency=phonenumbers.Leniency.VALID, max_tries=1_000):
                    yield Span(match.start, match.end, kind)
            return
        found = person_numbers(text, self.redact.countries) if kind == "ssn" else FINDERS[kind](text)
        for start, end in found:
            yield Span(start, end, kind)

    def _names(self, text: str) -> Iterator[Span]:
        if not (self.names or self.surnames):
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
    """The last word of each name of several words, in lower case without accents; of a joined one both.

    >>> sorted(last_words(["Ann Lee", "Mortar", "张伟", "Bea Nair-Moss"]))
    ['lee', 'moss', 'nair']
    """
    found = {words[-1] for words in map(words_of, names) if len(words) > 1 and not is_unspaced(words[-1])}
    return found | {word for name in names if len(parts := name.split()) > 1 and "-" in parts[-1] for word in words_of(parts[-1])}


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


NOTHING_MASKED = Redactor.of(Redact())
