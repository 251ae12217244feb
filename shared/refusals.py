"""Does an answer say that it has no answer? A lexical check (DGRAG §III-C ⑤ 1), the cheap half of confidence detection."""

from __future__ import annotations

import re

REFUSAL = "Insufficient information."  # what our prompts ask a model to say
MAX_SENTENCE_CHARS = 600  # a longer one is judged by its beginning

_LACKING = r"(?:information|context|details?|evidence|data)"
_SOURCE = (  # what only talk about the prompt's passages names; "document" alone may be the subject of a true answer
    r"(?:the|these|those|this|any of the|none of the)?\s*(?:(?:provided|given|supplied|above|available|retrieved|relevant|source)\s+)*"
    r"(?:passages?(?:\s+\d+)?|context|excerpts?|text|documents|sources|snippets?|information|material)(?:\s+(?:provided|given|above))?"
)
_SAY = (
    r"(?:mention|contain|provide|state|say|specify|include|give|indicate|describe|discuss|address|answer|explain|disclose|identify|"
    r"reveal|tell|list|offer|have|detail|clarify|name|report)"
)
_SAID = r"(?:mentioned|specified|stated|provided|given|disclosed|included|found|available|described|listed|addressed|named|discussed)"
_NOT = r"(?:(?:do|does|did)(?:\s+not|n't))(?:\s+\w+ly|\s+actually|\s+(?:appear|seem)\s+to)?"
_OPENING = (
    r"^\W*(?:(?:however|but|therefore|thus|so|unfortunately|(?:i'm|i am)?\s*sorry|(?:based on|from)\s[^,.]{1,60}),?\s+(?:but\s+)?){0,3}"
)

_VERDICTS = (  # at a sentence's start: the answer judges itself
    rf"(?:there\s+is\s+|i\s+have\s+)?(?:insufficient|not\s+enough)\s+(?:\w+\s+)?{_LACKING}\b(?!\s+(?:was|were|led|caused|pressure))",
    r"there\s+(?:is|was)(?:\s+no|n't\s+(?:any|enough)|\s+not\s+(?:any|enough))\s+(?:\w+\s+)?(?:information|mention|details?)\b",
    r"no\s+(?:\w+\s+)?(?:information|mention|details?)(?:\W*$|\s+(?:is|was|are|were|about|on|regarding|of|provided|given|available|in\s+the)\b)",
    r"(?:i|we)\s+(?:do\s+not|don't)\s+(?:know|have\s+(?:\w+\s+){0,3}(?:information|context|details?|data|access|knowledge))\b",
    r"(?:i|we)(?:'m|\s+am|'re|\s+are)\s+(?:not\s+(?:sure|able)|unable|unsure)\b",
    r"(?:i|we)\s+(?:cannot|can't|could\s+not|couldn't)\s+(?:answer|determine|find|provide|say|tell|confirm|identify)\b",
    r"(?:i|we)\s+(?:would\s+)?need\s+more\s+(?:details?|information|context)\b",
    r"(?:it\s+is\s+)?(?:unable|not\s+possible|impossible)\s+to\s+(?:answer|determine|provide|say|tell|identify)\b",
    r"it(?:\s+is|'s)\s+(?:not\s+(?:clear|known|specified|stated|mentioned)|unclear|unknown)\b(?!\s+to\b)",
    r"(?:unknown|n/a|not\s+(?:mentioned|specified|stated|provided|available|given|known|found)|no\s+answer)\W*$",
)
_ABOUT_SOURCES = (  # anywhere in a sentence: it speaks about the passages or the question, not about the world
    rf"(?:^|[\s,(]){_SOURCE}\s+(?:{_NOT}\s+{_SAY}\b|fails?\s+to\s+{_SAY}\b)",
    rf"(?:^|[\s,(]){_SOURCE}\s+(?:makes?|has|have|gives?|contains?|provides?)\s+no\s+(?:\w+\s+)?(?:information|mention|details?|answer)\b",
    rf"(?:^|[\s,(]){_SOURCE}\s+(?:is|are)\s+(?:insufficient|not\s+(?:sufficient|enough))\b",
    rf"\bnone\s+of\s+{_SOURCE}\s+{_SAY}s?\b",
    rf"\b(?:is|are|was|were)(?:\s+not|n't)\s+(?:\w+ly\s+)?{_SAID}(?:\s+or\s+\w+)?\s+(?:in|by|from|within)\s+{_SOURCE}",
    r"\b(?:cannot|can\s+not|can't)\s+be\s+(?:\w+ly\s+)?(?:determined|answered|inferred|ascertained)"
    r"(?:\W*$|[\s,]+(?:from|based|with|given|using|due|because|as|in)\b)",
    rf"\b(?:insufficient|not\s+enough)\s+{_LACKING}\s+(?:(?:in|from)\s+{_SOURCE}|to\s+(?:answer|determine|say|identify|provide|conclude))\b",
    r"\bmore\s+(?:details?|information|context)\s+(?:is|are)\s+(?:needed|required)\s+to\s+(?:answer|determine)\b",
)
_VERDICT = re.compile(_OPENING + "(?:" + "|".join(_VERDICTS) + ")", re.IGNORECASE)
_GAP = re.compile("|".join(_ABOUT_SOURCES), re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def is_refusal(text: str) -> bool:
    """Whether an answer says that it lacks information: its first sentence does, or a later one is a plain verdict.

    An answer that first answers and then names a gap ("… replaced in March. The passages do not mention by whom.") is no
    refusal; one that closes with "Insufficient information." is. An empty answer is one.

    >>> is_refusal("The passages do not mention a fuel limit."), is_refusal("The patient had insufficient iron.")
    (True, False)
    """
    sentences = [sentence for sentence in _SENTENCE_END.split(text.replace("’", "'").strip()) if re.search(r"\w", sentence)]
    if not sentences:
        return True
    first, *rest = (sentence[:MAX_SENTENCE_CHARS] for sentence in sentences)
    return bool(_VERDICT.match(first) or _GAP.search(first)) or any(_VERDICT.match(sentence) for sentence in rest)
