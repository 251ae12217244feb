"""What a policy keeps at the site, why, and what would let it leave: for the site's own people, and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import orjson

from edge_node.policy.rules import Level, Policy, share_of

Labels = tuple[str, ...] | None  # None: they are damaged
NO_LINE = (
    "names are found in English only, and what cannot be masked stays; a person may send an English version of the document, or share it "
    "from an edge of its own whose policy masks, under `names`, those that the person has found in it"
)


@dataclass(frozen=True, slots=True)
class WithheldBy:
    """A rule that keeps something here. ``documents``, ``passages`` or ``summaries`` says how many, of summaries at most.

    line: what to write into the policy, so that they leave; "": there is none. advice: where to write it, or what to do instead.
    """

    rule: str
    documents: int
    passages: int
    line: str
    advice: str
    summaries: int = 0


@dataclass(frozen=True, slots=True)
class WithheldCounts:
    """How many of how many summaries and indexed documents stay here. A document that only shares summaries is not among them.

    parked: documents beside these, of which nothing is indexed, so nothing leaves.
    """

    summaries: int
    all_summaries: int
    documents: int
    all_documents: int
    holds: tuple[WithheldBy, ...]
    parked: int = 0


def holds(policy: Policy, documents: Mapping[Labels, int], unread: Mapping[str, int], blank: int = 0) -> tuple[WithheldBy, ...]:
    """Why documents stay, by their number for each list of labels, and passages, by their number for each language that is not read.

    ``blank``: summaries that tell nothing.

    >>> [(hold.line, hold.advice) for hold in holds(Policy(version=1), {("economics",): 1, (): 3}, {})]
    [('"economics" = "full"', 'under [labels]')]
    """
    if policy.fault:
        return (
            WithheldBy("the policy file cannot be read", sum(documents.values()), 0, "", "mend it: `dgrag policy check FILE` says where"),
        )
    return (*_of_labels(policy, documents), *_of_languages(unread), *_of_support(policy, blank))


def _of_labels(policy: Policy, documents: Mapping[Labels, int]) -> Iterator[WithheldBy]:
    if damaged := documents.get(None):
        yield WithheldBy("damaged labels", damaged, 0, "", "send these documents again")
    if policy.summary_level(()) < Level.SUMMARY and (plain := documents.get(())):
        yield WithheldBy('unlabelled = "never"', plain, 0, 'unlabelled = "full"', "in the place of that line")
    for label in sorted({label for labels in documents if labels for label in labels}):
        if policy.summary_level([label]) < Level.SUMMARY:
            key = orjson.dumps(label).decode()  # a TOML key too
            rule = f"label {key}: {share_of(Level.NEVER)}" if label in policy.labels else f"label {key}, which the policy does not name"
            worn = sum(number for labels, number in documents.items() if labels and label in labels)
            yield WithheldBy(rule, worn, 0, f'{key} = "full"', "in the place of its line" if label in policy.labels else "under [labels]")


def _of_support(policy: Policy, blank: int) -> Iterator[WithheldBy]:
    if policy.minimum_support > 1 and blank:
        rule = f"minimum_support = {policy.minimum_support}, of names that fewer documents tell of"
        yield WithheldBy(rule, 0, 0, "minimum_support = 1", "in the place of that line", blank)


def _of_languages(unread: Mapping[str, int]) -> Iterator[WithheldBy]:
    known = {language: passages for language, passages in unread.items() if language}
    if known:
        told = ", ".join(f"{language} ({passages:,})" for language, passages in known.items())
        yield WithheldBy(f"types, in languages whose names are not found: {told}", 0, sum(known.values()), "", NO_LINE)
    if unknown := unread.get(""):
        yield WithheldBy("types, in passages whose language is not known yet", 0, unknown, "", "it is looked at soon")
