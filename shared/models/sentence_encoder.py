"""Google's multilingual universal sentence encoder (version 3, the CNN; Yang et al. 2019) in NumPy: 16 languages in one space of 512.

Averages of embedded pieces with features of 2, 3 and 5 neighbours, through a small network. Its table holds a byte a number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from shared.ports import FloatArray

PARTS = 17  # of the table: row i of part p is piece 17 * i + p
ORDERS = ((2, 0), (3, 1), (5, 2))  # neighbours together, and how many of them stand before
UNKNOWN, BEGIN, END = 0, 1, 2  # pieces
MAX_TOKENS = 512
BLANK = "\u2581"  # what stands for a blank in pieces

Weights = dict[str, FloatArray]


def fields_of(raw: bytes) -> Iterator[tuple[int, bytes]]:
    r"""The fields of a Protocol Buffers message whose values are bytes, or four of them: (number, value).

    >>> list(fields_of(b"\x0a\x02hi\x15\x00\x00\x80\x3f\x18\x05"))
    [(1, b'hi'), (2, b'\x00\x00\x80?')]
    """
    at = 0
    while at < len(raw):
        tag, at = _number(raw, at)
        if tag & 7 == 0:
            _, at = _number(raw, at)
            continue
        size, at = _number(raw, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
        yield tag >> 3, raw[at : at + size]
        at += size


def _number(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (raw[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if raw[at - 1] < 0x80:
            return value, at


def tokenizer_of(raw: bytes) -> Tokenizer:
    """SentencePiece's unigram model with its own normalisation, run by ``tokenizers``."""
    pieces, charsmap = list[tuple[str, float]](), b""
    for number, value in fields_of(raw):
        if number == 1:
            said = dict(fields_of(value))
            pieces.append((said[1].decode(), struct.unpack("<f", said[2])[0] if 2 in said else 0.0))
        elif number in (2, 3):
            charsmap = max(charsmap, dict(fields_of(value)).get(2, b""), key=len)  # releases of SentencePiece differ in its place
    tokenizer = Tokenizer(models.Unigram(pieces, UNKNOWN, byte_fallback=False))
    squeezed = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap), squeezed, normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=BLANK, prepend_scheme="always", split=False)
    return tokenizer


class SentenceEncoder:
    """An ``Encode``: texts to rows (n, 512)."""

    def __init__(self, folder: Path) -> None:
        """Reads ``weights.npz`` and ``sp.model``."""
        with np.load(folder / "weights.npz", allow_pickle=False) as stored:
            parts = [stored[f"q{number + 1}"] for number in range(PARTS)]
            self._weights: Weights = {name: stored[name].astype(np.float32) for name in stored.files if not name.startswith("q")}
        for name, axis in (("proj", 1), ("proj_b", 0), ("ln_g", 0), ("ln_b", 0)):  # of the three orders, side by side
            self._weights[f"all_{name}"] = np.concatenate([self._weights[f"{name}{order}"] for order, _ in ORDERS], axis=axis)
        self._table = np.stack(parts, axis=1).reshape(-1, parts[0].shape[1])  # (pieces, 512) uint8
        self._tokenizer = tokenizer_of((folder / "sp.model").read_bytes())

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """One by one, so that a vector is the same in any company."""
        return np.concatenate([self._encoded([BEGIN, *one.ids[:MAX_TOKENS], END]) for one in self._tokenizer.encode_batch(list(texts))])

    def _encoded(self, ids: list[int]) -> FloatArray:
        w, pieces = self._weights, np.array(ids, dtype=np.int64)
        part = pieces % PARTS
        embedded: FloatArray = self._table[pieces].astype(np.float32) * w["scale"][part, None] + w["lo"][part, None]
        projected = _normed(embedded @ w["all_proj"] + w["all_proj_b"], w["all_ln_g"], w["all_ln_b"], w["eps"])
        found = [self._neighbours(rows, *order) for rows, order in zip(np.split(projected, len(ORDERS), axis=1), ORDERS, strict=True)]
        features: FloatArray = np.concatenate([embedded, *found], axis=1, dtype=np.float32)
        normed = _normed(features, w["ln_g"], w["ln_b"], w["eps"])
        length = np.float32(len(ids))
        mean = (normed.sum(axis=0, keepdims=True) @ w["cnn_W"] + length * w["cnn_b"]) / np.sqrt(length)
        first = np.maximum(mean @ w["p1"] + np.maximum(mean @ w["d0"], 0) @ w["d1"], 0)
        return np.asarray(np.tanh(first @ w["p3"] + np.maximum(first @ w["d2"], 0) @ w["d3"]), dtype=np.float32)

    def _neighbours(self, rows: FloatArray, order: int, before: int) -> FloatArray:
        for layer in ("1", "2"):
            weights, bias = self._weights[f"w{layer}_{order}"], self._weights[f"b{layer}_{order}"]
            rows = rows + np.maximum(_windows(rows, order, before) @ weights + bias, 0)
        return rows


def _normed(rows: FloatArray, gain: FloatArray, bias: FloatArray, eps: NDArray[np.float32]) -> FloatArray:
    centred = rows - rows.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * gain + bias, dtype=np.float32)


def _windows(rows: FloatArray, order: int, before: int) -> FloatArray:
    """Each row (d,) with its neighbours, zeros beyond the ends: (n, order * d).

    >>> _windows(np.array([[1.0], [2.0]], dtype=np.float32), 3, 1).tolist()
    [[0.0, 1.0, 2.0], [1.0, 2.0, 0.0]]
    """
    padded = np.pad(rows, ((before, order - 1 - before), (0, 0)))
    return np.concatenate([padded[shift : shift + len(rows)] for shift in range(order)], axis=1)
