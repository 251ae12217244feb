"""Text in images (OCR): by Tesseract, which kreuzberg brings; the data of its languages are those of ``tessdata``."""

from __future__ import annotations

import resource
import struct
from collections.abc import Iterator
from itertools import islice

from edge_node.documents.readers.extracted import PDF, extracted, paged
from edge_node.documents.readers.tessdata import TesseractData, chosen
from edge_node.documents.readers.text import ReadText, placed, stem
from shared.errors import UnreadableDocument

AT_ONCE = 4  # pages
SHARE_OF_TIME = 0.6  # of the seconds that a reader has: then the pages that are left stay unread
MAX_IMAGES = 500  # in one TIFF file
INSTALL = "pip install 'dgrag[ocr]' (English, German) or apt-get install tesseract-ocr tesseract-ocr-fra (or others), then retry it"
SAVE = "save it again, as PNG or PDF: faxes of Group 3 and BigTIFF are not read"
Shortfalls = tuple[tuple[str, str], ...]


def with_recognised(name: str, data: bytes, layer: dict[int, str]) -> tuple[dict[int, str], Shortfalls]:
    """A PDF's pages, those without text recognised, and how much that is. Raises UnreadableDocument (``no_text``) if none has any."""
    bare = [number for number, text in layer.items() if not any(map(str.isalnum, text))]
    if not bare:
        return layer, ()
    read = chosen.get().data()
    if not read:
        if len(bare) == len(layer):
            raise UnreadableDocument(name, "no_text", f"its pages are images, and {_absent()}", next_step=INSTALL)
        return layer, (("pages_unread", f"{len(bare)} of {len(layer)} pages have no text layer, and {_absent()}: {INSTALL}"),)
    found, left = dict[int, str](), list(bare)
    while left and not _is_late():
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        pages = paged(extracted(name, data, PDF, bad="bad_pdf", ocr=read, pages=some).content)
        found |= {number: pages.get(number, "") for number in some}
    pages = layer | found
    return pages, (*_share(found, pages, read), *_late(left, len(layer)))


def read_image(name: str, data: bytes) -> ReadText:
    """Return the text in an image, of a TIFF file with several by page. Raises UnreadableDocument."""
    read = chosen.get().data()
    if not read:
        raise UnreadableDocument(name, "no_text", f"it is an image, and {_absent()}", next_step=INSTALL)
    kind = "image/png" if data.startswith(b"\x89PNG") else "image/jpeg" if data.startswith(b"\xff\xd8") else "image/tiff"
    pages, left = dict[int, str](), list[int]()
    images = islice(_single(data), MAX_IMAGES) if kind == "image/tiff" else (data,)
    for number, one in enumerate(images, start=1):
        if _is_late():
            left.append(number)
        else:
            found = extracted(name, one, kind, bad="bad_image", ocr=read, next_step=SAVE)
            pages[number] = "\n".join(paged(found.content).values())
    body, places = placed(name, ((f"page {number}", text) for number, text in pages.items()))
    shortfalls = (*_share(pages, pages, read), *_late(left, len(pages) + len(left)), *_surplus(data))
    return ReadText(stem(name), body, places if len(pages) > 1 else (), shortfalls)


def _absent() -> str:
    wanted = chosen.get().wanted
    return f"no text recognition{' in ' if wanted else ''}{wanted} is installed"


def _late(left: list[int], total: int) -> Shortfalls:
    if not left:
        return ()
    return (("pages_unread", f"{len(left)} of {total} pages, from page {left[0]} on, were not recognised in time: split it"),)


def _surplus(data: bytes) -> Shortfalls:
    if next(islice(_directories(data), MAX_IMAGES, None), None) is None:
        return ()
    return (("pages_unread", f"only the first {MAX_IMAGES} of its images were read: split it"),)


def _share(found: dict[int, str], pages: dict[int, str], read: TesseractData) -> Shortfalls:
    total, recognised = (sum(map(len, texts.values())) for texts in (pages, found))
    said = (
        f"{100 * recognised / total:.0f} % of its text was recognised in images ({read.languages}), so figures and names may be misread"
        if recognised
        else ""
    )
    return (("ocr", said),) if said else ()


def _is_late() -> bool:
    """Whether most of the seconds of a core that this process may take are used."""
    used, (most, _) = resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_CPU)
    return most != resource.RLIM_INFINITY and used.ru_utime + used.ru_stime > SHARE_OF_TIME * most


def _single(data: bytes) -> Iterator[bytes]:
    """A TIFF file's images, each as a file whose first image it is: only the offset in the head is another."""
    if not _is_tiff(data):
        yield data
    for at in _directories(data):
        yield data[:4] + struct.pack(f"{_order(data)}I", at) + data[8:]


def _is_tiff(data: bytes) -> bool:
    return len(data) >= 8 and data[:4] in (b"II*\0", b"MM\0*")


def _order(data: bytes) -> str:
    return "<" if data[:2] == b"II" else ">"


def _directories(data: bytes) -> Iterator[int]:
    """Where the description of each image of a TIFF file begins; none of another file."""
    if not _is_tiff(data):
        return
    seen, order = set[int](), _order(data)
    (at,) = struct.unpack_from(f"{order}I", data, 4)
    while 8 <= at <= len(data) - 6 and at not in seen:
        seen.add(at)
        yield at
        (entries,) = struct.unpack_from(f"{order}H", data, at)
        following = at + 2 + 12 * entries
        at = struct.unpack_from(f"{order}I", data, following)[0] if following + 4 <= len(data) else 0
