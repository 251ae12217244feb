"""A message as Outlook saves it (.msg), written byte by byte: [MS-CFB] for the file, [MS-OXMSG] for what is in it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

SECTOR, MINI, SMALL = 512, 64, 4096  # bytes; a stream that is smaller lies in the mini stream
END, NONE, FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
TEXT, BYTES, NUMBER, TIME = 0x001F, 0x0102, 0x0003, 0x0040  # types of properties
CLASS, SUBJECT, SENT, SENDER, SENDER_MAIL, TO, BODY = 0x001A, 0x0037, 0x0039, 0x0C1A, 0x0C1F, 0x0E04, 0x1000
NAME, MAIL, KIND = 0x3001, 0x3003, 0x0C15  # of a receiver
DATA, FILE_NAME, METHOD, TYPE = 0x3701, 0x3707, 0x3705, 0x370E  # of an attachment
EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
Person: TypeAlias = tuple[str, str]  # name and address
Tree: TypeAlias = dict[str, "bytes | Tree"]
Said: TypeAlias = Mapping[int, str | bytes]


def message(
    subject: str, body: str, *, sender: Person, to: Sequence[Person], sent: datetime, attached: Sequence[tuple[str, bytes]] = ()
) -> bytes:
    """A mail. ``attached``: file names with their bytes."""
    names = "; ".join(name for name, _ in to)
    said: Said = {CLASS: "IPM.Note", SUBJECT: subject, BODY: body, SENDER: sender[0], SENDER_MAIL: sender[1], TO: names}
    head = struct.pack("<8x4I8x", len(to), len(attached), len(to), len(attached))
    tree = stored(head, said, struct.pack("<HHIQ", TIME, SENT, 6, int((sent - EPOCH).total_seconds()) * 10**7))
    tree["__nameid_version1.0"] = {f"__substg1.0_000{number}0102": b"" for number in (2, 3, 4)}
    for number, (name, mail) in enumerate(to):
        tree[f"__recip_version1.0_#{number:08X}"] = stored(bytes(8), {NAME: name, MAIL: mail}, _number(KIND, 1))
    for number, (name, data) in enumerate(attached):
        about: Said = {FILE_NAME: name, DATA: data, TYPE: "application/octet-stream"}
        tree[f"__attach_version1.0_#{number:08X}"] = stored(bytes(8), about, _number(METHOD, 1))
    return compound(tree)


def stored(head: bytes, said: Said, fixed: bytes) -> Tree:
    """The streams of an object with these properties; ``fixed``: those that stand in the table itself."""
    tree, rows = Tree(), [head]
    for number, value in said.items():
        kind, raw = (BYTES, value) if isinstance(value, bytes) else (TEXT, value.encode("utf-16-le"))
        tree[f"__substg1.0_{number:04X}{kind:04X}"] = raw
        rows.append(struct.pack("<HHIII", kind, number, 6, len(raw) + (2 if kind == TEXT else 0), 0))
    tree["__properties_version1.0"] = b"".join([*rows, fixed])
    return tree


def _number(number: int, value: int) -> bytes:
    return struct.pack("<HHIq", NUMBER, number, 6, value)


class Chains:
    """Numbered blocks of one size, and which follows which."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.blocks: list[bytes] = []
        self.following: list[int] = []

    def add(self, raw: bytes) -> int:
        """Returns the first block of these bytes."""
        if not raw:
            return END
        start, blocks = len(self.blocks), [raw[at : at + self.size].ljust(self.size, b"\0") for at in range(0, len(raw), self.size)]
        self.blocks += blocks
        self.following += [*range(start + 1, start + len(blocks)), END]
        return start


@dataclass(slots=True)
class Entry:
    """A line of the directory; its links are numbers of others."""

    name: str
    kind: int  # 1: storage, 2: stream, 5: root
    start: int = 0
    size: int = 0
    left: int = NONE
    right: int = NONE
    child: int = NONE

    def packed(self) -> bytes:
        """As it stands in the file."""
        name = f"{self.name}\0".encode("utf-16-le")
        links = self.left, self.right, self.child
        return struct.pack("<64sHBB3I36xIQ", name, len(name), self.kind, 1, *links, self.start, self.size)


def compound(tree: Tree) -> bytes:
    """A compound file with these storages (dicts) and streams (bytes)."""
    sectors, minis, entries = Chains(SECTOR), Chains(MINI), [Entry("Root Entry", 5)]
    entries[0].child = _added(tree, entries, sectors, minis)
    held = b"".join(minis.blocks)
    entries[0].start, entries[0].size = sectors.add(held), len(held)
    first_mini = sectors.add(struct.pack(f"<{len(minis.following)}I", *minis.following).ljust(SECTOR, b"\xff"))
    directory = sectors.add(b"".join(map(Entry.packed, entries)))
    count = -(-(len(sectors.blocks) + 8) // (SECTOR // 4))
    fats = range(len(sectors.blocks), len(sectors.blocks) + count)
    table = struct.pack(f"<{len(sectors.following) + count}I", *sectors.following, *[FAT] * count).ljust(count * SECTOR, b"\xff")
    minis_size = -(-len(minis.following) * 4 // SECTOR)
    head = struct.pack("<8s16x5H6x", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<9I", 0, count, directory, 0, SMALL, first_mini, minis_size, END, 0)
    head += struct.pack("<109I", *fats, *[NONE] * (109 - count))
    return head + b"".join(sectors.blocks) + table


def _added(tree: Tree, entries: list[Entry], sectors: Chains, minis: Chains) -> int:
    """Add the entries of a storage; returns the number of the one in the middle, below which the others stand."""
    numbers = list[int]()
    for name in sorted(tree, key=lambda name: (len(name), name.upper())):
        inside, number = tree[name], len(entries)
        numbers.append(number)
        if isinstance(inside, bytes):
            start = (minis if len(inside) < SMALL else sectors).add(inside)
            entries.append(Entry(name, 2, start, len(inside)))
        else:
            entries.append(Entry(name, 1))
            entries[number].child = _added(inside, entries, sectors, minis)
    return _rooted(numbers, entries)


def _rooted(numbers: Sequence[int], entries: Sequence[Entry]) -> int:
    if not numbers:
        return NONE
    middle = len(numbers) // 2
    entry = entries[numbers[middle]]
    entry.left, entry.right = _rooted(numbers[:middle], entries), _rooted(numbers[middle + 1 :], entries)
    return numbers[middle]
