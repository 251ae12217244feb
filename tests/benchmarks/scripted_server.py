"""An OpenAI-compatible server on a real port that repeats what it is given to read: for runs whose services are processes."""

import json
import math
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LINE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)
FIRST = {"Yes": 0.8, "No": 0.1, "A": 0.7, "B": 0.3}  # of every reply's first token
SAID = 2  # lines


def reply(body):
    """The first lines of the last message's list, each with its number, below each other in a report; a letter where there is none."""
    asked = body["messages"][-1]["content"]
    lines = LINE.findall(asked)[:SAID]
    if asked.rstrip().endswith("Report:"):
        return "\n".join(["Findings:", *(f"- {text.rstrip('.')} [{number}]." for number, text in lines), "Rating: 5"])
    return " ".join(f"{text.rstrip('.')} [{number}]." for number, text in lines) or "A"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self._send("application/json", json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = reply(body)
        if body.get("stream"):
            piece = json.dumps({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]})
            self._send("text/event-stream", f"data: {piece}\n\ndata: [DONE]\n\n")
            return
        top = [{"token": token, "logprob": math.log(p)} for token, p in FIRST.items()]
        listed = {"content": [{"token": "Yes", "logprob": -0.2, "top_logprobs": top}]} if body.get("logprobs") else None
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": listed}
        usage = {"prompt_tokens": 9, "completion_tokens": 1}
        self._send("application/json", json.dumps({"choices": [choice | {"index": 0}] * body.get("n", 1), "usage": usage}))

    def _send(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def scripted_server():
    """Its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()
