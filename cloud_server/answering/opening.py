"""Which mailbox a store means; what PostgreSQL takes is imported where one is meant, and not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cloud_server.answering.mailbox import GRACE_S, LocalMailbox, Mailbox
from cloud_server.database.port import Database, SharedDatabase
from cloud_server.registry.sealing import Sealer
from shared.identity import Identity
from shared.ports import Clock

if TYPE_CHECKING:
    from cloud_server.database.notices import Notices


def open_mailbox(
    database: Database, replica: str, identity: Identity, clock: Clock, new_id: Callable[[], str]
) -> tuple[Mailbox, Notices | None]:
    """In memory for a cloud that is one process; where clouds share the store, in it, with the line on which they tell each other.

    Raises SettingsError for a store that has no room for this cloud.
    """
    if not isinstance(database, SharedDatabase):
        return LocalMailbox(clock), None
    from cloud_server.answering.shared_mailbox import ALIVE_S, SharedMailbox  # an extra
    from cloud_server.database.letters import LetterTables, check_room
    from cloud_server.database.notices import Notices

    check_room(database)
    process = f"{replica}.{new_id()[:8]}"  # started anew, it is another one: what it had asked is lost
    notices = Notices(database.url, process)
    tables = LetterTables(database.url, process, grace_s=GRACE_S, alive_s=ALIVE_S)
    return SharedMailbox(tables, notices, Sealer(identity), clock, new_id), notices
