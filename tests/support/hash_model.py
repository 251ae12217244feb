"""A model whose replies are a function of what it is asked, so that everything made of them can be foretold."""

import re

from edge_node.database.replies import prompt_hash
from edge_node.graph.summaries import MAX_SUMMARY_CHARS, summary_prompt, whole_sentences
from shared.models.fake import ScriptedGenerator

_NAMES = re.compile(r"^Entities: (.*)$", re.MULTILINE)


def reply(prompt):
    """Relations between the first of the given names and two others, where names are given; else a sentence with the prompt's hash."""
    listed = _NAMES.findall(prompt.messages[-1].content)
    if not listed:
        return f"It is told of {prompt_hash(prompt)[:12]} at some length."
    first, *others = listed[-1].split("; ")
    return "\n".join(f"{first} | is told of with | {other}" for other in others[:2]) or "NONE"


def hash_model(say):
    """A Generator that says ``asked HASH`` for each call."""

    def answer(prompt):
        say(f"asked {prompt_hash(prompt)}")
        return reply(prompt)

    return ScriptedGenerator(answer)


def asked(lines):
    """What the model was asked, in order.

    >>> asked(["open", "asked b", "ack 0", "asked a"])
    ['b', 'a']
    """
    return [line.split()[1] for line in lines if line.startswith("asked ")]


def summary_of(part):
    """What a summary of a part of the graph must say."""
    return whole_sentences(reply(summary_prompt(part)))[:MAX_SUMMARY_CHARS]
