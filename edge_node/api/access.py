"""Who may call which route of an edge, and how many bytes it reads: the whole list (goals S2, S7)."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from edge_node.node import EdgeNode
from edge_node.reading import Reader
from shared.http.access import Rule, Rules, caller_of, guarded
from shared.http.docs import DOCS
from shared.http.keys import KEYS

NO_BODY = 1024
QUESTION = 64 * 2**10
CHAT = 2**20  # the whole conversation comes along
MESSAGE = 4 * 2**20  # the arguments of `add_document`: a whole text at most
POLICY = 2**20  # its file, as JSON spells it
DOCUMENT = None

PUBLIC = Rule(frozenset({"anyone"}), NO_BODY)
READ = Rule(frozenset({"read"}), NO_BODY)  # of all documents: for nobody who may read some only
SEE = Rule(frozenset({"read"}), NO_BODY, by_label=True)  # through a ``Reader``
ASK = Rule(frozenset({"read"}), QUESTION, by_label=True)
TALK = Rule(frozenset({"read"}), CHAT, by_label=True)
WRITE = Rule(frozenset({"write"}), NO_BODY)
ADMIN = Rule(frozenset({"admin"}), NO_BODY)
METRICS = Rule(frozenset({"metrics", "admin"}), NO_BODY)

RULES: Rules = {
    ("GET", "/health"): PUBLIC,
    ("GET", "/ready"): PUBLIC,
    ("GET", "/metrics"): METRICS,
    ("GET", "/v1/status"): READ,
    ("GET", "/v1/caller"): SEE,
    ("GET", "/v1/graph"): SEE,
    ("GET", "/v1/graph.graphml"): SEE,
    ("GET", "/v1/entities"): SEE,
    ("GET", "/v1/subgraphs"): READ,
    ("GET", "/v1/summaries"): READ,
    ("GET", "/v1/communities"): SEE,
    ("GET", "/v1/reports/{community_id}"): SEE,
    ("GET", "/v1/documents"): SEE,
    ("GET", "/v1/documents/{document_id}"): SEE,
    ("GET", "/v1/documents/{document_id}/text"): SEE,
    ("GET", "/v1/documents/{document_id}/original"): SEE,
    ("GET", "/v1/documents/{document_id}/pages/{page}.png"): SEE,
    ("POST", "/v1/reread"): Rule(frozenset({"write"}), QUESTION),
    ("POST", "/v1/documents"): Rule(frozenset({"write"}), DOCUMENT),
    ("DELETE", "/v1/documents/{document_id}"): WRITE,
    ("PUT", "/v1/documents/{document_id}/labels"): Rule(frozenset({"write"}), QUESTION),
    ("PUT", "/v1/documents/{document_id}/name"): Rule(frozenset({"write"}), QUESTION),
    ("POST", "/v1/estimate"): Rule(frozenset({"write"}), DOCUMENT),
    ("GET", "/v1/receipts"): READ,
    ("GET", "/v1/receipts/{receipt_id}"): READ,
    ("GET", "/v1/jobs/{job_id}"): READ,
    ("GET", "/v1/jobs/{job_id}/events"): READ,
    ("POST", "/v1/jobs/{job_id}/cancel"): WRITE,
    ("POST", "/v1/jobs/{job_id}/retry"): WRITE,
    ("POST", "/v1/query"): ASK,
    ("POST", "/v1/retrieve"): ASK,
    ("POST", "/v1/queries/{query_id}/feedback"): ASK,
    ("GET", "/v1/memories"): SEE,
    ("DELETE", "/v1/memories/{memory_id}"): WRITE,
    ("GET", "/v1/models"): SEE,
    ("POST", "/v1/chat/completions"): TALK,
    ("POST", "/v1/embeddings"): TALK,
    ("GET", "/api/version"): SEE,
    ("GET", "/api/tags"): SEE,
    ("POST", "/api/show"): ASK,
    ("POST", "/api/chat"): TALK,
    ("POST", "/api/generate"): TALK,
    ("POST", "/retrieval"): ASK,
    ("POST", "/mcp"): Rule(frozenset({"read"}), QUESTION, by_label=True, max_body_bytes_of_writers=MESSAGE),
    ("GET", "/v1/policy"): ADMIN,
    ("PUT", "/v1/policy"): Rule(frozenset({"admin"}), POLICY),
    ("POST", "/v1/policy/check"): Rule(frozenset({"admin"}), POLICY),
    ("GET", "/v1/policy/text"): ADMIN,
    ("GET", "/v1/policy/history"): ADMIN,
    ("GET", "/v1/policy/history/{number}"): ADMIN,
    ("POST", "/v1/policy/try"): Rule(frozenset({"admin"}), QUESTION),
    ("GET", "/v1/audit"): ADMIN,
    ("GET", "/v1/audit/verify"): ADMIN,
    ("GET", "/v1/calibration"): ADMIN,
    ("POST", "/v1/calibration"): ADMIN,
    ("DELETE", "/v1/calibration"): ADMIN,
    ("GET", "/v1/backups"): ADMIN,
    ("POST", "/v1/backups"): ADMIN,
    ("GET", "/v1/export"): ADMIN,
    ("POST", "/v1/import"): Rule(frozenset({"admin"}), DOCUMENT),
    **KEYS,
    **DOCS,
}

GuardedRoute = guarded(RULES)


def get_node(request: Request) -> EdgeNode:
    """The node this app serves."""
    return cast("EdgeNode", request.app.state.node)


def get_reader(request: Request) -> Reader:
    """What the caller may read of this edge."""
    caller = caller_of(request)
    return Reader(get_node(request), caller.labels, caller.asker)


Node = Annotated[EdgeNode, Depends(get_node)]
ReaderDep = Annotated[Reader, Depends(get_reader)]
