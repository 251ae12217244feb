"""Names of persons by how English writes them, whatever a detector takes them for (goal P5). It masks too much rather than too little."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from edge_node.extraction.words import STOP_WORDS
from shared.text.sentences import NUMBER_WORDS

RULE = 3  # another one for another rule: what was released by the former is masked anew
Run = list[tuple[int, int]]  # characters [start, end) of the words of a possible name

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_GAP = re.compile(r"[ \t\u00a0]{1,2}")
_BEHIND_SHORT = re.compile(r"\.?[ \t\u00a0]{0,2}")  # an initial, a title
_LEAST_WRAPPED = 40  # characters of a line that goes on in the next: rows, headings and signatures are shorter
_LONGEST_DEGREE = 5
_GENITIVE = re.compile(r"['’][sS]?$")
_SURNAME = re.compile(r"[^\W\d_a-z]+[a-z][^\W\d_]*(?:['’-][^\W\d_]+)*")  # not in capitals alone, nor with figures
_INVERTED = re.compile(  # "Holloway, Beatrice" in a register
    r"(?:^|[|;\t]|^[-*•])[ ]*(?P<name>[^\W\d_a-z][^\W\d_]+(?:[-'’][^\W\d_]+)*, [^\W\d_a-z][^\W\d_]+)(?=[ ]*(?:$|[|;,(\t\d]))", re.MULTILINE
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PARTICLES = _words("al bin da de del della den der di do dos du el ibn la le ten ter van vom von zu zum zur y")
_TITLES = _words(
    """
    captain colleague councillor dame doctor dr judge lady lord madam miss mister mr mrs ms mx nurse patient prof professor rev reverend
    sergeant sir sister
    """
)
_NEVER = STOP_WORDS - _words("al an do he my so will may you")  # in a name
_PLACES = _words(  # no Park, Hill or Church, which are surnames as often; of Ward, Bank and Street the detector's word counts
    """
    abbey airport avenue bank basin bay beach bridge building campus canal cathedral city coast college county court district estate falls
    farm harbor harbour highway hospital hotel house island islands kingdom library mountain mountains museum ocean palace pier plaza port
    quarter railway region republic reservoir river road room sea square stadium state states strait street theater theatre tower town
    tunnel union university valley village ward warehouse wharf
    """
)
_THINGS = _words(
    """
    academy account act agency agreement airline alliance app army arena army association authority award badge bakery battery board bowl
    branch bulletin bureau business cabinet card center centre certificate challenge champion championship channel charity clinic club
    code commission committee company conference congress consortium contract contractor convention corporation council cup daily
    database department depot desk device director directive display division document drive driver edition engine engineering enterprise
    exchange express facility factory federation festival fiber film finance food force form forum foundation foundry franchise fund
    gallery game gauge generator government group guide guideline herald holding index industry initiative institute institution
    instrument insurance interface investment journal kit lab laboratory league level licence license limited line list loan lock log lot
    machine magazine management manual market medal media medicine meter ministry mission mode model module monitor movement movie
    music network news newspaper notice office open operation organisation organization panel parliament partner partnership party path
    payment pharmacy phase plan plant platform playlist point policy portal prize procedure product program programme project protocol
    province pump record register registry regulation report request research reserve review room round rule safety sale scanner scheme
    school section sector secretary security senate sensor series server service session shop show site society software solution
    sportsbook standard station store studio study summit supplier supply survey switch system team technology telegraph terminal test
    tool tour trade train treaty trial tribune trust unit update valve version video watch website week workshop world yard year zone
    """
) | _words("ag bv co corp economics electronics foods gmbh inc llc llp ltd physics plc politics sa scheme sports times works")
_WITH_PLURALS = _PLACES | _THINGS | frozenset(f"{word[:-1]}ies" if word.endswith("y") else f"{word}s" for word in _THINGS) | NUMBER_WORDS
_FIRST = _words(  # no person's name begins with
    """
    african american asian australian bank black british canadian central chinese christmas cup department east eastern english european
    federal first fort french friday german grand great high indian international irish japanese january february march july september
    october november december lake las los middle ministry monday mount national new north northern old pacific port premier republic
    river royal russian san saturday scottish south southern spanish sunday super supreme thursday tuesday united university upper
    wednesday welsh west western white world
    """
)


def may_be_persons(text: str) -> Iterator[tuple[int, int]]:
    """Characters [start, end) of what English may write so of a person, and of last words of these names that stand alone.

    Two capitalised words or more, or one behind a title, are a name, unless "the" stands before it or it has a word of a thing: the last
    one of an organisation, a place or a number, or the first one of a place. Capitals at its end are a degree.

    >>> text = "Dr Tarrow of Caldwell Bank met Leila Fairfax, RN, and the Miami Dolphins in New York. Fairfax's ward is Tarrow's."
    >>> [text[start:end] for start, end in may_be_persons(text)]
    ['Dr Tarrow', 'Leila Fairfax', 'Fairfax', 'Tarrow']
    """
    whole, alone = [match.span("name") for match in _INVERTED.finditer(text)], Run()
    for run in _runs(text):
        name = _name(text, run)
        whole += [name] if name else []
        alone += [word for word in run if name is None or not name[0] <= word[0] < name[1]]
    yield from whole
    lasts = {_last_word(text[start:end]) for start, end in whole} - STOP_WORDS
    for start, end in alone:
        word = _GENITIVE.sub("", text[start:end])
        if word[0].isupper() and word.lower() in lasts:
            yield start, start + len(word)


def _runs(text: str) -> Iterator[Run]:
    """Capitalised words that stand together, with particles between them."""
    run: Run = []
    for match in _WORD.finditer(text):
        word = match.group()
        small = word.lower()
        if run and not (_joined(text, run, match.start()) and small not in _NEVER and (word[0].isupper() or word in _PARTICLES)):
            yield run
            run = []
        if (word[0].isupper() and small not in _NEVER) or (run and word in _PARTICLES) or small in _TITLES:
            run.append(match.span())
    if run:
        yield run


def _joined(text: str, run: Run, start: int) -> bool:
    first, last = run[-1]
    before, gap = text[first:last], text[last:start]
    if _GENITIVE.search(before):
        return False
    if len(before) == 1 or before.lower() in _TITLES:
        return _BEHIND_SHORT.fullmatch(gap) is not None
    is_wrapped = gap == "\n" and last - (text.rfind("\n", 0, last) + 1) >= _LEAST_WRAPPED
    return is_wrapped or _GAP.fullmatch(gap) is not None


def _name(text: str, run: Run) -> tuple[int, int] | None:
    """Where the name of a person is, if the run may be one."""
    words = [_GENITIVE.sub("", text[start:end]) for start, end in run]
    small = [word.lower() for word in words]
    titled = max((row for row, word in enumerate(small[:-1]) if word in _TITLES), default=-1)
    if titled >= 0:
        return run[titled][0], run[-1][0] + len(words[-1])
    while words and _ends_no_name(words):
        words.pop()
    firm = [word for word in words if word not in _PARTICLES]
    is_thing = len(firm) < 2 or small[len(words) - 1] in _WITH_PLURALS or small[0] in _FIRST or _has_article(text, run[0][0])
    return None if is_thing else (run[0][0], run[len(words) - 1][0] + len(words[-1]))


def _ends_no_name(words: list[str]) -> bool:
    last = words[-1]
    is_degree = last.isupper() and len(last) <= _LONGEST_DEGREE and not all(map(str.isupper, words))
    return is_degree or len(last) == 1 or last in _PARTICLES


def _has_article(text: str, start: int) -> bool:
    return text[max(0, start - 4) : start].lower() == "the "


def _last_word(name: str) -> str:
    """In lower case; of "Holloway, Beatrice" too."""
    return name.partition(",")[0].split()[-1].lower()


def names_like_persons(names: Iterable[str]) -> Iterator[str]:
    """What may be persons in names that a detector has found, of whatever type; a single word may be a surname.

    >>> list(names_like_persons(["Chief Scientist Ilya Moravec", "Caldwell Bank", "Mike Ashley’s Frasers Group", "Tarrow", "NATO"]))
    ['Chief Scientist Ilya Moravec', 'Mike Ashley', 'Tarrow']
    """
    for name in names:
        yield from (name[start:end] for start, end in may_be_persons(name))
        if _SURNAME.fullmatch(name) and not {name.lower()} & (_WITH_PLURALS | _FIRST | STOP_WORDS):
            yield name
