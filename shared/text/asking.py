"""In which language a question wants its answer: one line in a prompt, and none for English."""

from __future__ import annotations

from shared.text.fence import one_line
from shared.text.language import READ, language_of_question

LINE = "Answer in the language of the question; say Insufficient information in English."
LINES = {  # in that language, as a small model follows the language that it reads last
    "de": "Antworte auf Deutsch. Sagen die Passagen nichts dazu, antworte: Insufficient information.",
    "fr": "Réponds en français. Si les passages n'en disent rien, réponds : Insufficient information.",
    "es": "Responde en español. Si los pasajes no dicen nada de ello, responde: Insufficient information.",
    "zh": "请用中文回答。如果段落没有提到，请回答：Insufficient information.",
}


def is_foreign(question: str) -> bool:
    """Whether a question is clearly not in English.

    >>> [is_foreign(text) for text in ("Was tat die Wache?", "谁更换了泵？", "Compare Das Boot", "Insulin?")]
    [True, True, False, False]
    """
    return language_of_question(question) != READ


def asked(question: str) -> str:
    r"""A question as one line of a prompt; below one that is not in English stands in which language the answer should be.

    >>> asked("Who built it?"), asked("Wer baute\n die Mühle?").splitlines()
    ('Who built it?', ['Wer baute die Mühle?', 'Antworte auf Deutsch. Sagen die Passagen nichts dazu, antworte: Insufficient information.'])
    """
    language = language_of_question(question)
    return one_line(question) if language == READ else f"{one_line(question)}\n{LINES.get(language, LINE)}"
