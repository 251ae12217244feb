"""What the edges of a benchmark share: everything, as the paper's do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson


def sharing_policy(lines: Iterable[bytes]) -> str:
    """A policy under which all of these rows may leave: by the standard one a label that it does not name never does.

    >>> print(sharing_policy([b'{"label": "law"}', b'{"labels": ["a", "law"]}']))
    version = 1
    <BLANKLINE>
    [labels]
    "a" = "full"
    "law" = "full"
    """
    labels = sorted({" ".join(label.split()) for line in lines for label in _labels(orjson.loads(line))})
    return "\n".join(["version = 1", "", "[labels]", *(f'{orjson.dumps(label).decode()} = "full"' for label in labels)])


def _labels(row: Mapping[str, Any]) -> Iterator[str]:
    for value in (row.get("label"), row.get("labels")):
        named = value if isinstance(value, list) else [value]
        yield from (label for label in named if isinstance(label, str))
