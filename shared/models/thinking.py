"""What a reasoning model thinks before it answers: taken off the beginning of its text, whole or in pieces. Pure.

Only the beginning is looked at: an answer that quotes ``</think>`` later keeps its text. Some chat templates write the opening tag
themselves, so that a reply begins with thoughts and only their end is marked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# none; in the text; there without an opening tag; in a field of its own; nowhere, but counted
Thinking = Literal["", "tags", "unopened", "apart", "hidden"]
_FINAL = "<|channel|>final<|message|>"
WORD_TAGS = (  # opening and closing: words that elements of any XML may have as names
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
)
OWN_TAGS = (  # as the models of several makers write them, and hardly anybody else
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
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
TAGS = OWN_TAGS + WORD_TAGS
WRAPPERS = (_FINAL, f"<|start|>assistant{_FINAL}", "<|start_response|>", "<|begin_of_solution|>")  # before the answer itself
_CLOSING_TAGS = tuple(dict.fromkeys(closing for _, closing in OWN_TAGS))
_CLOSING = "|".join(map(re.escape, _CLOSING_TAGS))
_QUOTE = "`'\"“‘”’(<"
_UNOPENED = re.compile(  # a closing tag at a line's end, behind a sentence or without blanks around it: not one that a sentence quotes
    rf"(?<![{_QUOTE}])(?:{_CLOSING})(?=[ \t]*(?:\n|\Z))|(?<=[.!?…。！？])\s*(?:{_CLOSING})|(?<=[^\s{_QUOTE}])(?:{_CLOSING})(?=\w)",
    re.IGNORECASE,
)
_ANY_CLOSING = re.compile(rf"(?<![{_QUOTE}])(?:{_CLOSING})(?![{_QUOTE}])", re.IGNORECASE)
_END_TOKENS = re.compile(r"(?:<\|[a-z_]{1,40}+\|>\s*+){1,4}+\Z", re.IGNORECASE)
_WORD_CLOSINGS = tuple((closing,) for _, closing in WORD_TAGS)
_CODE = "```"
# between two tags that a sentence names: "<think> and </think> mark a thought"
_BETWEEN = re.compile(
    r"[ \t]*(?:,|/|&|\.{2,3}|…|[-–—]|and|or|to|und|oder|bis|et|ou|y|o)[ \t]*",
    re.IGNORECASE,
)
_CONTROL = "|◁"  # in tags that no sentence names
_SENTENCE_ENDS = (".", "!", "?", "…", ":", "。", "！", "？")


@dataclass(frozen=True, slots=True)
class Parts:
    """A reply's text, its thoughts apart. ``thinking``: whether there were any, and how they were told from the answer."""

    thoughts: str
    answer: str
    thinking: Literal["", "tags", "unopened"] = ""


def may_end_early(stops: Sequence[str]) -> bool:
    """Whether a text may have been ended among its thoughts: by a stop sequence of blanks alone."""
    return not all(stop.strip() for stop in stops)


def parted(text: str, thinking: Thinking | None = None, *, is_cut: bool = False) -> Parts:
    r"""A whole text. ``thinking``: what is known of the model.

    ``is_cut``: it ends at its limit, so that thoughts without an end leave no answer.

    >>> parted("<think>Hm.</think> Yes").answer, parted("Hm.\n</think>\n\nYes").answer, parted("It ends with `</think>` [1].").thoughts
    ('Yes', 'Yes', '')
    """
    view = ThoughtFilter(thinks=thinking == "tags")
    pieces = [view.feed(text), view.rest(is_cut=is_cut)]
    thoughts, answer = "".join(piece.thoughts for piece in pieces), "".join(piece.answer for piece in pieces)
    if view.has_opened:
        return Parts(thoughts, _without_end(answer), "tags")
    closing = None
    if thinking not in ("tags", "apart", "hidden"):
        closing = unopened_end(answer, is_sure=thinking == "unopened")
    if closing is not None:
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

    A sentence may begin with the name of a tag. So an opening tag without its closing one is text
    again at the end of the text, unless that is cut or the model ``thinks`` in such tags; and
    an element of XML is a thought only where it ends as one, and an answer follows.

    >>> view = ThoughtFilter()
    >>> pieces = ("<th", "ink>Hm", ".</thi", "nk>Yes", " < 5 </think>")
    >>> [view.feed(piece).answer for piece in pieces], view.rest().answer
    (['', '', '', 'Yes', ' < 5 </think>'], '')
    >>> view = ThoughtFilter()
    >>> view.feed("<think> opens a thought.").answer, view.rest().answer
    ('', '<think> opens a thought.')
    """

    def __init__(self, *, is_unopened: bool = False, thinks: bool = False) -> None:
        """``is_unopened``: the text begins with thoughts, as the model's texts are known to."""
        self._waiting = ""
        self._opening = ""  # the tag, as it was written
        self._thought: list[str] = []  # since then
        self._ended = ""  # the closing tag of an element, behind which the answer has not begun yet
        self._closing: tuple[str, ...] = _CLOSING_TAGS if is_unopened else ()  # none: no thought
        self._thinks = thinks
        self._is_answer = False  # the beginning is over
        self.has_opened = False  # thoughts with an opening tag were there

    def feed(self, piece: str) -> Parts:
        """What of the text so far is sure to be a thought, or the answer."""
        self._waiting += piece
        thoughts = list[str]()
        while self._waiting and not self._is_answer:
            if self._ended:
                is_known = self._followed(thoughts)
            elif self._closing:
                is_known = self._closed(thoughts)
            else:
                is_known = self._opened()
            if not is_known:
                return Parts("".join(thoughts), "")
        answer = ""
        if self._is_answer:
            answer, self._waiting = self._waiting, ""
        return Parts("".join(thoughts), answer)

    def rest(self, *, is_cut: bool = False) -> Parts:
        """What was held back, at the end of the text."""
        opening, thought, waiting = self._opening, "".join(self._thought), self._waiting
        text = opening + thought + self._ended + waiting
        is_inside = bool(self._closing or self._ended)
        is_bare = not self._ended and not (thought + waiting).strip()
        self._waiting, self._opening, self._thought, self._ended = "", "", [], ""
        is_thought = is_cut or self._thinks or is_bare or any(map(opening.count, _CONTROL))
        if not (is_inside and is_thought):
            return Parts("", text)
        self.has_opened = self.has_opened or bool(opening)
        return Parts(thought + waiting, "")

    def _closed(self, thoughts: list[str]) -> bool:
        """Go past a closing tag, or as far as none can begin; whether one was there."""
        folded = _folded(self._waiting)
        ends = [(at, tag) for tag in self._closing if (at := folded.find(tag)) >= 0]
        if not ends:
            keep = max(overlap(folded, tag) for tag in self._closing)
            sure = len(self._waiting) - keep
            self._thought.append(self._waiting[:sure])
            self._waiting = self._waiting[sure:]
            return False
        at, tag = min(ends)
        self._thought.append(self._waiting[:at])
        closing, self._waiting = self._waiting[at : at + len(tag)], self._waiting[at + len(tag) :]
        if self._opening and _BETWEEN.fullmatch("".join(self._thought)):
            self._take_back(closing)
        elif self._closing in _WORD_CLOSINGS:
            self._ended = closing
        else:
            self._take(thoughts)
        return True

    def _followed(self, thoughts: list[str]) -> bool:
        """Decide about an element by what stands behind it; whether anything does."""
        behind = self._waiting.lstrip()
        if not behind:
            return False
        blanks = self._waiting[: len(self._waiting) - len(behind)]
        inner = "".join(self._thought)
        ends_as_thought = inner.rstrip().endswith(_SENTENCE_ENDS) or inner.endswith("\n")
        if ends_as_thought or "\n" in blanks or not inner.strip():
            self._take(thoughts)
        else:
            self._take_back(self._ended)
        return True

    def _take(self, thoughts: list[str]) -> None:
        """What was written since the opening tag is a thought."""
        thoughts.extend(self._thought)
        self.has_opened = self.has_opened or bool(self._opening)
        self._opening, self._thought, self._ended, self._closing = "", [], "", ()

    def _take_back(self, closing: str) -> None:
        """What was written since the opening tag, and that, are the answer's beginning."""
        self._waiting = self._opening + "".join(self._thought) + closing + self._waiting
        self._opening, self._thought, self._ended, self._closing = "", [], "", ()
        self._is_answer = True

    def _opened(self) -> bool:
        """Go past a tag at the beginning; False where more of the text is needed to tell."""
        start = self._waiting.lstrip()
        folded = _folded(start)
        for opening, closing in TAGS:
            if folded.startswith(opening):
                size = len(opening)
                self._opening, self._waiting, self._closing = start[:size], start[size:], (closing,)
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
