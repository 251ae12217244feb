"""A cloud, an edge or a model server for tests, as a process: ``fake_service.py PORT [--flag…]``.

An edge named "damaged" is in safe mode.
It takes documents ("park" in the name parks, "big" is refused), answers questions, and may crash, ignore SIGTERM, have a child,
get stuck, say that it is broken, or end with a code at its second start.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DOCUMENTS: dict[str, dict[str, Any]] = {}
EDGE = os.environ.get("DGRAG_EDGE_ID", "edge")
STUCK = BROKEN = False
HOLD = {"rule": 'label "law"', "documents": 1, "passages": 0, "line": '"law" = "full"', "advice": "under [labels]"}
KEPT_BACK = {"summaries": 80, "all_summaries": 80, "documents": 1, "all_documents": 1, "holds": [HOLD]}
FOLDERS = [
    {"folder": "/data/reports", "error": ""},
    {"folder": "/data/notes", "error": "the folder /data/notes cannot be read: No such file or directory – see that it is there"},
]


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    question, waits = asked["question"], asked.get("allow_escalation") == "ask"
    return {
        "would_ask": question if waits else "",
        "query_id": "q1",
        "answer": f"{EDGE} knows: {question}",
        "citations": [],
        "route": "global" if asked["mode"] == "global" else "local",
        "coverage": f"level {asked.get('level')!r}" if asked["mode"] == "global" else "",
        "trace": [{"step": "retrieve", "ms": 1.5}],
        "novelty": "a field of a later release",
    }


def status() -> dict[str, Any]:
    parked = sum(row["status"] == "parked" for row in DOCUMENTS.values())
    counts = {"queued": 0, "running": 0, "indexed": len(DOCUMENTS) - parked, "parked": parked}
    told = {"edge": EDGE, "settled": True, "documents": counts, "chunks": 7, "entities": 3, "cloud": {"connected": True}}
    policy = {"unlabelled": os.environ.get("DGRAG_EDGE_SHARE", "summary"), "questions": "ask"}
    if EDGE == "closed":
        return told | {"policy": policy | {"kept_back": KEPT_BACK}, "folders": FOLDERS}
    return told | {"policy": policy}


class Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/health" and STUCK:
            threading.Event().wait()
        elif self.path == "/health" and BROKEN:
            self.reply(503, {"status": "broken"})
        elif self.path == "/ready" and EDGE == "damaged":
            why = {"reason": "the store is damaged", "next_step": "restore a backup", "code": "safe_mode"}
            self.reply(503, {"ready": False} | why)
        elif self.path in {"/ready", "/health"}:
            self.reply(200, {"ready": True})
        elif self.path == "/v1/models":
            self.reply(200, {"data": [{"id": "fake"}]})
        elif self.path == "/v1/status":
            self.reply(200, status())
        elif self.path == "/v1/edges":
            row = {"edge": "ward", "online": True, "last_seen": 0, "synced": 0, "summaries": 2, "version": 4, "epoch": "e"}
            trust = {"quarantined": "", "held_back": 0, "withheld": 0, "reliability": 1.0, "ledger": 7}
            self.reply(200, {"edges": [{**row, **trust}]})
        else:
            self.reply(200, DOCUMENTS[self.path.rpartition("/")[2]])

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/query":
            asked = json.loads(data)
            if asked.get("stream"):
                self.stream(("text", "so far"), ("void", None), ("text", "at last"), ("answer", answer(asked)))
            else:
                self.reply(200, answer(asked))
        elif self.path == "/v1/match":
            self.reply(200, {"matches": [{"edge": "ward", "summary_id": "s1", "score": 0.5}]})
        else:
            self.take(data)

    def do_DELETE(self) -> None:
        self.reply(404, {"title": "Not Found", "detail": "there is no edge 'x' here", "code": "not_found", "next_step": "list the edges"})

    def take(self, data: bytes) -> None:
        found = re.search(rb'filename="([^"]+)"', data)
        name = found[1].decode() if found else json.loads(data)["name"]
        if "big" in name:
            self.reply(413, {"title": "Too large", "detail": f"{name} is over the limit of 9 bytes", "code": "too_large"})
            return
        parked = {"status": "parked", "code": "no_text_layer", "reason": "no text layer", "next_step": "run OCR"}
        DOCUMENTS[f"d{len(DOCUMENTS)}"] = parked if "park" in name else {"status": "indexed"}
        self.reply(202, {"document_id": f"d{len(DOCUMENTS) - 1}", "job_id": "j", "duplicate": False})

    def stream(self, *events: tuple[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for kind, data in events:
            self.wfile.write(f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode())

    def reply(self, status_code: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status_code)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def been_here(mark: Path) -> bool:
    """True from the second call on."""
    before = mark.exists()
    mark.touch()
    return before


if __name__ == "__main__":
    if "--crash" in sys.argv:
        sys.stderr.write("line one\ncannot read the moon\n")
        sys.exit(3)
    if "--damaged-later" in sys.argv and been_here(Path(sys.argv[-1])):
        sys.stderr.write("the store is damaged\n")
        sys.exit(5)
    STUCK = "--stuck-once" in sys.argv and not been_here(Path(sys.argv[-1]))
    BROKEN = "--broken-once" in sys.argv and not been_here(Path(sys.argv[-1]))
    if "--stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "--child" in sys.argv:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
