"""In which language a question wants its answer: one line in a prompt, and none for English."""

from __future__ import annotations

from shared.text.fence import one_line
from shared.text.language import READ, language_of_question

LINE = "Answer in the language of the question; say Insufficient information in English."


def is_foreign(question: str) -> bool:
    """Whether a question is clearly not in English.

    >>> [is_foreign(text) for text in ("Was tat die Wache?", "谁更换了泵？", "Compare Das Boot", "Insulin?")]
    [True, True, False, False]
    """
    return language_of_question(question) != READ


def asked(question: str) -> str:
    r"""A question as one line of a prompt; below one that is not in English stands in which language the answer should be.

    >>> asked("Who built it?"), asked("Wer baute\n die Mühle?").splitlines()[0]
    ('Who built it?', 'Wer baute die Mühle?')
    """
    return f"{one_line(question)}\n{LINE}" if is_foreign(question) else one_line(question)
