"""Small files that are dear to read: each took a reader seconds to minutes, or hundreds of megabytes."""

import io
import zipfile
import zlib

import docx


def many_operators(pages: int = 20, operators: int = 100_000) -> bytes:
    """A PDF of a few KB whose pages share one stream of so many operators."""
    stream = zlib.compress(b"BT /F 9 Tf (a) Tj ET\n" * operators, 9)
    return _pdf(stream, pages)


def one_line(text: bytes) -> bytes:
    """A PDF with one line of text on one page."""
    return _pdf(zlib.compress(b"BT /F 9 Tf (%s) Tj ET" % text, 9), 1)


def word_bomb(paragraphs: int = 1_000_000) -> bytes:
    """A Word file of some 100 KB that unfolds to so many paragraphs of one letter."""
    plain = io.BytesIO()
    docx.Document().save(plain)
    folded = io.BytesIO()
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(folded, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for item in source.infolist():
            content = source.read(item)
            if item.filename == "word/document.xml":
                content = content.replace(b"<w:body>", b"<w:body>" + b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" * paragraphs)
            target.writestr(item, content)
    return folded.getvalue()


def _pdf(stream: bytes, pages: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % (4 + page) for page in range(pages))
    font = b"<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 3 0 R /Resources %s >>" % font
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (pages, kids),
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream),
        *[page] * pages,
    ]
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start))
    return out.getvalue()
