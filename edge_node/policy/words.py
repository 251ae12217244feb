"""A sharing policy in words for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edge_node.policy.rules import Daily, MemoryRules, Policy, Redact, Share
from shared.plural import counted

MEANING: dict[Share, str] = {
    "never": "nothing leaves",
    "summary": "facts in summaries, no passages",
    "evidence": "summaries; passages are read by the cloud, not quoted",
    "full": "summaries; passages are read and quoted",
}


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
