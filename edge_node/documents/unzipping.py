"""What bounds every format that is an archive inside."""

from __future__ import annotations

import io
import zipfile
import zlib

from edge_node.documents.text import too_large

MAX_UNZIPPED_BYTES = 128_000_000
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, LookupError, ValueError, OSError, NotImplementedError, RuntimeError)


def check_unzipped(name: str, data: bytes) -> None:
    """Raises UnreadableDocument (``too_large``) for an archive that says that it unfolds into too much, and BadZipFile."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unzipped = sum(part.file_size for part in archive.infolist())  # reading a part stops at its stated size
    if unzipped > MAX_UNZIPPED_BYTES:
        raise too_large(name, f"unfolds to {unzipped} bytes, over the limit of {MAX_UNZIPPED_BYTES}")
