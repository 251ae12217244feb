"""Where documents come from, by its address: a folder's path, or ``s3://BUCKET/PREFIX``."""

from __future__ import annotations

from pathlib import Path

from edge_node.folders.bucket import SCHEME, Bucket
from edge_node.folders.files import Folder
from edge_node.folders.following import Changes
from edge_node.folders.records import Source
from edge_node.settings import BucketSettings
from shared.ports import Clock


def is_bucket(address: str) -> bool:
    """Whether an address is one of a bucket.

    >>> is_bucket("s3://reports/2026"), is_bucket("/data/reports")
    (True, False)
    """
    return address.startswith(SCHEME)


def opened(address: str, clock: Clock, *, prefix: str, most_bytes: int) -> Source:
    """The source of an address. Raises as ``Bucket``."""
    if is_bucket(address):
        return Bucket(address, BucketSettings(), prefix=prefix, most_bytes=most_bytes)
    return Folder(Path(address), clock, prefix=prefix, most_bytes=most_bytes)


def changes_of(address: str) -> Changes:
    """What tells of its changes."""
    return Changes(None if is_bucket(address) else Path(address))
