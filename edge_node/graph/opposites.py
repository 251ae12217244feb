"""Words that look alike and mean the contrary: names that differ in them are never one entity."""

from __future__ import annotations

from itertools import product

_PREFIXES = (
    ("hyper", "hypo"), ("pre", "post"), ("inter", "intra"), ("endo", "exo"), ("macro", "micro"), ("over", "under"), ("in", "ex"),
    ("im", "ex"), ("super", "sub"), ("super", "infra"), ("af", "ef"), ("ad", "ab"), ("anti", "pro"), ("mono", "poly"), ("mono", "di"),
    ("uni", "bi"), ("homo", "hetero"), ("iso", "aniso"), ("up", "down"), ("in", "out"), ("ana", "cata"), ("ante", "retro"),
    ("eu", "pro"), ("depolar", "repolar"), ("de", "re"), ("mis", ""), ("un", ""), ("non", ""), ("in", ""), ("im", ""), ("dis", ""),
    ("anti", ""), ("de", ""), ("an", ""), ("a", ""), ("para", ""), ("counter", ""), ("pre", ""), ("post", ""), ("sub", ""),
    ("ex", ""), ("re", ""), ("pro", ""), ("co", ""), ("il", ""), ("ir", ""), ("semi", ""), ("bi", ""), ("tri", ""), ("micro", ""),
    ("macro", ""), ("hyper", ""), ("hypo", ""),
)  # fmt: skip
_PAIRS = """
    anterior/posterior superior/inferior left/right upper/lower male/female north/south east/west northern/southern
    eastern/western maximum/minimum positive/negative internal/external inner/outer ascending/descending supply/demand short/long
    input/output proximal/distal dorsal/ventral medial/lateral visceral/parietal major/minor high/low higher/lower big/small
    large/small old/new first/second first/third second/third primary/secondary systolic/diastolic afferent/efferent horizontal/vertical
    hot/cold open/closed black/white red/white red/blue red/green green/blue man/woman boy/girl mother/father son/daughter brother/sister
    winter/summer day/night increase/decrease import/export import/exporter buyer/seller lender/borrower employer/employee
    thick/thin active/passive direct/indirect formal/informal public/private early/late front/back front/rear top/bottom
"""
_WORDS = frozenset(frozenset(pair.split("/")) for pair in _PAIRS.split())


def opposed(a: str, b: str) -> bool:
    """True when a word of ``a`` and a word of ``b``, both absent from the other, are contraries.

    >>> opposed("hypertension", "hypotension"), opposed("anterior horn", "posterior horn"), opposed("nerve cell", "nerve cells")
    (True, True, False)
    """
    left, right = set(a.split()), set(b.split())
    return any(_contrary(x, y) or _contrary(y, x) for x, y in product(left - right, right - left))


def _contrary(x: str, y: str) -> bool:
    if frozenset((x, y)) in _WORDS:
        return True
    return any(x.startswith(p) and y.startswith(q) and x[len(p) :] == y[len(q) :] and len(x) > len(p) + 2 for p, q in _PREFIXES)
