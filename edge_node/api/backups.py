"""Backups of the store, made while it is used."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from pydantic import BaseModel

from edge_node.api.access import GuardedRoute, Node
from edge_node.database.backup import KEPT, KeptBackup, MadeBackup

router = APIRouter(prefix="/v1/backups", tags=["backups"], route_class=GuardedRoute)


class BackupList(BaseModel):
    """``GET /v1/backups``: the newest first; a further one takes the place of the oldest of ``kept``."""

    backups: list[KeptBackup]
    kept: int = KEPT


@router.get("")
async def list_backups(node: Node) -> BackupList:
    """The backups in the folder ``backups`` of the edge's state folder."""
    return BackupList(backups=await asyncio.to_thread(node.backups.list))


@router.post("", status_code=201)
async def make_backup(node: Node) -> MadeBackup:
    """Copy the store with every commit before now, and check the copy. 409 ``conflict``: one is being made; 507 ``disk_full``.

    A backup holds documents that are deleted later.
    """
    return await asyncio.to_thread(node.backups.make)
