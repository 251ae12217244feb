"""A model and documents for calibrations: it asks with the words of a sentence, and is never very sure."""

import math
import re

from edge_node.calibration.questions import QUESTION_ABOUT
from shared.models.fake import ScriptedGenerator
from shared.models.fingerprint import PROBE

THINGS = "pump monitor scanner heater ladder trolley freezer printer lantern generator".split()  # noqa: SIM905
FRAME = re.compile(r"<<\w+\n(.*)\n\w+>>", re.DOTALL)


def model(*, sure=0.2, unsure=0.02, first="Apple", name="scripted"):
    """One that asks with the words of a sentence, answers with the first passage, and is never very sure that it holds the answer."""

    def reply(prompt):
        asked = prompt.messages[-1].content
        told = FRAME.search(asked)
        if told is None:
            return [first] * prompt.n
        if prompt.messages[0].content == QUESTION_ABOUT.render(sentence="")[0].content:
            return f"What is known of {told[1].rstrip('.')}?"
        return [re.sub(r"^\[1\] ", "", told[1].splitlines()[1]) + " [1]"] * prompt.n

    def first_token(prompt):
        if prompt == PROBE:
            return {first: math.log(0.7), "Sun": math.log(0.2)}
        told = FRAME.search(prompt.messages[-1].content)
        question = prompt.messages[-1].content.rpartition("Question:")[2].splitlines()[0] if told else ""
        holds = told is not None and any(thing in told[1] and thing in question for thing in THINGS)
        p = sure if holds else unsure
        return {"Yes": math.log(p), "No": math.log(1 - p), "A": -0.1}

    return ScriptedGenerator(reply, first_token, name=name)


async def fill(edge):
    """A document of each thing, with hardly a word in common."""
    for n, thing in enumerate(THINGS):
        text = f"The {thing} that {thing}makers built in {n + 1990} stands in {thing}hall beside the {thing}gate and the {thing}well."
        await edge.add(f"{thing}.md", text)
