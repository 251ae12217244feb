"""① A document's title names what all its passages are about: it becomes an entity that each of them tells of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from edge_node.graph.knowledge_graph import TITLE
from edge_node.graph.linking import LONGEST
from edge_node.graph.names import MAX_WORDS, is_noise, normalise
from edge_node.graph.nlp import shortened
from shared.records import Chunk, EntityMention
from shared.sentences import sentences

_HEADING = re.compile(r"\s*#{1,6}[ \t]+(\S[^\n]*)")
_QUALIFIER = re.compile(r"(?<!\s)\s*+\([^()]*+\)\s*+$")


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
