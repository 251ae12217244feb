"""Who may see which page of an edge's console: the whole list. A route that is not here cannot be made."""

from __future__ import annotations

from edge_node.settings import EdgeSettings
from shared.http.access import Rule, Rules
from shared.http.console.keys import key_rules
from shared.http.console.pages import Entry, Pages
from shared.http.console.routes import CONSOLE, console_route
from shared.http.console.sessions import Sessions

NO_BODY = 1024
FORM = 64 * 2**10
READ = Rule(frozenset({"read"}), NO_BODY, is_page=True)
ADMIN = Rule(frozenset({"admin"}), NO_BODY, is_page=True)
ASK = Rule(frozenset({"read"}), FORM, is_page=True)

KEYS = "/console/health/keys"
ENTRIES = (Entry("/", "Ask", "read"), Entry("/console/graph", "Graph", "read"), Entry("/console/health", "Health", "read"))

RULES: Rules = {
    ("GET", "/"): READ,
    ("POST", "/console/ask"): ASK,
    ("POST", "/console/answers/{query_id}"): ASK,
    ("GET", "/console/graph"): READ,
    ("GET", "/console/graph/subgraphs"): READ,
    ("GET", "/console/graph/communities"): READ,
    ("GET", "/console/graph/reports/{community_id}"): READ,
    ("GET", "/console/health"): READ,
    ("GET", "/console/health/model"): READ,
    ("GET", "/console/health/settings"): ADMIN,
    ("GET", "/console/health/backups"): ADMIN,
    ("POST", "/console/health/backups"): ADMIN,
    **key_rules(KEYS),
    **CONSOLE,
}

ConsoleRoute = console_route(RULES)


def edge_pages(settings: EdgeSettings, sessions: Sessions) -> Pages:
    """The console of one edge."""
    return Pages("edge_node.api.console", name=settings.id, kind="site", entries=ENTRIES, sessions=sessions)
