"""What a reasoning model thinks before it answers: taken off the beginning of its text, whole or in pieces. Pure.

Only the beginning is looked at: an answer that quotes ``</think>`` later keeps its text. Some chat templates write the opening tag
themselves, so that a reply begins with thoughts and only their end is marked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Thinking = Literal["", "tags", "unopened", "apart"]  # none; in the text; there without an opening tag; in a field of its own
_FINAL = "<|channel|>final<|message|>"
TAGS = (  # opening and closing, as the models of several makers write them
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("[think]", "[/think]"),
    ("[thinking]", "[/thinking]"),
    ("◁think▷", "◁/think▷"),
    ("<|think|>", "<|/think|>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", _FINAL),
    ("<|channel|>commentary<|message|>", _FINAL),
    ("<|start|>assistant<|channel|>analysis<|message|>", _FINAL),
)
WRAPPERS = (_FINAL, f"<|start|>assistant{_FINAL}", "<|start_response|>", "<|begin_of_solution|>")  # before the answer itself
_CLOSING_TAGS = tuple(dict.fromkeys(closing for _, closing in TAGS))
_CLOSING = "|".join(map(re.escape, _CLOSING_TAGS))
_QUOTE = "`'\"“‘”’(<"
_UNOPENED = re.compile(  # a closing tag at a line's end, behind a sentence or without blanks around it: not one that a sentence quotes
    rf"(?<![{_QUOTE}])(?:{_CLOSING})(?=[ \t]*(?:\n|\Z))|(?<=[.!?…。！？])\s*(?:{_CLOSING})|(?<=[^\s{_QUOTE}])(?:{_CLOSING})(?=\w)",
    re.IGNORECASE,
)
_ANY_CLOSING = re.compile(rf"(?<![{_QUOTE}])(?:{_CLOSING})(?![{_QUOTE}])", re.IGNORECASE)
_END_TOKENS = re.compile(r"(?:<\|[a-z_]{1,40}+\|>\s*+){1,4}+\Z", re.IGNORECASE)
_CODE = "```"


@dataclass(frozen=True, slots=True)
class Parts:
    """A reply's text, its thoughts apart. ``thinking``: whether there were any, and how they were told from the answer."""

    thoughts: str
    answer: str
    thinking: Literal["", "tags", "unopened"] = ""


def parted(text: str, thinking: Thinking | None = None) -> Parts:
    r"""A whole text; thoughts that are cut off leave no answer. ``thinking``: what is known of the model.

    >>> parted("<think>Hm.</think> Yes").answer, parted("Hm.\n</think>\n\nYes").answer, parted("It ends with `</think>` [1].").thoughts
    ('Yes', 'Yes', '')
    """
    view = ThoughtFilter()
    pieces = [view.feed(text), view.rest()]
    thoughts, answer = "".join(piece.thoughts for piece in pieces), "".join(piece.answer for piece in pieces)
    if view.has_opened:
        return Parts(thoughts, _without_end(answer), "tags")
    if thinking not in ("tags", "apart") and (closing := unopened_end(answer, is_sure=thinking == "unopened")):
        begins, ends = closing
        return Parts(answer[:begins], parted(answer[ends:], "tags").answer, "unopened")
    return Parts("", _without_end(answer))


def _without_end(text: str) -> str:
    """A text without the tokens that end a turn, which some servers leave in it."""
    end = _END_TOKENS.search(text)
    return text[: end.start()].rstrip() if end else text


def unopened_end(text: str, *, is_sure: bool = False) -> tuple[int, int] | None:
    """Where the closing tag stands of thoughts that nothing opened; None where none is but in quotes. ``is_sure``: there are thoughts."""
    fences, counted = 0, 0
    for match in (_ANY_CLOSING if is_sure else _UNOPENED).finditer(text):
        fences += text.count(_CODE, counted, match.start())
        counted = match.start()
        if fences % 2 == 0:
            return match.span()
    return None


class ThoughtFilter:
    """Parts a text that comes in pieces; what may still become a tag is held back.

    >>> view = ThoughtFilter()
    >>> [view.feed(piece).answer for piece in ("<th", "ink>Hm", ".</thi", "nk>Yes", " < 5 </think>")], view.rest().answer
    (['', '', '', 'Yes', ' < 5 </think>'], '')
    """

    def __init__(self, *, is_unopened: bool = False) -> None:
        """``is_unopened``: the text begins with thoughts, as the model's texts are known to."""
        self._waiting = ""
        self._closing: tuple[str, ...] = _CLOSING_TAGS if is_unopened else ()  # what ends the thoughts; none: outside of them
        self._is_answer = False  # the beginning is over
        self.has_opened = False  # an opening tag was there

    def feed(self, piece: str) -> Parts:
        """What of the text so far is sure to be a thought, or the answer."""
        self._waiting += piece
        thoughts = answer = ""
        while self._waiting and not self._is_answer:
            if self._closing:
                thought, is_over = self._thought()
                thoughts += thought
                if not is_over:
                    return Parts(thoughts, "")
            elif not self._opened():
                return Parts(thoughts, "")
        if self._is_answer:
            answer, self._waiting = self._waiting, ""
        return Parts(thoughts, answer)

    def rest(self) -> Parts:
        """What was held back, at the end of the text."""
        waiting, self._waiting = self._waiting, ""
        return Parts(waiting, "") if self._closing else Parts("", waiting)

    def _thought(self) -> tuple[str, bool]:
        """The thoughts up to their end, or as far as no closing tag can begin in them; and whether they have ended."""
        folded = _folded(self._waiting)
        ends = [(at, tag) for tag in self._closing if (at := folded.find(tag)) >= 0]
        if ends:
            at, tag = min(ends)
            thought, self._waiting, self._closing = self._waiting[:at], self._waiting[at + len(tag) :], ()
            return thought, True
        keep = max(overlap(folded, tag) for tag in self._closing)
        sure = len(self._waiting) - keep
        thought, self._waiting = self._waiting[:sure], self._waiting[sure:]
        return thought, False

    def _opened(self) -> bool:
        """Go past a tag at the beginning; False where more of the text is needed to tell."""
        start = self._waiting.lstrip()
        folded = _folded(start)
        for opening, closing in TAGS:
            if folded.startswith(opening):
                self._waiting, self._closing, self.has_opened = start[len(opening) :], (closing,), True
                return True
        for wrapper in WRAPPERS:
            if folded.startswith(wrapper):
                self._waiting, self._is_answer = start[len(wrapper) :].lstrip(), True
                return True
        known = (*(opening for opening, _ in TAGS), *WRAPPERS)
        if any(tag.startswith(folded) for tag in known):
            return False
        self._waiting, self._is_answer = start, True
        return True


def _folded(text: str) -> str:
    """In lower case, of the same length: ASCII letters alone, as tags have them."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def overlap(text: str, tag: str) -> int:
    """How many characters at the end of a text may be the beginning of a tag.

    >>> overlap("Yes <th", "<think>")
    3
    """
    longest = min(len(text), len(tag) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(tag[:size])), 0)
