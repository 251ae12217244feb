"""Does an answer say that it has no answer? By words (DGRAG §III-C ⑤ 1), or by the distribution of a verdict's first token."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

YES_OR_NO = ("yes", "no")  # what a verdict may be
REFUSAL = "Insufficient information."  # what our prompts ask a model to say
MAX_SENTENCE_CHARS = 600  # a longer one is judged by its beginning

_LACKING = r"(?:information|context|details?|evidence|data)"
_SOURCE = (  # what only talk about the prompt's passages names; "document" alone may be the subject of a true answer
    r"(?:(?:the|these|those|this|any of the|none of the) )?(?:(?:provided|given|supplied|above|available|retrieved|relevant|source) )*"
    r"(?:passages?(?: \d+)?|context|excerpts?|text|documents|sources|snippets?|information|material)(?: (?:provided|given|above))?"
)
_SAY = (
    r"(?:mention|contain|provide|state|say|specify|include|give|indicate|describe|discuss|address|answer|explain|disclose|identify|"
    r"reveal|tell|list|offer|have|detail|clarify|name|report)"
)
_SAID = r"(?:mentioned|specified|stated|provided|given|disclosed|included|found|available|described|listed|addressed|named|discussed)"
_NOT = r"(?:(?:do|does|did)(?: not|n't))(?: \w+ly| actually| (?:appear|seem) to)?"
_OPENING = r"^\W*(?:(?:however|but|therefore|thus|so|unfortunately|(?:(?:i'm|i am) )?sorry|(?:based on|from) [^,.]{1,60}),? (?:but )?){0,3}"

_VERDICTS = (  # at a sentence's start: the answer judges itself
    rf"(?:there is |i have )?(?:insufficient|not enough) (?:\w+ )?{_LACKING}\b(?! (?:was|were|led|caused|pressure))",
    r"there (?:is|was)(?: no|n't (?:any|enough)| not (?:any|enough)) (?:\w+ )?(?:information|mention|details?)\b",
    r"no (?:\w+ )?(?:information|mention|details?)(?:\W*$| (?:is|was|are|were|about|on|regarding|of|provided|given|available|in the)\b)",
    r"(?:i|we) (?:do not|don't) (?:know|have (?:\w+ ){0,3}(?:information|context|details?|data|access|knowledge))\b",
    r"(?:i|we)(?:'m| am|'re| are) (?:not (?:sure|able)|unable|unsure)\b",
    r"(?:i|we) (?:cannot|can't|could not|couldn't) (?:answer|determine|find|provide|say|tell|confirm|identify)\b",
    r"(?:i|we) (?:would )?need more (?:details?|information|context)\b",
    r"(?:it is )?(?:unable|not possible|impossible) to (?:answer|determine|provide|say|tell|identify)\b",
    r"it(?: is|'s) (?:not (?:clear|known|specified|stated|mentioned)|unclear|unknown)\b(?! to\b)",
    r"(?:(?:unzureichende|keine(?: ausreichenden)?|nicht gen[uü]gend) Informationen|informations? insuffisantes?|pas assez d'informations?"
    r"|(?:información|informaciones) insuficientes?|no hay (?:suficiente )?información)\b",
    r"(?:信息不足|没有足够的?信息|没有(?:提到|提及|相关信息)|未提及|无法(?:回答|确定))",
    r"(?:unknown|n/a|not (?:mentioned|specified|stated|provided|available|given|known|found)|no answer)\W*$",
)
_ABOUT_SOURCES = (  # anywhere in a sentence: it speaks about the passages or the question, not about the world
    rf"(?:^|[ ,(]){_SOURCE} (?:{_NOT} {_SAY}\b|fails? to {_SAY}\b)",
    rf"(?:^|[ ,(]){_SOURCE} (?:makes?|has|have|gives?|contains?|provides?) no (?:\w+ )?(?:information|mention|details?|answer)\b",
    rf"(?:^|[ ,(]){_SOURCE} (?:is|are) (?:insufficient|not (?:sufficient|enough))\b",
    rf"\bnone of {_SOURCE} {_SAY}s?\b",
    rf"\b(?:is|are|was|were)(?: not|n't) (?:\w+ly )?{_SAID}(?: or \w+)? (?:in|by|from|within) {_SOURCE}",
    r"\b(?:cannot|can not|can't) be (?:\w+ly )?(?:determined|answered|inferred|ascertained)"
    r"(?:\W*$|[ ,]+(?:from|based|with|given|using|due|because|as|in)\b)",
    rf"\b(?:insufficient|not enough) {_LACKING} (?:(?:in|from) {_SOURCE}|to (?:answer|determine|say|identify|provide|conclude))\b",
    r"\bmore (?:details?|information|context) (?:is|are) (?:needed|required) to (?:answer|determine)\b",
)
_VERDICT = re.compile(_OPENING + "(?:" + "|".join(_VERDICTS) + ")", re.IGNORECASE)
_GAP = re.compile("|".join(_ABOUT_SOURCES), re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")


def probability_of(first_token: Mapping[str, float] | None, wanted: str, others: Sequence[str]) -> float | None:
    """P(wanted) among the words ``wanted`` and ``others``, from log-probabilities of the first token.

    Tokens count for a word when they begin it, whatever their case and leading blanks ("Yes", " yes", "Y").
    None when the distribution holds none of the words, so that nothing can be said.

    >>> round(probability_of({"Yes": math.log(0.6), "no": math.log(0.2), "maybe": math.log(0.2)}, "yes", ["no"]), 2)
    0.75
    """
    mass = dict.fromkeys([wanted, *others], 0.0)
    for token, logprob in (first_token or {}).items():
        stripped = token.strip().casefold()
        for word in mass:
            if stripped and word.casefold().startswith(stripped):
                mass[word] += math.exp(logprob)
                break
    total = sum(mass.values())
    return mass[wanted] / total if total > 0 else None


def is_refusal(text: str) -> bool:
    """Whether an answer says that it lacks information: its first sentence does, or a later one is a plain verdict.

    An answer that first answers and then names a gap ("… replaced in March. The passages do not mention by whom.") is no
    refusal; one that closes with "Insufficient information." is. An empty answer is one.

    >>> is_refusal("The passages do not mention a fuel limit."), is_refusal("The patient had insufficient iron.")
    (True, False)
    >>> is_refusal("Unzureichende Informationen."), is_refusal("信息不足。"), is_refusal("王芳更换了泵。")
    (True, True, False)
    """
    sentences = [sentence for sentence in _SENTENCE_END.split(text.replace("’", "'").strip()) if re.search(r"\w", sentence)]
    if not sentences:
        return True
    first, *rest = (" ".join(sentence.split())[:MAX_SENTENCE_CHARS] for sentence in sentences)
    return bool(_VERDICT.match(first) or _GAP.search(first)) or any(_VERDICT.match(sentence) for sentence in rest)
