"""Small files that every sound reader reads. Where one of them fails as well, a document that failed is not to blame."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Control:
    """A file with its name, the words that stand in it, and what cannot be read where it fails."""

    kind: str
    name: str
    data: bytes
    words: str


def _pdf(words: str) -> bytes:
    """A PDF of one page, its text in a font that each program has."""
    drawing = b"BT /F1 24 Tf 72 700 Td (%s) Tj ET" % words.encode("ascii")
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawing), drawing),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    body, offsets = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\n" % table
    return body + head + b"startxref\n%d\n%%%%EOF" % len(body)


CONTROL_PDF = _pdf("Control page")
CONTROL_PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAJYAAAAsAQAAAACvK3xcAAAAzUlEQVR42uWSQQrCMBBFf9JAI7gQvIDHcFGweCoX"
    "oll04dLjuFPc6DEqutZWCraQZlwkqUE9gf7dPH4yf4ZhhHe1HJ/6bXYSXbEiCQCgHORkYs2ISHNEtbcZ6ML9J5Rj"
    "1a4h34MEeDvdIwKXnhlDBNpCBFn0w8xVPVYSfQvprEs9M0mSLOlApe2LqsAGeZoGmdsh54y58v5ltotl0TVgR+eL"
    "A7b+fEujV+aJLWBSzwaQzqeV30Gss4VN13SzZT2e2d3cmGdBZgAA+7P7ewLTKlKXsET3ZgAAAABJRU5ErkJggg=="
)
CONTROLS = (
    Control("PDF files", "control.pdf", CONTROL_PDF, "Control page"),
    Control("old office files", "control.rtf", rb"{\rtf1\ansi Control page\par}", "Control page"),
)
IMAGE_CONTROL = Control("text in images", "control.png", CONTROL_PNG, "")  # no words: each language's data reads it differently
