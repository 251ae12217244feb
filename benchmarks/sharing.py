"""What the edges of a benchmark share: everything, as the paper's do; of their memories what a system says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from benchmarks.datasets.corpus import lines_of
from benchmarks.fdrag_systems import Shares

NONE = ("replies = 0", "passages = 0", "bytes = 0")
UNLIMITED = ("", "[daily]", *NONE, "[daily_all]", *NONE)


def sharing(data: Path, edges: Sequence[str], shares: Shares, masked: Sequence[str] = ()) -> dict[str, str]:
    """Settings by which the edges share their documents and so much of their memories; an operator vouches for all who tell answers.

    Names of entities whose types are ``masked`` are blotted out in what leaves.

    The policy is written into the folder ``data`` with ``<edge>.jsonl``.
    """
    policy = data / f"{'-'.join(['unlimited', *filter(None, [shares]), *masked])}.toml"
    if not policy.exists():
        lines = (line for edge in edges for _, line in lines_of(data / f"{edge}.jsonl"))
        policy.write_text(sharing_policy(lines, shares, masked), encoding="utf-8")
    trusted = {"DGRAG_CLOUD_MEMORY_TRUSTED": orjson.dumps(list(edges)).decode()} if shares == "answers" else {}
    return {"DGRAG_EDGE_POLICY_FILE": str(policy), **trusted}


def sharing_policy(lines: Iterable[bytes], shares: Shares = "", masked: Sequence[str] = ()) -> str:
    """A policy under which all of these rows may leave, to whoever asks however much.

    By the standard one a label that it does not name never leaves, and a day has limits.

    >>> print(sharing_policy([b'{"label": "law"}', b'{"labels": ["a", "law"]}']))
    version = 1
    <BLANKLINE>
    [daily]
    replies = 0
    passages = 0
    bytes = 0
    [daily_all]
    replies = 0
    passages = 0
    bytes = 0
    <BLANKLINE>
    [labels]
    "a" = "full"
    "law" = "full"
    """
    labels = sorted({" ".join(label.split()) for line in lines for label in _labels(orjson.loads(line))})
    memories = ["", "[memories]", f'share = "{shares}"'] if shares else []
    redact = ["", "[redact]", f"types = {orjson.dumps(list(masked)).decode()}"] if masked else []
    named = (f'{orjson.dumps(label).decode()} = "full"' for label in labels)
    return "\n".join(["version = 1", *UNLIMITED, "", "[labels]", *named, *memories, *redact])


def _labels(row: Mapping[str, Any]) -> Iterator[str]:
    for value in (row.get("label"), row.get("labels")):
        named = value if isinstance(value, list) else [value]
        yield from (label for label in named if isinstance(label, str))
