"""In which language a question wants its answer: one line in a prompt, and none for English."""

from __future__ import annotations

import re

from shared.text.fence import one_line

_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = frozenset(
    """
    the of is it she to on are were what which who whom whose when where why how does did do has have can about at and for from with by
    any there this that these those their list tell give show find compare describe explain summarise summarize
    """.split()  # noqa: SIM905
)
_FOREIGN = frozenset(  # question words, articles and prepositions that are no English words
    """
    wer wen wem wessen welche welcher welches welchen wann warum wo wohin woher wieviel wie der die das den dem des und ist sind wurde
    wurden hat haben nicht mit von für bei beim zur zum
    qui que quel quelle quels quelles où quand comment pourquoi combien est sont les des du une et dans pour par avec
    qué quién quiénes cuál cuáles cuándo dónde cómo cuánto cuántos cuántas por los las del el una y es son con para
    chi quale quali quando dove come perché quanto della dello gli nel wat welke wanneer waar waarom hoe het een quem qual quais onde
    """.split()  # noqa: SIM905 - a list would be a page long
)
_OTHER_SCRIPT = re.compile(r"[\u0370-\u1fff\u3040-\u9fff\uac00-\ud7af]")
LINE = "Answer in the language of the question; say Insufficient information in English."


def is_foreign(question: str) -> bool:
    """Whether a question is clearly not in English: in another script, or with words of its own and none of English's.

    >>> [is_foreign(text) for text in ("Was tat die Wache?", "谁更换了泵？", "Compare Das Boot", "Insulin?")]
    [True, True, False, False]
    """
    words = {word.lower() for word in _WORD.findall(question)}
    letters = sum(map(len, words)) or 1
    return not words & _ENGLISH and (bool(words & _FOREIGN) or len(_OTHER_SCRIPT.findall(question)) * 2 > letters)


def asked(question: str) -> str:
    r"""A question as one line of a prompt; below one that is not in English stands in which language the answer should be.

    >>> asked("Who built it?"), asked("Wer baute\n die Mühle?").splitlines()[0]
    ('Who built it?', 'Wer baute die Mühle?')
    """
    return f"{one_line(question)}\n{LINE}" if is_foreign(question) else one_line(question)
