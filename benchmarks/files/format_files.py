"""Real files with planted facts: made by LibreOffice, python-docx, openpyxl, python-pptx, Pillow and the standard library's mail."""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import docx
import numpy as np
import openpyxl
import pptx
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from benchmarks.files.outlook import message

SHEET_ROWS = 10_000
TABLE_ROWS = 40
PAGES = 4
SENTENCES = 10  # on each page
OFFICE_S = 180
DEVICES = ("infusion pump", "battery cabinet", "pressure valve", "oxygen sensor", "cooling fan", "water filter", "backup generator")
PLACES = ("Juniper Ward", "Cedar Hall", "Maple Wing", "Dock Four", "North Levee", "Harbour Gate", "Linden Clinic")
WORKBOOKS = (  # suffix, rows, the header's row
    (".xlsx", SHEET_ROWS, 3),
    (".xlsx", TABLE_ROWS, 3),
    (".xlsx", TABLE_ROWS, 5),
    (".ods", TABLE_ROWS, 3),
    (".ods", TABLE_ROWS, 3),
    (".xls", TABLE_ROWS, 4),
    (".xls", TABLE_ROWS, 4),
)
HEADER = ("Device", "Code", "Lot", "Recalled", "Site")


@dataclass(frozen=True, slots=True)
class Fact:
    """A question, what a passage that answers it says, and where that stands: the file, and a place in it or ""."""

    file: str
    question: str
    said: str
    place: str


@dataclass(frozen=True, slots=True)
class Made:
    """A file and the facts in it."""

    name: str
    raw: bytes
    facts: tuple[Fact, ...]


class Maker:
    """Draws what files say; every code and lot comes once."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self._rng = rng
        self._folder = folder
        self._codes = iter(rng.sample(range(10_000, 100_000), 80_000))

    def row(self) -> tuple[str, ...]:
        """A device with its code, lot, day of recall and site."""
        pick, code = self._rng.choice, next(self._codes)
        day = f"20{self._rng.randrange(15, 25)}-{self._rng.randrange(1, 13):02}-{self._rng.randrange(1, 29):02}"
        return pick(DEVICES), f"P-{code}", f"L-{next(self._codes)}", day, pick(PLACES)

    def rows(self, count: int) -> list[tuple[str, ...]]:
        """So many rows."""
        return [self.row() for _ in range(count)]

    def pages(self, count: int = PAGES) -> list[list[tuple[str, ...]]]:
        """Rows on each of so many pages."""
        return [self.rows(SENTENCES) for _ in range(count)]

    def facts(self, name: str, rows: Sequence[tuple[tuple[str, ...], str]], count: int) -> tuple[Fact, ...]:
        """Questions for some of the (row, place) of a file."""
        chosen = self._rng.sample(list(rows), count)
        return tuple(Fact(name, f"Which lot has the {row[0]} {row[1]}?", row[2], place) for row, place in chosen)

    def converted(self, raw: bytes, suffix: str, target: str) -> bytes:
        """A file as LibreOffice saves it in another format."""
        source = self._folder / f"made{suffix}"
        source.write_bytes(raw)
        command = ["soffice", f"-env:UserInstallation=file://{self._folder}/profile", "--headless", "--convert-to", target]
        arguments = [*command, "--outdir", str(self._folder / "out"), str(source)]
        subprocess.run(arguments, check=True, capture_output=True, timeout=OFFICE_S)  # noqa: S603 - our own words
        return (self._folder / "out" / f"made.{target.partition(':')[0]}").read_bytes()


def sentence(row: Sequence[str]) -> str:
    """A row as somebody would write it."""
    return f"The {row[0]} {row[1]} at {row[4]} is of lot {row[2]} and was recalled on {row[3]}."


def word(pages: Sequence[Sequence[Sequence[str]]], *, table: Sequence[Sequence[str]] = ()) -> bytes:
    """A Word file of such pages, each with a heading, and a table at its end."""
    made = docx.Document()
    made.add_heading("Report on devices", 0)
    for number, rows in enumerate(pages, start=1):
        if number > 1:
            made.add_paragraph().paragraph_format.page_break_before = True
        made.add_heading(f"Part {number}", 1)
        for first in range(0, len(rows), 2):
            made.add_paragraph(" ".join(map(sentence, rows[first : first + 2])))
    if table:
        grid = made.add_table(0, len(HEADER))
        for row in (HEADER, *table):
            for cell, value in zip(grid.add_row().cells, row, strict=True):
                cell.text = value
    return _saved(made.save)


def workbook(rows: Sequence[Sequence[str]], *, first_row: int) -> bytes:
    """A workbook whose second sheet has a title and, from a row on, a table."""
    book = openpyxl.Workbook()
    book.active.append(["See the sheet Stock"])
    sheet = book.create_sheet("Stock")
    sheet["A1"] = "Stock of all sites"
    for column, name in enumerate(HEADER, start=1):
        sheet.cell(first_row, column, name)
    for row in rows:
        sheet.append(list(row))
    return _saved(book.save)


def slides(pages: Sequence[Sequence[Sequence[str]]], table: Sequence[Sequence[str]]) -> bytes:
    """A show: bullet points, then a slide with a table and notes."""
    show = pptx.Presentation()
    for number, rows in enumerate(pages, start=1):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = f"Devices, part {number}"
        slide.placeholders[1].text = "\n".join(map(sentence, rows[:5]))
        slide.notes_slide.notes_text_frame.text = sentence(rows[5])
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "Recalled"
    grid = slide.shapes.add_table(len(table) + 1, len(HEADER), 0, 0, 9_000_000, 4_000_000).table
    for at, row in enumerate((HEADER, *table)):
        for column, value in enumerate(row):
            grid.cell(at, column).text = value
    return _saved(show.save)


def scans(pages: Sequence[Sequence[Sequence[str]]], *, dpi: int, rng: np.random.Generator) -> list[Image.Image]:
    """Pages of A4 as a scanner gives them: a little tilted, blurred and noisy."""
    made = []
    for rows in pages:
        page = Image.new("L", (int(8.27 * dpi), int(11.69 * dpi)), 250)
        font, draw = ImageFont.load_default(dpi / 7), ImageDraw.Draw(page)
        for line, row in enumerate(rows):
            for half, text in enumerate(_halves(sentence(row))):
                draw.text((dpi * 0.8, dpi * (0.8 + 0.5 * line + 0.22 * half)), text, font=font, fill=20)
        turned = page.rotate(rng.uniform(-1.2, 1.2), fillcolor=250, resample=Image.Resampling.BICUBIC)
        noisy = np.asarray(turned.filter(ImageFilter.GaussianBlur(dpi / 400)), dtype=np.float32)
        made.append(Image.fromarray((noisy + rng.normal(0, 14, noisy.shape)).clip(0, 255).astype(np.uint8)))
    return made


def scanned_pdf(images: Sequence[Image.Image], dpi: int) -> bytes:
    """Images as the pages of a PDF without a text layer."""
    target = io.BytesIO()
    images[0].save(target, "PDF", save_all=True, append_images=list(images[1:]), resolution=dpi)
    return target.getvalue()


def image(picture: Image.Image, kind: str, dpi: int) -> bytes:
    """An image file."""
    target = io.BytesIO()
    picture.save(target, kind, dpi=(dpi, dpi))
    return target.getvalue()


def mail(rows: Sequence[Sequence[str]], attached: Sequence[tuple[str, bytes]], number: int) -> bytes:
    """A mail in base64 with attachments."""
    made = EmailMessage()
    made["Subject"], made["From"], made["To"] = f"Recall {number}", "Anna Keller <anna@example.org>", "Bo Lind <bo@example.org>"
    made.set_content("Dear Bo,\n\n" + "\n".join(map(sentence, rows)) + "\n\nGrüße, Anna\n", cte="base64")
    for name, raw in attached:
        made.add_attachment(raw, maintype="application", subtype="octet-stream", filename=name)
    return bytes(made)


def outlook_mail(rows: Sequence[Sequence[str]], attached: Sequence[tuple[str, bytes]], number: int) -> bytes:
    """The same as Outlook keeps it."""
    said, sent = "\r\n".join(map(sentence, rows)), datetime(2026, 3, number, tzinfo=UTC)
    to = [("Bo Lind", "bo@example.org")]
    return message(f"Recall {number}", said, sender=("Anna Keller", "anna@example.org"), to=to, sent=sent, attached=attached)


def table_text(rows: Sequence[Sequence[str]]) -> bytes:
    """The rows as CSV, below their header."""
    target = io.StringIO()
    csv.writer(target).writerows([HEADER, *rows])
    return target.getvalue().encode()


def page_of_web(rows: Sequence[Sequence[str]], table: Sequence[Sequence[str]]) -> bytes:
    """HTML with a menu, paragraphs and a table."""
    lines = "".join(f"<tr>{''.join(f'<td>{value}</td>' for value in row)}</tr>" for row in table)
    head = "".join(f"<th>{name}</th>" for name in HEADER)
    said = "".join(f"<p>{sentence(row)}</p>" for row in rows)
    return f"<html><title>Devices</title><nav>Home</nav><h1>Devices</h1>{said}<table><tr>{head}</tr>{lines}</table></html>".encode()


def packed(parts: Sequence[tuple[str, bytes]]) -> bytes:
    """An archive."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in parts:
            archive.writestr(name, raw)
    return target.getvalue()


def records(rows: Sequence[Sequence[str]]) -> bytes:
    """The rows as records of JSON."""
    return json.dumps({"devices": [dict(zip(map(str.lower, HEADER), row, strict=True)) for row in rows]}).encode()


def lines_of_json(rows: Sequence[Sequence[str]]) -> bytes:
    """The rows as lines of JSON."""
    return "".join(json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in rows).encode()


def paged(pages: Sequence[Sequence[tuple[str, ...]]], word_of_place: str = "page") -> list[tuple[tuple[str, ...], str]]:
    """Each row with the number of its page as its place; "": nowhere."""
    return [(row, f"{word_of_place} {n}" if word_of_place else "") for n, rows in enumerate(pages, start=1) for row in rows]


def numbered(rows: Sequence[tuple[str, ...]], first: int, head: str) -> list[tuple[tuple[str, ...], str]]:
    """Each row of a table with its number as its place."""
    return [(row, f"{head}{number}") for number, row in enumerate(rows, start=first)]


def _halves(text: str) -> tuple[str, str]:
    at = text.index(" is of lot")
    return text[:at], text[at + 1 :]


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    target = io.BytesIO()
    save(target)
    return target.getvalue()


def texts(maker: Maker) -> Iterator[Made]:
    """Files of running text with pages or without."""
    for number in range(1, 9):
        pages = maker.pages()
        name = f"report-{number}.pdf"
        yield Made(name, maker.converted(word(pages), ".docx", "pdf"), maker.facts(name, paged(pages), 4))
    for suffix, count in ((".docx", 6), (".odt", 4), (".rtf", 4), (".epub", 3), (".doc", 2)):
        for number in range(1, count + 1):
            pages, table = maker.pages(), maker.rows(8)
            name, raw = f"notes-{number}{suffix}", word(pages, table=table)
            made = raw if suffix == ".docx" else maker.converted(raw, ".docx", suffix[1:])
            yield Made(name, made, maker.facts(name, paged([*pages, table], ""), 3))
    for number in range(1, 4):
        rows, table = maker.rows(12), maker.rows(12)
        name = f"page-{number}.html"
        yield Made(name, page_of_web(rows, table), maker.facts(name, paged([rows, table], ""), 3))
    for number, suffix in enumerate((".md", ".md", ".txt", ".txt"), start=1):
        rows = maker.rows(30)
        name = f"plain-{number}{suffix}"
        text = "# Devices\n\n" + "\n\n".join(map(sentence, rows))
        yield Made(name, text.encode(), maker.facts(name, paged([rows], ""), 3))


def tables(maker: Maker) -> Iterator[Made]:
    """Spreadsheets, two of them long, slides, CSV and JSON."""
    for number, (suffix, count, first) in enumerate(WORKBOOKS, start=1):
        rows = maker.rows(count)
        name, raw = f"stock-{number}{suffix}", workbook(rows, first_row=first)
        made = raw if suffix == ".xlsx" else maker.converted(raw, ".xlsx", suffix[1:])
        yield Made(name, made, maker.facts(name, numbered(rows, first + 1, "Stock, row "), 12 if count == SHEET_ROWS else 4))
    for number in range(1, 8):
        pages, table = maker.pages(), maker.rows(5)
        name, raw = f"show-{number}{'.pptx' if number < 6 else '.odp'}", slides(pages, table)
        placed = paged([*(page[:6] for page in pages), table], "slide")
        yield Made(name, raw if number < 6 else maker.converted(raw, ".pptx", "odp"), maker.facts(name, placed, 4))
    for number, count in enumerate((SHEET_ROWS, TABLE_ROWS), start=1):
        rows = maker.rows(count)
        name = f"list-{number}.csv"
        yield Made(name, table_text(rows), maker.facts(name, numbered(rows, 2, "row "), 12 if count == SHEET_ROWS else 3))
    for number in range(1, 3):
        rows = maker.rows(TABLE_ROWS)
        name = f"data-{number}.json"
        yield Made(name, records(rows), maker.facts(name, numbered(rows, 1, "devices, record "), 3))
        name = f"lines-{number}.jsonl"
        yield Made(name, lines_of_json(rows), maker.facts(name, numbered(rows, 1, "row "), 3))


def scanned(maker: Maker, rng: np.random.Generator) -> Iterator[Made]:
    """Scans at 150 and 300 dots an inch."""
    for number, dpi in enumerate((150, 150, 300, 300), start=1):
        pages = maker.pages(3)
        name = f"scan-{number}.pdf"
        yield Made(name, scanned_pdf(scans(pages, dpi=dpi, rng=rng), dpi), maker.facts(name, paged(pages), 4))
    for suffix, kind, dpi in ((".png", "PNG", 150), (".jpg", "JPEG", 300), (".tiff", "TIFF", 150)):
        pages = maker.pages(1)
        name = f"photo{suffix}"
        yield Made(name, image(scans(pages, dpi=dpi, rng=rng)[0], kind, dpi), maker.facts(name, paged(pages, ""), 3))


def enclosed(maker: Maker) -> Iterator[Made]:
    """Mails with attachments, and archives."""
    for number in range(1, 9):
        rows, pages, table = maker.rows(6), maker.pages(2), maker.rows(12)
        pdf, sheet = maker.converted(word(pages), ".docx", "pdf"), workbook(table, first_row=3)
        places = [*((row, f"annex.pdf, {place}") for row, place in paged(pages)), *numbered(table, 4, "stock.xlsx, Stock, row ")]
        attached = [("annex.pdf", pdf), ("stock.xlsx", sheet)]
        if number <= 4:
            name, raw = f"mail-{number}.eml", mail(rows, attached, number)
            places += paged([rows], "")
        elif number <= 6:
            name, raw = f"all-{number}.zip", packed(attached)
        else:
            name, raw = f"mail-{number}.msg", outlook_mail(rows, attached, number)
            places += paged([rows], "")
        yield Made(name, raw, maker.facts(name, places, 5))


def made(folder: Path, *, seed: int = 24) -> Iterator[Made]:
    """All files, one after the other; ``folder``: where LibreOffice works."""
    maker = Maker(random.Random(seed), folder)
    yield from texts(maker)
    yield from tables(maker)
    yield from scanned(maker, np.random.default_rng(seed))
    yield from enclosed(maker)
