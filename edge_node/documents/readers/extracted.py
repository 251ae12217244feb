"""What kreuzberg makes of a file: the one place that knows its settings and its errors."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import kreuzberg
from kreuzberg import ConcurrencyConfig, ContentFilterConfig, ExtractionConfig, OcrConfig, PageConfig, TesseractConfig

from edge_node.documents.readers.native import pdfium
from edge_node.documents.readers.tessdata import TesseractData
from shared.errors import UnreadableDocument

PDF = "application/pdf"
_PAGE = re.compile("⁂⁂([0-9]{1,6})⁂⁂")  # kreuzberg drops control characters, and escapes what means something in Markdown
# Native code ends in these where a file is damaged or unfolds without end; MemoryError is for the process that reads.
_FAILED = (kreuzberg.KreuzbergError, RuntimeError, OSError, ValueError)
_ENCRYPTED = re.compile(r"password|encrypt", re.IGNORECASE)


def extracted(
    name: str,
    data: bytes,
    mime: str,
    *,
    bad: str,
    markdown: bool = False,
    ocr: TesseractData | None = None,
    pages: Sequence[int] | None = None,
    said: str = "is damaged, or not what its name says",
    next_step: str = "open and save it again",
) -> Any:
    """Kreuzberg's result. ``ocr``: what text in images is recognised with; ``pages``: of a PDF, which are images.

    It keeps no cache, fetches nothing and uses one thread. Raises UnreadableDocument: ``encrypted``, or the reason ``bad``; and
    ReaderUnavailable where it lacks a library of its own.
    """
    if ocr or mime == PDF:
        pdfium.require()
    config = ExtractionConfig(
        use_cache=False,
        enable_quality_processing=False,
        output_format="markdown" if markdown else "plain",
        pages=PageConfig(extract_pages=True, insert_page_markers=True, marker_format="\n\n⁂⁂{page_num}⁂⁂\n\n"),
        concurrency=ConcurrencyConfig(max_threads=1),
        content_filter=ContentFilterConfig(include_headers=True, include_footers=True, strip_repeating_text=False),
        ocr=_recognising(ocr) if ocr else None,
        force_ocr_pages=list(pages) if pages else None,
    )
    try:
        return kreuzberg.extract_bytes_sync(data, mime, config=config)
    except _FAILED as error:
        if _ENCRYPTED.search(str(error)):
            raise UnreadableDocument(name, "encrypted", "is behind a password", next_step="save it without a password") from error
        raise UnreadableDocument(name, bad, said, next_step=next_step) from error


def _recognising(data: TesseractData) -> OcrConfig:
    os.putenv("TESSDATA_PREFIX", data.folder)  # the engine takes the folder from nowhere else
    tesseract = TesseractConfig(language=data.languages, output_format="text", enable_table_detection=False, use_cache=False)
    return OcrConfig(backend="tesseract", language=data.languages, tesseract_config=tesseract)


def paged(content: str) -> dict[int, str]:
    r"""The text of each page, by number from 1; a text without pages is page 0.

    >>> paged('\n\n⁂⁂1⁂⁂\n\nOne.\n\n⁂⁂2⁂⁂\n\nTwo.'), paged('One.')
    ({1: 'One.', 2: 'Two.'}, {0: 'One.'})
    """
    first, *rest = _PAGE.split(content)
    pages = {int(number): text.strip("\n") for number, text in zip(rest[::2], rest[1::2], strict=True)}
    return pages or {0: first}
