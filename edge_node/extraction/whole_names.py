"""One person has one name in a document: "Jürgen" below a mail is the Jürgen Vogelsang above it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from edge_node.extraction.syntax import CONCEPT, NameCandidate

PERSON = "person"


def whole_names(candidates: Iterable[NameCandidate]) -> dict[str, NameCandidate]:
    """By the key of a name of one word, the one longer name of the document that begins or ends with it, if it may be the same person's.

    >>> told = [NameCandidate(name.lower(), name, "person", "name", 0) for name in ("Anna Lee", "Anna", "Lee", "Max Lee")]
    >>> {key: one.name for key, one in whole_names(told).items()}
    {'anna': 'Anna Lee'}
    """
    names = {one.key: one for one in candidates if one.standing == "name"}
    longer = defaultdict[str, list[NameCandidate]](list)
    for key, one in names.items():
        words = key.split()
        for word in {words[0], words[-1]} if len(words) > 1 else ():
            longer[word].append(one)
    found = {key: longer[key][0] for key in names if len(longer.get(key, ())) == 1}
    return {key: one for key, one in found.items() if one.type == PERSON and _may_be(names[key], one)}


def _may_be(single: NameCandidate, whole: NameCandidate) -> bool:
    """A name of no known type is a first name at most: "Segovia" may be the town, "Benz" the company."""
    return single.type == PERSON or (single.type == CONCEPT and whole.key.startswith(f"{single.key} "))
