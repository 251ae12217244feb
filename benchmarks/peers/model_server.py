"""One OpenAI-compatible server for every system of a run: replies told by the prompt's form, vectors, and a count of what was asked.

``python -m benchmarks.peers.model_server --models instant|embedding|real --cache FILE``
prints its address, then serves until its input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import socket
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.peers.formats import answer, names
from benchmarks.stand_ins import Said, Say, embed, say
from edge_node.extraction.nlp import SpacyExtractor
from shared.models.build import build_embedder, build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import FloatArray, Tokenizer
from shared.records import Chunk, ChunkId, DocumentId

Embed = Callable[[Sequence[str]], FloatArray]


class Message(BaseModel):
    """One message of a conversation."""

    role: str
    content: str


class ChatBody(BaseModel):
    """What of a chat request the server reads."""

    messages: list[Message]
    model: str = ""


class EmbeddingsBody(BaseModel):
    """What of an embeddings request the server reads."""

    input: list[str] | str
    model: str = ""
    encoding_format: str = "float"


class TextsBody(BaseModel):
    """Texts whose extraction is wanted."""

    texts: list[str]


@dataclass(slots=True)
class Counts:
    """What was asked, by the step that asked for it."""

    calls: Counter[str] = field(default_factory=Counter)
    prompt_tokens: Counter[str] = field(default_factory=Counter)
    completion_tokens: Counter[str] = field(default_factory=Counter)
    texts_embedded: int = 0
    embed_cpu_s: float = 0.0  # of this process

    def row(self) -> dict[str, Any]:
        """As JSON; asdict() would count a Counter's items."""
        tokens = {"prompt_tokens": dict(self.prompt_tokens), "completion_tokens": dict(self.completion_tokens)}
        embedded = {"texts_embedded": self.texts_embedded, "embed_cpu_s": round(self.embed_cpu_s, 3)}
        return {"calls": dict(self.calls), **tokens, **embedded}


class Cache:
    """Values by text in one SQLite file: what was computed once is never computed again."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE IF NOT EXISTS kept (kind TEXT, text BLOB, value BLOB, PRIMARY KEY (kind, text)) WITHOUT ROWID")

    def get(self, kind: str, texts: Sequence[str], make: Callable[[Sequence[str]], Sequence[bytes]]) -> list[bytes]:
        """The value of each text; those that are missing are made, all at once."""
        keys = [sha256(text.encode("utf-8", "replace")).digest() for text in texts]
        found = {key: self._one(kind, key) for key in dict.fromkeys(keys)}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if found[key] is None}
        made = dict(zip(missing, make(list(missing.values())), strict=True)) if missing else {}
        self._database.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", [(kind, key, value) for key, value in made.items()])
        return [made.get(key) or found[key] or b"" for key in keys]

    def _one(self, kind: str, key: bytes) -> bytes | None:
        row = self._database.execute("SELECT value FROM kept WHERE kind = ? AND text = ?", (kind, key)).fetchone()
        return row[0] if row else None


def create_app(say: Say, embed: Embed, tokenizer: Tokenizer) -> FastAPI:
    """The server over one extraction, one embedder and one counter of tokens."""
    app, counts = FastAPI(openapi_url=None), Counts()

    @app.post("/v1/chat/completions")
    async def chat(body: ChatBody) -> dict[str, Any]:
        said = answer([message.content for message in body.messages], say)
        asked, told = sum(tokenizer.count(message.content) for message in body.messages), tokenizer.count(said.text)
        counts.calls[said.kind] += 1
        counts.prompt_tokens[said.kind] += asked
        counts.completion_tokens[said.kind] += told
        choice = {"index": 0, "message": {"role": "assistant", "content": said.text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told}
        return {"id": "0", "object": "chat.completion", "created": 0, "model": body.model, "choices": [choice], "usage": usage}

    @app.post("/v1/embeddings")
    async def embeddings(body: EmbeddingsBody) -> dict[str, Any]:
        texts = [body.input] if isinstance(body.input, str) else body.input
        counts.texts_embedded += len(texts)
        before = time.process_time()
        rows: Sequence[Any] = list(await asyncio.to_thread(embed, texts)) if texts else []
        counts.embed_cpu_s += time.process_time() - before  # all clients ask one thing at a time
        told = (base64.b64encode(row.tobytes()).decode() if body.encoding_format == "base64" else row.tolist() for row in rows)
        data = [{"object": "embedding", "index": place, "embedding": value} for place, value in enumerate(told)]
        return {"object": "list", "model": body.model, "data": data, "usage": {"prompt_tokens": 0, "total_tokens": 0}}

    @app.post("/v1/said")
    async def said(body: TextsBody) -> dict[str, Any]:
        return {"said": [asdict(say(text)) for text in body.texts]}

    @app.post("/v1/counts")
    async def count() -> dict[str, Any]:
        return counts.row()

    return app


def by_spacy(text: str) -> Said:
    """What the product's own extraction without a model says of a text."""
    chunk = Chunk(ChunkId("text:0"), DocumentId("text"), 0, text, 0, len(text), 0)
    found = SpacyExtractor().extract([chunk])
    written = {mention.key: mention.name for mention in found.entities}
    entities = [(mention.name, mention.type, mention.description) for mention in found.entities]
    relations = [
        (written[item.source], written[item.target], ", ".join(item.keywords), item.description, item.strength) for item in found.relations
    ]
    return Said(entities, relations)


def kept_said(cache: Cache, text: str) -> Said:
    """As ``by_spacy``, from the cache where it is known."""
    (raw,) = cache.get("spacy", [text], lambda texts: [orjson.dumps(asdict(by_spacy(text))) for text in texts])
    return Said(**orjson.loads(raw))


def real_embedding(cache: Cache | None) -> Embed:
    """The default embedder, from the cache where a text is known; without a cache each text costs what it costs."""
    embedder, one_at_a_time = build_embedder(ModelSettings(embedder_threads=1)), threading.Lock()

    def make(texts: Sequence[str]) -> list[bytes]:
        return [row.tobytes() for row in asyncio.run(embedder.embed(texts))]

    def rows(texts: Sequence[str]) -> FloatArray:
        with one_at_a_time:
            if cache is None:
                return asyncio.run(embedder.embed(texts))
            return np.stack([np.frombuffer(raw, dtype="<f4") for raw in cache.get(embedder.fingerprint, texts, make)])

    return rows


def main() -> None:
    """Serve on a free port of this machine until standard input is closed, as it is when who started the server ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", choices=["instant", "embedding", "real"], required=True)
    parser.add_argument("--cache", type=Path, required=True)
    asked = parser.parse_args()
    cache = Cache(asked.cache)
    app = create_app(
        partial(kept_said, cache) if asked.models == "real" else partial(say, names=names),
        embed if asked.models == "instant" else real_embedding(cache if asked.models == "real" else None),
        build_tokenizer(ModelSettings()),
    )
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, timeout_keep_alive=3600))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
    server.run(sockets=[listening])


def _end_with_input(server: uvicorn.Server) -> None:
    sys.stdin.read()
    server.should_exit = True


if __name__ == "__main__":
    main()
