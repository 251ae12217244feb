"""Questions without labels: of a site's own sentences, written by its model, and of fields that are nobody's. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from shared.ports import Prompt
from shared.text.fence import Fence, one_line
from shared.text.inert import inert
from shared.text.prompts import load_prompt
from shared.text.refusals import is_refusal
from shared.text.sentences import content_words, sentences

QUESTION_ABOUT = load_prompt("edge_node", "question_about")
QUESTION_TOKENS = 60
MAX_CHARS = 300  # of a question
LEAST_WORDS = 3  # that carry meaning, of a question
SENTENCE_WORDS = range(6, 31)  # that carry meaning, of a sentence that is asked about
SAME = 0.6  # share of a sentence's words in another passage, from which on that passage may say the same
_LABEL = re.compile(r"\W*(?:Q(?:uestion)?\s*[:.])?\s*", re.IGNORECASE)
_POINTING = frozenset({"excerpt", "following", "sentence", "sentences", "statement", "text"})  # nobody asks a site so

FOREIGN = (
    "How long should a sourdough loaf prove before it is baked?",
    "Which teams played in the final of the ice hockey league last winter?",
    "How is a violin tuned when one of its strings has been replaced?",
    "What is the distance between Jupiter and its moon Europa?",
    "How are tomato plants pruned so that they bear more fruit?",
    "Which visa does a tourist need for a journey to Mongolia?",
    "How does a knight move on a chess board?",
    "When was the first stone bridge over the river Drina built?",
    "How is the clutch of a motorcycle adjusted?",
    "Which glaze keeps a clay pot from leaking?",
    "What does a beekeeper do when a hive is about to swarm?",
    "How deep must a fence post stand in frozen ground?",
    "Which knot holds a sailing boat at a mooring ring?",
    "What did the medieval guild of dyers pay for indigo?",
    "How is the exposure of a film camera set at night?",
    "Which yarn is used for a fisherman's jumper?",
    "How many players stand on a cricket field?",
    "What is the boiling point of liquid argon?",
    "How are grapes pressed for sparkling wine?",
    "Which scale does the second movement of the sonata begin with?",
)


def order_of(chunk_ids: Iterable[str]) -> list[tuple[str, str]]:
    """Key and id of each chunk, by key: a sample that a set of chunks has in itself. A key tells nobody which chunk it is of."""
    return sorted((hashlib.blake2b(chunk_id.encode(), digest_size=8).hexdigest(), chunk_id) for chunk_id in chunk_ids)


def sentence_in(text: str, key: str) -> str:
    """A sentence of a chunk that is worth asking about, the first by its hash with the chunk's key; "": there is none.

    >>> sentence_in("It stopped. The pump of Juniper Ward stopped in March after its battery had failed.", "")
    'The pump of Juniper Ward stopped in March after its battery had failed.'
    """
    said = [text[start:end].strip() for start, end in sentences(text)]
    fit = [one for one in said if len(content_words(one)) in SENTENCE_WORDS and not one.endswith("?")]
    return min(fit, key=lambda one: hashlib.blake2b((key + one).encode()).digest(), default="")


def question_prompt(title: str, sentence: str, fence: Fence) -> Prompt:
    """Ask for a question that the sentence answers."""
    told = one_line(f"{title}: {sentence}" if title else sentence)
    return Prompt(QUESTION_ABOUT.render(sentence=fence.around(told)), QUESTION_TOKENS, stop=("\n",))


def question_in(reply: str) -> str:
    """The question of a reply; "" where it is none that a person would ask.

    >>> question_in("Question: Which ward reported the pump?"), question_in("What does the text say about pumps?"), question_in("Pumps.")
    ('Which ward reported the pump?', '', '')
    """
    question = one_line(inert(_LABEL.sub("", reply, count=1))).strip()
    words = content_words(question)
    is_one = question.endswith(("?", "？")) and len(question) <= MAX_CHARS and not is_refusal(question)
    return question if is_one and len(words) >= LEAST_WORDS and words.isdisjoint(_POINTING) else ""


def is_said_in(sentence: str, texts: Sequence[str]) -> bool:
    """Whether one of the texts may say what the sentence says, by its words.

    >>> said = "The pump of Juniper Ward stopped in March."
    >>> is_said_in(said, ["In March a pump of Juniper Ward failed."]), is_said_in(said, ["A pump of Rowan Ward is new."])
    (True, False)
    """
    words = content_words(sentence)
    return any(len(words & content_words(text)) >= SAME * len(words) for text in texts)
