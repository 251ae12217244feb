"""Retrieval over both graphs (KET-RAG §5.2, Alg. 4), and the orders of the variants that the paper compares (§6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from edge_node.graph.context import Context, fitting, part_of

NEIGHBOURHOOD = 2  # tokens of the seeds' pieces for each token that the keyword channel may show (Alg. 4 l. 2)


def limits(limit_tokens: int, theta: float) -> tuple[int, int]:
    """Tokens of the skeleton's and of the keywords' channel; never more than the limit in all (Alg. 4 l. 1, 4).

    >>> limits(1_000, 0.4)
    (400, 600)
    """
    return part_of(limit_tokens, theta), part_of(limit_tokens, 1 - theta)


def neighbourhood(
    terms: Iterable[str], pieces_with: Callable[[str], Iterable[str]], tokens_of: Callable[[str], int], *, limit_tokens: int
) -> list[str]:
    """The pieces of the first terms, each with all of its, until they hold twice the channel's limit; sorted (Alg. 4 l. 2).

    terms: seeds, best first; read no further than needed. pieces_with: those that the asker may see.
    """
    found: set[str] = set()
    missing = NEIGHBOURHOOD * limit_tokens
    for term in terms if missing > 0 else ():
        newer = set(pieces_with(term)) - found
        found |= newer
        missing -= sum(map(tokens_of, newer))
        if missing <= 0:
            break
    return sorted(found)


def by_score(keys: Iterable[str], scores: Mapping[str, float]) -> list[str]:
    """Best first, ties by id; without those that have no score.

    >>> by_score(["b", "a", "gone"], {"a": 0.5, "b": 0.5})
    ['a', 'b']
    """
    return sorted((key for key in keys if key in scores), key=lambda key: (-scores[key], key))


def extended(context: Context, ranked: Iterable[str], tokens_of: Callable[[str], int], *, limit_tokens: int) -> Context:
    """A context and the best further pieces in at most ``limit_tokens`` of their own; those that are in it already are skipped.

    What ``local_search`` found, extended by the ranked ``neighbourhood`` in the second of ``limits``, is Alg. 4 l. 3-5.

    >>> extended(Context(("Ann: a miller",), ("c1",), 14), ["c1", "c2", "c3"], lambda piece: 10, limit_tokens=15)
    Context(lines=('Ann: a miller',), pieces=('c1', 'c2'), tokens=24)
    """
    there = set(context.pieces)
    added = fitting((key for key in ranked if key not in there), tokens_of, limit_tokens)
    return Context(context.lines, (*context.pieces, *added), context.tokens + sum(added.values()))


def seeds_and_neighbours(seeds: Iterable[str], neighbours_of: Callable[[str], Sequence[str]]) -> Iterator[str]:
    """KNNG-RAG's order: the piece nearest the question, its neighbours in the KNN graph, the next nearest …; each once (§6.1).

    >>> list(seeds_and_neighbours(["a", "b", "c"], {"a": ["c"], "b": ["a"], "c": []}.__getitem__))
    ['a', 'c', 'b']
    """
    seen: set[str] = set()
    for seed in seeds:
        for key in (seed, *neighbours_of(seed)):
            if key not in seen:
                seen.add(key)
                yield key
