"""Who may see which page of the cloud's console: the whole list. A route that is not here cannot be made."""

from __future__ import annotations

from cloud_server.settings import CloudSettings
from shared.http.access import Rule, Rules
from shared.http.console.keys import key_rules
from shared.http.console.pages import Entry, Pages
from shared.http.console.routes import CONSOLE, console_route
from shared.http.console.sessions import Sessions
from shared.http.service import typed_folder

NO_BODY = 1024
FORM = 64 * 2**10
READ = Rule(frozenset({"read"}), NO_BODY, is_page=True)
ASK = Rule(frozenset({"read"}), FORM, is_page=True)
ADMIN = Rule(frozenset({"admin"}), FORM, is_page=True)

KEYS = "/console/keys"
ENTRIES = (
    Entry("/", "Federation", "read"),
    Entry("/console/match", "Match", "read"),
    Entry("/console/invite", "Invite", "admin"),
    Entry(KEYS, "Keys", "admin"),
)

RULES: Rules = {
    ("GET", "/"): READ,
    ("GET", "/console/sites/{edge}"): READ,
    ("POST", "/console/sites/{edge}/quarantine"): ADMIN,
    ("POST", "/console/sites/{edge}/release"): ADMIN,
    ("POST", "/console/sites/{edge}/readmit"): ADMIN,
    ("DELETE", "/console/sites/{edge}"): ADMIN,
    ("GET", "/console/match"): READ,
    ("POST", "/console/match"): ASK,
    ("GET", "/console/invite"): ADMIN,
    ("POST", "/console/invite"): ADMIN,
    ("DELETE", "/console/invite/{edge}"): ADMIN,
    **key_rules(KEYS),
    **CONSOLE,
}

ConsoleRoute = console_route(RULES)


def cloud_pages(settings: CloudSettings, sessions: Sessions) -> Pages:
    """The console of the cloud."""
    folder = typed_folder(settings)
    return Pages("cloud_server.api.console", name="DGRAG", kind="cloud", folder=folder, entries=ENTRIES, sessions=sessions)
