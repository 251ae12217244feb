"""Who may call which route of the cloud, and how many bytes it reads: the whole list (goals S2, S7)."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Path, Request

from cloud_server.build import Cloud
from shared.errors import NotFound
from shared.http.access import Caller, Rule, Rules, caller_of, guarded
from shared.http.docs import DOCS
from shared.http.doorkeeper import Doorkeeper
from shared.http.keys import KEYS
from shared.records import EdgeId
from shared.wire import EDGE_ID_PATTERN

NO_BODY = 1024
FEW = 4 * 2**10  # a key, a name, a head
QUESTION = 64 * 2**10
REPLY = 256 * 2**10
SUMMARIES = 8 * 2**20
MEMORIES = 8 * 2**20
DELTA_VALUES = 40_000  # of 5,000 summaries, and as many that go

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
    ("PUT", "/v1/edges/{edge}/summaries"): Rule(frozenset({"edge"}), SUMMARIES, max_values=DELTA_VALUES),
    ("PUT", "/v1/edges/{edge}/memories"): Rule(frozenset({"edge"}), MEMORIES, max_values=DELTA_VALUES),
    ("POST", "/v1/edges/{edge}/poll"): EDGE,
    ("POST", "/v1/edges/{edge}/replies/{request_id}"): Rule(frozenset({"edge"}), REPLY),
    ("POST", "/v1/edges/{edge}/quarantine"): Rule(frozenset({"admin"}), FEW),
    ("POST", "/v1/edges/{edge}/release"): ADMIN,
    ("POST", "/v1/edges/{edge}/readmit"): ADMIN,
    ("DELETE", "/v1/edges/{edge}"): ADMIN,
    ("GET", "/v1/expelled"): ADMIN,
    ("POST", "/v1/invites"): Rule(frozenset({"admin"}), FEW),
    ("GET", "/v1/invites"): ADMIN,
    ("DELETE", "/v1/invites/{edge}"): ADMIN,
    ("POST", "/v1/questions"): Rule(frozenset({"read", "edge"}), QUESTION),
    ("POST", "/v1/evidence"): Rule(frozenset({"read", "edge"}), QUESTION),
    ("POST", "/v1/match"): Rule(frozenset({"read"}), QUESTION),
    **KEYS,
    **DOCS,
}

GuardedRoute = guarded(RULES)


def get_cloud(request: Request) -> Cloud:
    """The cloud this app serves."""
    return cast("Cloud", request.app.state.cloud)


def get_door(request: Request) -> Doorkeeper:
    """Who stands before the routes."""
    return cast("Doorkeeper", request.app.state.guard)


CloudDep = Annotated[Cloud, Depends(get_cloud)]
CallerDep = Annotated[Caller, Depends(caller_of)]
DoorDep = Annotated[Doorkeeper, Depends(get_door)]
EdgePath = Annotated[str, Path(pattern=EDGE_ID_PATTERN)]
RequestPath = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def own_edge(edge: EdgePath, request: Request) -> EdgeId:
    """The edge of the path, for itself and for operators; to any other edge it does not exist (goal S6). Raises NotFound."""
    caller = caller_of(request)
    if "edge" in caller.roles and caller.name != edge:
        raise NotFound("edge", edge)
    return EdgeId(edge)


OwnEdge = Annotated[EdgeId, Depends(own_edge)]
