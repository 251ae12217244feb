"""Who may see which page of an edge's console: the whole list. A route that is not here cannot be made."""

from __future__ import annotations

from collections.abc import Sequence

from edge_node.settings import EdgeSettings
from shared.http.access import Rule, Rules
from shared.http.console.keys import key_rules
from shared.http.console.pages import Entry, Pages
from shared.http.console.routes import CONSOLE, console_route
from shared.http.console.sessions import Sessions
from shared.http.service import typed_folder

NO_BODY = 1024
FORM = 64 * 2**10
READ = Rule(frozenset({"read"}), NO_BODY, is_page=True)
ADMIN = Rule(frozenset({"admin"}), FORM, is_page=True)
ASK = Rule(frozenset({"read"}), FORM, is_page=True)
WRITE = Rule(frozenset({"write"}), FORM, is_page=True)
POLICY = Rule(frozenset({"admin"}), 2**20, is_page=True)  # its text, as a form spells it

KEYS = "/console/health/keys"
ENTRIES = (
    Entry("/", "Ask", "read"),
    Entry("/console/documents", "Documents", "read"),
    Entry("/console/graph", "Graph", "read"),
    Entry("/console/sharing", "Sharing", "admin"),
    Entry("/console/audit", "Audit", "admin"),
    Entry("/console/health", "Health", "read"),
)

RULES: Rules = {
    ("GET", "/"): READ,
    ("POST", "/console/ask"): ASK,
    ("POST", "/console/answers/{query_id}"): ASK,
    ("POST", "/console/found"): ASK,
    ("GET", "/console/passages/{document_id}"): READ,
    ("GET", "/console/documents"): READ,
    ("GET", "/console/documents/list"): READ,
    ("GET", "/console/documents/folders"): READ,
    ("POST", "/console/documents"): Rule(frozenset({"write"}), None, is_page=True),
    ("POST", "/console/documents/estimate"): Rule(frozenset({"write"}), None, is_page=True),
    ("POST", "/console/documents/retry"): WRITE,
    ("POST", "/console/documents/jobs/{job_id}/cancel"): WRITE,
    ("POST", "/console/documents/jobs/{job_id}/retry"): WRITE,
    ("GET", "/console/documents/receipts/{receipt_id}"): READ,
    ("GET", "/console/documents/{document_id}"): READ,
    ("DELETE", "/console/documents/{document_id}"): WRITE,
    ("PUT", "/console/documents/{document_id}/labels"): WRITE,
    ("GET", "/console/sharing"): ADMIN,
    ("PUT", "/console/sharing"): POLICY,
    ("GET", "/console/sharing/held"): ADMIN,
    ("PUT", "/console/sharing/choices"): POLICY,
    ("POST", "/console/sharing/choices/check"): POLICY,
    ("POST", "/console/sharing/check"): POLICY,
    ("GET", "/console/sharing/history/{number}"): ADMIN,
    ("POST", "/console/sharing/history/{number}"): ADMIN,
    ("POST", "/console/sharing/try"): ADMIN,
    ("GET", "/console/audit"): ADMIN,
    ("GET", "/console/audit/verify"): ADMIN,
    ("GET", "/console/audit/export/{form}"): ADMIN,
    ("GET", "/console/graph"): READ,
    ("GET", "/console/graph/subgraphs"): READ,
    ("GET", "/console/graph/communities"): READ,
    ("GET", "/console/graph/reports/{community_id}"): READ,
    ("GET", "/console/health"): READ,
    ("GET", "/console/health/model"): READ,
    ("GET", "/console/health/settings"): ADMIN,
    ("GET", "/console/health/backups"): ADMIN,
    ("POST", "/console/health/backups"): ADMIN,
    ("GET", "/console/health/export"): ADMIN,
    **key_rules(KEYS),
    **CONSOLE,
}

ConsoleRoute = console_route(RULES)


def edge_pages(settings: EdgeSettings, sessions: Sessions, *, entries: Sequence[Entry] = ENTRIES) -> Pages:
    """The console of one edge. ``entries``: of its navigation."""
    folder = typed_folder(settings)
    return Pages("edge_node.api.console", name=settings.id, kind="site", folder=folder, entries=entries, sessions=sessions)
