"""Who may call which route of the cloud, and how many bytes it reads: the whole list (goals S2, S7)."""

from __future__ import annotations

from shared.docs import DOCS
from shared.guard import Rule, Rules, guarded

NO_BODY = 1024
FEW = 4 * 2**10  # a key, a name, a head
QUESTION = 64 * 2**10
REPLY = 256 * 2**10
SUMMARIES = 8 * 2**20
MEMORIES = 8 * 2**20

PUBLIC = Rule(frozenset({"anyone"}), NO_BODY)
READ = Rule(frozenset({"read"}), NO_BODY)
ADMIN = Rule(frozenset({"admin"}), NO_BODY)
METRICS = Rule(frozenset({"metrics", "admin"}), NO_BODY)
EDGE = Rule(frozenset({"edge"}), NO_BODY)  # the route itself checks that it is the edge of the path

RULES: Rules = {
    ("GET", "/health"): PUBLIC,
    ("GET", "/ready"): PUBLIC,
    ("GET", "/metrics"): METRICS,
    ("POST", "/v1/edges"): Rule(frozenset({"anyone"}), FEW),  # the route checks the invitation, and that the key is the sender's
    ("GET", "/v1/edges"): READ,
    ("GET", "/v1/edges/{edge}"): EDGE,
    ("POST", "/v1/edges/{edge}/keys"): Rule(frozenset({"edge"}), FEW),
    ("PUT", "/v1/edges/{edge}/ledger"): Rule(frozenset({"edge"}), FEW),
    ("GET", "/v1/edges/{edge}/ledger"): Rule(frozenset({"edge", "read"}), NO_BODY),
    ("GET", "/v1/edges/{edge}/ledger/heads"): Rule(frozenset({"edge", "read"}), NO_BODY),
    ("PUT", "/v1/edges/{edge}/summaries"): Rule(frozenset({"edge"}), SUMMARIES),
    ("PUT", "/v1/edges/{edge}/memories"): Rule(frozenset({"edge"}), MEMORIES),
    ("POST", "/v1/edges/{edge}/poll"): EDGE,
    ("POST", "/v1/edges/{edge}/replies/{request_id}"): Rule(frozenset({"edge"}), REPLY),
    ("POST", "/v1/edges/{edge}/quarantine"): Rule(frozenset({"admin"}), FEW),
    ("POST", "/v1/edges/{edge}/release"): ADMIN,
    ("POST", "/v1/edges/{edge}/readmit"): ADMIN,
    ("DELETE", "/v1/edges/{edge}"): ADMIN,
    ("POST", "/v1/invites"): Rule(frozenset({"admin"}), FEW),
    ("POST", "/v1/questions"): Rule(frozenset({"read", "edge"}), QUESTION),
    ("POST", "/v1/evidence"): Rule(frozenset({"read", "edge"}), QUESTION),
    ("POST", "/v1/match"): Rule(frozenset({"read"}), QUESTION),
    **DOCS,
}

GuardedRoute = guarded(RULES)
