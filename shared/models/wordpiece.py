"""Token counts by the embedder's own vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tokenizers import Tokenizer

MAX_WORD_CHARS = 100  # WordPiece calls a longer word one unknown token, however long it is
MOST_WORDS = 200_000  # whose sizes are remembered: about 20 MB
LONG_WORD_CHARS = 4  # characters a token in such a word, about what a byte-pair model makes of it


class WordPieceTokenizer:
    """The port ``Tokenizer`` over a ``tokenizer.json``, without truncation and special tokens."""

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._sizes: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Number of tokens."""
        return len(self.spans(text))

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span [start, end) of each token, in order; an endless word (base64, a key) counts a token each four characters."""
        clean = text.encode("utf-8", "replace").decode()
        offsets: list[tuple[int, int]] = self._tokenizer.encode(clean, add_special_tokens=False).offsets
        if all(end - start <= MAX_WORD_CHARS for start, end in offsets):
            return offsets
        return [piece for start, end in offsets for piece in _pieces(start, end)]

    def sizes(self, words: Sequence[str]) -> Sequence[int]:
        """Number of tokens of each word; those that came before are remembered, which takes a tenth of the time."""
        known = self._sizes
        if len(known) > MOST_WORDS:
            known = self._sizes = {}
        unknown = [word for word in dict.fromkeys(words) if word not in known]
        clean = [word.encode("utf-8", "replace").decode() for word in unknown]
        found = self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)
        known.update(zip(unknown, map(len, found), strict=True))
        return [known[word] for word in words]


def _pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    if end - start <= MAX_WORD_CHARS:
        yield start, end
        return
    for at in range(start, end, LONG_WORD_CHARS):
        yield at, min(at + LONG_WORD_CHARS, end)
