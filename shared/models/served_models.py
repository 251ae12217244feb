"""What is known of each model that has answered at one address. Pure.

Routers give several models in turn, under names of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from shared.models.capabilities import Capabilities, ResponseFormat, plainer

MOST_MODELS = 16  # further names count as the last one: some servers change theirs each time
VAIN_TRIES = 2  # in weaker forms for JSON, after which a model is taken for one that writes none
TOKEN_LETTERS = 8  # of a token on the average, more than any text has (3 to 5 in Latin script)
LEAST_LETTERS = 4_000  # of a prompt from which its tokens are estimated


@dataclass(slots=True)
class ServedModel:
    """One model: what it takes, and what another look is to confirm."""

    capabilities: Capabilities = field(default_factory=Capabilities)
    guess: Capabilities | None = None  # a form that was taken once where the known one was not
    json_guess: ResponseFormat | None = None  # that gave JSON once where the known one did not
    vain_tries: int = 0
    longest_prompt: int = 0  # in the server's tokens

    def taken(self, form: Capabilities, body: Mapping[str, Any], *, is_guess: bool) -> None:
        """A form was taken. A guess is kept where it was taken twice."""
        if is_guess:
            known = self.guess
            is_right = known is not None and replace(known, thinking=form.thinking) == form
            self.guess = None if is_right else form
            if is_right:
                self.capabilities = form
        elif self.guess is not None and plainer(form, body) == self.guess:
            self.guess = None  # what it leaves out is taken after all

    def gave_json(self, form: ResponseFormat) -> None:
        """A form gave JSON. A weaker one than is known is kept where it did so twice."""
        self.vain_tries = 0
        if form == self.capabilities.response_format:
            self.json_guess = None
        elif form == self.json_guess:
            self.json_guess = None
            self.capabilities = replace(self.capabilities, response_format=form)
        else:
            self.json_guess = form

    def has_read(self, body: Mapping[str, Any], tokens: int) -> None:
        """So many tokens of a prompt were read: too few where the server cuts it in silence.

        Some servers do not count what they have in their cache. So a prompt counts as cut only
        where no prompt so far had as many tokens as this one must have.
        """
        known = self.capabilities.prompt_tokens
        self.longest_prompt = max(self.longest_prompt, tokens)
        if known is not None and tokens > known:
            self.capabilities = replace(self.capabilities, prompt_tokens=None)
        elif tokens and known is None and least_tokens(body) > self.longest_prompt:
            self.capabilities = replace(self.capabilities, prompt_tokens=self.longest_prompt)


class ServedModels:
    """The models of one address, by the names that they give themselves.

    >>> models = ServedModels()
    >>> [models.answered_as(name) for name in ("a", "b", "a", "b")]
    [False, True, False, False]
    """

    def __init__(self) -> None:
        self.current = ServedModel()  # that has answered last
        self._name = ""
        self._known = dict[str, ServedModel]()

    def answered_as(self, name: str) -> bool:
        """Take up what is known of the model that has answered; whether nothing is."""
        if not name or name == self._name:
            return False
        if not self._name:
            self._name, self._known[name] = name, self.current
            return False
        is_new = name not in self._known
        if is_new and len(self._known) >= MOST_MODELS:
            return False
        self._name, self.current = name, self._known.setdefault(name, ServedModel())
        return is_new


def least_tokens(body: Mapping[str, Any]) -> int:
    """How many tokens the messages have at least, in any script; 0 for short ones.

    Blanks and repeated letters do not count, as one token may hold many of them.
    """
    text = "".join(_text(message.get("content")) for message in body.get("messages", ()))
    if len(text) < LEAST_LETTERS:
        return 0
    letters = sum(one != other and not other.isspace() for one, other in pairwise(text))
    return letters // TOKEN_LETTERS if letters >= LEAST_LETTERS else 0


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or ())
