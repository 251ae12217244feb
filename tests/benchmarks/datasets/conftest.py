import json

import pytest


def ultradomain_row(number, book, *, domain="cs", **changes):
    row = {
        "input": f"Question {number}?",
        "answers": [f"Answer {number}."],
        "context": f"The text of {book}.",
        "length": 4,
        "context_id": f"id-{book}",
        "_id": f"{domain}-q{number}",
        "label": domain,
        "meta": {"title": f"Book {book}", "authors": ""},
    }
    return {**row, **changes}


def jsonl(file, rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    return file


@pytest.fixture
def domains(tmp_path):
    """Three domains: art has books A (2 questions) and B (1), cs has C (4), law has D, E and F (1 each)."""
    books = {"art": "AAB", "cs": "CCCC", "law": "DEF"}
    for domain, contexts in books.items():
        rows = [ultradomain_row(number, context, domain=domain) for number, context in enumerate(contexts)]
        jsonl(tmp_path / "books" / f"{domain}.jsonl", rows)
    return tmp_path


DOCUMENTS = {"a": 0, "b": 0, "c": 1, "d": 2}  # clients by `client_iid`; by `client_topic` all are at client 3


@pytest.fixture
def multihop(tmp_path):
    """Four documents at three clients; questions within one client, across two, without gold, and without gold but with a home."""
    corpus = [
        {"doc_id": name, "title": name.upper(), "text": f"Of {name}.", "client_iid": client, "client_topic": 3}
        for name, client in DOCUMENTS.items()
    ]
    ask = {"question": "Who?", "answers": ["Ada"], "type": "bridge"}
    questions = [
        {**ask, "id": "q-within", "gold_doc_ids": ["a", "b"], "home_client_iid": 0},
        {**ask, "id": "q-across", "gold_doc_ids": ["c", "a"], "home_client_iid": 1},
        {**ask, "id": "q-homeless", "gold_doc_ids": [], "answers": []},
        {**ask, "id": "q-home", "gold_doc_ids": [], "home_client_iid": 0},
    ]
    jsonl(tmp_path / "set" / "corpus.jsonl", corpus)
    jsonl(tmp_path / "set" / "questions.jsonl", questions)
    return tmp_path / "set"


@pytest.fixture
def row():
    return ultradomain_row


@pytest.fixture
def write_jsonl():
    return jsonl
