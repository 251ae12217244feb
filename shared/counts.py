"""How many documents name something: counted where they are, told in one form, added up over sites."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shared.records import EdgeId, Evidence

MOST_NAME_CHARS = 80
_FORM = re.compile(
    rf"(?P<name>\S.{{0,{MOST_NAME_CHARS - 1}}}) is named in (?:at least )?(?P<documents>\d{{1,9}}) of (?P<of>\d{{1,9}}) documents\."
)


@dataclass(frozen=True, slots=True)
class Count:
    """A name, and in how many ``of`` so many documents it stands; ``at_least``: not every site has counted it."""

    name: str
    documents: int
    of: int
    at_least: bool = False

    def __str__(self) -> str:
        """The one form in which counts are told."""
        return f"{self.name} is named in {'at least ' * self.at_least}{self.documents} of {self.of} documents."


def count_of(point: Evidence) -> Count | None:
    """The count that a point tells; None where it tells another thing, and where its document's words do not hold the name.

    >>> from shared.records import ChunkId, DocumentId
    >>> text = "Anna Holm runs the depot."
    >>> point = Evidence(EdgeId("a"), DocumentId("d"), "d.md", ChunkId("d:0"), (0, 25), text, 1.0, point=str(Count("Anna Holm", 3, 9)))
    >>> count_of(point), count_of(replace(point, text="Nobody."))
    (Count(name='Anna Holm', documents=3, of=9, at_least=False), None)
    """
    found = _FORM.fullmatch(point.point)
    if not found or found["name"].casefold() not in point.text.casefold() or int(found["documents"]) > int(found["of"]):
        return None
    return Count(found["name"], int(found["documents"]), int(found["of"]))


def apart(points: Iterable[Evidence]) -> tuple[list[tuple[Count, Evidence]], list[Evidence]]:
    """The counts with their points, and the other points, each in their order."""
    counts, others = list[tuple[Count, Evidence]](), list[Evidence]()
    for point in points:
        if (count := count_of(point)) is not None:
            counts.append((count, point))
        else:
            others.append(point)
    return counts, others


def summed(counts: Sequence[tuple[Count, Evidence]], *, most: int) -> list[Evidence]:
    """The counts of several sites as one, those named in most documents first, ``most`` of them, each with the point of the site with most.

    A site tells its first names only. A sum that lacks a site is told as "at least", of the documents of all sites that have counted. No
    site fills more than half with names that it alone has told: nobody can check its numbers.

    >>> from shared.records import ChunkId, DocumentId
    >>> def told(edge: str, name: str, documents: int, of: int) -> tuple[Count, Evidence]:
    ...     count = Count(name, documents, of)
    ...     return count, Evidence(EdgeId(edge), DocumentId("d"), "d.md", ChunkId("d:0"), (0, 9), name, 1.0, point=str(count))
    >>> for point in summed([told("a", "Ann", 3, 9), told("b", "ann", 4, 5), told("b", "Bo", 2, 5)], most=4):
    ...     print(point.edge, point.point)
    b ann is named in 7 of 14 documents.
    b Bo is named in at least 2 of 14 documents.
    """
    sizes, rows = dict[EdgeId, int](), dict[str, dict[EdgeId, tuple[Count, Evidence]]]()
    for count, point in counts:
        sizes[point.edge] = max(sizes.get(point.edge, 0), count.of)
        rows.setdefault(count.name.casefold(), {}).setdefault(point.edge, (count, point))
    of = sum(sizes.values())
    found = list[tuple[Count, Evidence]]()
    for sites in rows.values():
        most_told = max(sites.values(), key=lambda told: told[0].documents)
        documents = sum(count.documents for count, _ in sites.values())
        found.append((Count(most_told[0].name, documents, of, at_least=len(sites) < len(sizes)), most_told[1]))
    if len(sizes) > 1:  # a site alone has put first what is nearest to the question
        found.sort(key=lambda told: -told[0].documents)
    kept = found if len(sizes) == 1 else _not_of_one_site(found, {name: set(sites) for name, sites in rows.items()}, most=most // 2)
    return [replace(point, point=str(count)) for count, point in kept[:most]]


def _not_of_one_site(
    found: Sequence[tuple[Count, Evidence]], sites_of: Mapping[str, Collection[EdgeId]], *, most: int
) -> list[tuple[Count, Evidence]]:
    """Without the names that one site alone has told, beyond its first ``most``."""
    alone, kept = Counter[EdgeId](), list[tuple[Count, Evidence]]()
    for count, point in found:
        is_alone = len(sites_of[count.name.casefold()]) == 1
        if not is_alone or alone[point.edge] < most:
            kept.append((count, point))
        alone[point.edge] += is_alone
    return kept
