"""What a server says about a failure, in whatever shape: what it means, and which fields it names. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from shared.models.capabilities import Refusal
from shared.text.surrogates import well_formed

MAX_ERROR_CHARS, MAX_REFUSAL_CHARS = 200, 2_000
MAX_FIELDS = 8  # of an error that are looked at
BAD_REQUEST, BAD_GATEWAY, FAILURES = 400, 502, range(400, 600)
UNNAMED_FAILURE = "the model failed"
NO_REASON = "no reason given"
SAID_IN = ("message", "msg", "error", "detail", "errors", "description", "reason", "title")  # where errors hold their words
NAMED_IN = ("param", "parameter", "field")  # and the name of a field
CODED_IN = ("code", "type", "error_type")  # and what kind of error it is
HELD_IN = (*SAID_IN, "innererror", "metadata")  # and further errors
UNSEEN = ("style", "script", "title")  # parts of a page that do not stand on it
_TAG = re.compile(r"<(/?+\w*+)[^<>]*+>")


def error_text(raw: bytes) -> str:
    """What a server says about a failure, on one line.

    >>> error_text(b'{"error": {"message": "too long"}}'), error_text(b'{"detail": [{"loc": ["body", "n"], "msg": "Not permitted"}]}')
    ('too long', 'body.n: Not permitted')
    >>> error_text(b"")
    'no reason given'
    """
    return refusal_of(0, raw).message[:MAX_ERROR_CHARS] or NO_REASON


def refusal_of(status: int, raw: bytes) -> Refusal:
    """A failure of any shape: a text, a page, a list, ``{error: ...}``, ``{detail: ...}``, ``{message: ...}``; and the fields it names."""
    text = raw.decode("utf-8", errors="replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = _seen_on(text)
    fields = tuple(dict.fromkeys(_named_in(body)))[:MAX_FIELDS]
    codes = tuple(dict.fromkeys(_codes_in(body)))[:MAX_FIELDS]
    words = well_formed(" ".join(_words_in(body).split()))
    return Refusal(status, words[:MAX_REFUSAL_CHARS], fields, codes)


def refused_in(raw: bytes) -> Refusal | None:
    """The refusal that comes with a status of success, as some servers send it; None where the body is none."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    choices = body.get("choices")
    if not choices:
        error, unknown = body.get("error"), BAD_REQUEST
    elif isinstance(choices, list) and all(map(has_failed, choices)):
        error, unknown = choices[0].get("error") or UNNAMED_FAILURE, BAD_GATEWAY
    else:
        return None
    if not error:
        return None
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    status = code if isinstance(code, int) and code in FAILURES else unknown
    return refusal_of(status, json.dumps({"error": error}).encode())


def has_failed(choice: Any) -> bool:
    """Whether a choice of a reply is no text but a failure of the model behind its server.

    >>> has_failed({"finish_reason": "error", "error": {"code": 502}}), has_failed({"message": {}})
    (True, False)
    """
    if not isinstance(choice, dict):
        return False
    return bool(choice.get("error")) or choice.get("finish_reason") == "error"


def _seen_on(page: str) -> str:
    """What a page shows; another text stays as it is.

    >>> _seen_on("<title>502</title><h1>Bad Gateway</h1>").strip(), _seen_on("1 < 2")
    ('Bad Gateway', '1 < 2')
    """
    texts, unseen, end = list[str](), "", 0
    for tag in _TAG.finditer(page):
        name = tag[1].lower()
        if not unseen:
            texts.append(page[end : tag.start()])
            unseen = name if name in UNSEEN else ""
        elif name == f"/{unseen}":
            unseen = ""
        end = tag.end()
    texts.append("" if unseen else page[end:])
    return " ".join(texts)


def _words_in(value: Any) -> str:
    """The words of an error, whatever holds them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_words_in, value[:MAX_FIELDS])))
    if not isinstance(value, dict):
        return ""
    texts = [_words_in(value[key]) for key in SAID_IN if key in value]
    said = next(filter(None, texts), "")
    where = value.get("loc")
    return f"{'.'.join(map(str, where))}: {said}" if isinstance(where, list) and said else said


def _named_in(value: Any) -> list[str]:
    """The fields that an error names outside of its words: ``param``, and the places of a validation."""
    if isinstance(value, list):
        return [name for each in value[:MAX_FIELDS] for name in _named_in(each)]
    if not isinstance(value, dict):
        return []
    names = [name for key in NAMED_IN if isinstance(name := value.get(key), str)]
    where = value.get("loc")
    if isinstance(where, list):
        names.append(".".join(map(str, where)))
    return names + [name for key in SAID_IN for name in _named_in(value.get(key))]


def _codes_in(value: Any) -> list[str]:
    """The kinds that an error says it is of, as words: ``code`` and ``type``, at any depth."""
    if isinstance(value, list):
        return [code for each in value[:MAX_FIELDS] for code in _codes_in(each)]
    if not isinstance(value, dict):
        return []
    codes = [code for key in CODED_IN if isinstance(code := value.get(key), str)]
    return codes + [code for key in HELD_IN for code in _codes_in(value.get(key))]
