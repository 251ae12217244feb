"""Mailboxes of several clouds over one PostgreSQL, in this process."""

import asyncio
import contextlib
from uuid import uuid4

from cloud_server.build import open_mailbox
from cloud_server.database.postgres import PostgresDatabase
from shared.identity import make_identity
from shared.ports import SystemClock

IDENTITY = make_identity()  # of all clouds alike


@contextlib.asynccontextmanager
async def shared_mailbox(url, name, *, identity=IDENTITY, runs=("looks", "hears"), **options):
    """One cloud's mailbox; it looks into its tables, and its notices are heard, or only one of it.

    Behind a pooler it has notices with the option ``notices_url`` alone.
    """
    database = await asyncio.to_thread(PostgresDatabase, url, name=name)
    mailbox, notices = open_mailbox(database, name, identity, SystemClock(), lambda: uuid4().hex, **options)
    await mailbox.open()
    works = {"looks": mailbox.run}
    if notices is not None:
        works["hears"] = notices.run
    tasks = [asyncio.create_task(work()) for part, work in works.items() if part in runs]
    if notices is not None and "hears" in runs:
        await notices.listening.wait()
    try:
        yield mailbox
    finally:
        mailbox.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(database.close)
