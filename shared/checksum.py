"""One checksum for everything that is stored, in Python and, under the same name, in SQL."""

from __future__ import annotations

from zlib import crc32

Field = str | bytes | int | float | None
_BETWEEN = b"\x1f"


def crc(*fields: Field) -> int:
    """CRC-32 of the fields, in their order: texts as UTF-8, numbers as Python writes them; of one field, of just its bytes.

    >>> crc("a") == crc(b"a"), crc("a", "b") == crc("ab"), crc("a", 1.5) == crc("a", "1.5")
    (True, False, True)
    """
    return crc32(_BETWEEN.join([_bytes(field) for field in fields]))


def _bytes(field: Field) -> bytes:
    if isinstance(field, bytes):
        return field
    return (field if isinstance(field, str) else str(field)).encode("utf-8", "surrogatepass")


def is_text(field: bytes) -> bool:
    r"""Whether bytes are UTF-8; what a damaged text was cast to may be none.

    >>> is_text(b"pump"), is_text(b"\xff")
    (True, False)
    """
    try:
        field.decode()
    except UnicodeDecodeError:
        return False
    return True
