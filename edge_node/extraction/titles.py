"""① A document's title names what all its passages are about: it becomes an entity that each of them tells of."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from edge_node.extraction.names import MAX_WORDS, TITLE, is_noise, normalise
from edge_node.extraction.parsing import shortened
from edge_node.extraction.words import STOP_WORDS
from shared.records import Chunk, EntityMention
from shared.text.sentences import sentences

_HEADING = re.compile(r"\s*#{1,6}[ \t]+(\S[^\n]*)")
_QUALIFIER = re.compile(r"(?<!\s)\s*+\([^()]*+\)\s*+$")

LONGEST = 12  # words of a name; titles of works are longer than most
_WORD = re.compile(r"[^\s?!,;:\"“”()\[\]]+")


def named_in(question: str, find: Callable[[str], str | None]) -> dict[str, bool]:
    """The entities that a question names, in its order, and whether it writes each as a name: with a capital or a digit.

    find: a key (see ``normalise``) to that of its entity, or None. The first word's capital says nothing.

    >>> known = {"orrin mill", "mill", "who"}
    >>> named_in("Who built Orrin Mill, and which mill is older?", lambda key: key if key in known else None)
    {'orrin mill': True, 'mill': False}
    """
    words = _WORD.findall(question)
    found: dict[str, bool] = {}
    start = 0
    while start < len(words):
        end, entity = _longest(words, start, find)
        if entity is not None:
            telling = words[max(start, 1) : end] if end > 1 else words[:1]
            is_name = any(word[0].isupper() or word[0].isdigit() for word in telling)
            found[entity] = found.get(entity, False) or is_name
        start = end
    return found


def _longest(words: list[str], start: int, find: Callable[[str], str | None]) -> tuple[int, str | None]:
    """Where the longest name that begins here ends, and its entity; else the next word, and None."""
    for end in range(min(len(words), start + LONGEST), start, -1):
        if end == start + 1 and words[start].casefold() in STOP_WORDS:
            break
        key = normalise(" ".join(words[start:end]))
        entity = find(key) if key else None
        if entity is not None:
            return end, entity
    return start + 1, None


def has_names(question: str) -> bool:
    """Whether a question writes names as names: it has a capital behind its first word.

    >>> has_names("who built orrin mill"), has_names("Who built Orrin Mill?")
    (False, True)
    """
    return any(word[0].isupper() for word in _WORD.findall(question)[1:])


def title_mentions(chunks: Sequence[Chunk], title: str, said: Collection[EntityMention]) -> Iterator[EntityMention]:
    """A mention of its title by each chunk of a document that does not name it anyway; ``said``: what the chunks were found to say.

    Without a title, the heading that the text begins with. A qualifier is left out too: "Orrin Mill (film)" is also "Orrin Mill".
    """
    if not chunks:
        return
    first = chunks[0].text
    heading = _HEADING.match(first)
    known = {(mention.chunk_id, mention.key) for mention in said}
    body = first[heading.end() :] if heading else first
    opening = next((text for start, end in sentences(body) if (text := body[start:end].strip())), "")
    for name in names_of(title or (heading[1] if heading else "")):
        key = normalise(name)
        for chunk in chunks:
            if (chunk.chunk_id, key) not in known:
                yield EntityMention(key, name, TITLE, shortened(opening), chunk.chunk_id)


def names_of(title: str) -> list[str]:
    """The title, and the title without its qualifier; nothing where it is no name.

    >>> names_of("Orrin Mill (1998 film)"), names_of("Figure 3"), names_of("")
    (['Orrin Mill (1998 film)', 'Orrin Mill'], [], [])
    """
    names = dict.fromkeys(" ".join(name.split()) for name in (title, _QUALIFIER.sub("", title)))
    return [
        name for name in names if (words := len(normalise(name).split())) and words <= LONGEST and (words > MAX_WORDS or not is_noise(name))
    ]
