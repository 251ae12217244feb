"""A sharing policy in words for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edge_node.policy.rules import Daily, Identifier, MemoryRules, Policy, Redact
from shared.plural import counted

RULES: dict[str, str] = {
    "unlabelled": "documents without a label",
    "unknown label": "labels that the policy does not name",
    "damaged": "labels that are damaged on disk",
    "types": "names that are masked, in a language in which they are not found",
    "fault": "the policy cannot be read",
    "masked": "masks, behind which they are not near to the question",
}
IDENTIFIERS: dict[Identifier, str] = {
    "email": "e-mail addresses",
    "phone": "telephone numbers",
    "iban": "bank accounts (IBAN)",
    "card": "payment cards",
    "ssn": "numbers of persons and taxpayers",
    "record": "numbers of records and cases",
}


def told_rule(rule: str) -> str:
    """A rule for passages, as people say it.

    >>> told_rule("label patients"), told_rule("exception 2"), told_rule("unlabelled")
    ('the label patients', 'exception 2', 'documents without a label')
    """
    return f"the {rule}" if rule.startswith("label ") else RULES.get(rule, rule)


def general(read: Policy) -> Iterator[tuple[str, str]]:
    """What holds for all that leaves, by subject.

    >>> dict(general(Policy(version=1)))["passages"]
    'at most 2,000 characters'
    """
    questions = {"yes": "may leave", "no": "stay here", "ask": "leave once the client has said yes"}
    yield "questions", questions[read.questions]
    yield (
        "summaries",
        f"entities that at least {read.minimum_support} of the documents mention" if read.minimum_support > 1 else "all entities",
    )
    yield "passages", f"at most {counted(read.snippet_chars, 'character')}"
    yield "masked", _masks(read.redact)
    yield "memories", remembered(read.memories)
    yield "a requester a day", _limits(read.daily)
    yield "all of them a day", _limits(read.daily_all)


def remembered(memories: MemoryRules) -> str:
    """What a cloud is told of memories."""
    if memories.share == "off":
        return "stay here"
    told = {"hints": "as hints", "answers": "answers where all may quote the documents, else hints"}[memories.share]
    names = f"each name of {listed(memories.names, 'no kind')} exchanged once, epsilon {memories.epsilon:g}"
    stopped = f"; epsilon is over its budget of {memories.epsilon_budget:g}: no further name is drawn"
    return f"at most {memories.most:,}: {told}; in hints {names}" + (stopped if memories.epsilon > memories.epsilon_budget else "")


def _masks(redact: Redact) -> str:
    kinds = [*redact.identifiers, *redact.patterns, *(f"names of {kind} entities" for kind in redact.types)]
    names = [f"names that the file lists: {len(redact.names)}"] if redact.names else []
    return listed([*kinds, *names], "nothing")


def _limits(daily: Daily) -> str:
    return listed([f"{most:,} {what}" for what, most in daily.model_dump().items() if most], "no limit")


def listed(words: Sequence[str], none: str) -> str:
    """Words with commas between them; ``none`` where there are none."""
    return ", ".join(words) or none
