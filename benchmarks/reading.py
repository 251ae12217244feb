"""A model reads all that an edge finds in its budget, and answers in a few words: indexes measured by EM and F1 (KET-RAG §6).

The product's own answers are sentences that cite, or refusals, so they match no reference word for word. Here the finding alone differs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from benchmarks.records import Step
from shared.ports import Generator, Prompt
from shared.text.fence import one_line
from shared.text.prompts import load_prompt

FEW_WORDS = load_prompt("benchmarks", "few_words")
MOST_TOKENS = 32  # of an answer
DEADLINE_S = 1800.0  # a busy machine may take minutes for a call


def context_of(found: Mapping[str, Any]) -> str:
    r"""What ``/v1/retrieve`` said: a line for each passage, below its document's title, then the facts.

    >>> context_of({"evidence": [{"title": "Ann", "text": "She is a\nmiller."}], "facts": ["Ann: a miller"]})
    'Ann: She is a miller.\n\nKnown relations:\nAnn: a miller'
    """
    passages = [one_line(f"{one['title']}: {one['text']}" if one.get("title") else one["text"]) for one in found["evidence"]]
    facts = ["", "Known relations:", *map(one_line, found["facts"])] if found["facts"] else []
    return "\n".join([*passages, *facts])


async def answered_in_few_words(generator: Generator, question: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """An answer's fields as ``/v1/query`` has them: the model's first line, and the step that it took. Raises ModelError."""
    prompt = Prompt(FEW_WORDS.render(found=context_of(found), question=one_line(question)), max_tokens=MOST_TOKENS)
    began = time.perf_counter()
    reply = await generator.generate(prompt, deadline_s=DEADLINE_S)
    ms = round((time.perf_counter() - began) * 1000, 2)
    text = next(filter(None, map(str.strip, reply.texts[0].splitlines())), "")
    step = Step("read", ms, calls=1, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, bytes_out=0, bytes_in=0)
    return {"answer": text, "answered": bool(text), "route": "local", "trace": (asdict(step),)}
