"""Text in images: turned, askew, doubtful; and pages as pictures with a sentence marked."""

import io
import timeit

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageFont

from edge_node.documents.readers import read
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from edge_node.documents.readers.tessdata import Recognition, chosen
from edge_node.plugins.parsers import ocr
from edge_node.plugins.parsers.pdf_page import Page, Picture, Word
from edge_node.plugins.parsers.pdf_pages import page_image
from shared.errors import UnreadableDocument
from tests.support.pdfs import at, lines, pdf

TEXT = (
    "The feed pump of boiler two was replaced in October",
    "by Pavel Drozd after a leak had flooded the store of",
    "the northern station, and the old pump was sent to",
    "the workshop in Pellham where it was opened again.",
)


def scan(lines=TEXT, *, degrees: float = 0) -> Image.Image:
    image = Image.new("L", (1500, 900), 255)
    pen = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        pen.text((120, 140 + 90 * row), line, font=ImageFont.load_default(46), fill=0)
    return image.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)


def png(image: Image.Image) -> bytes:
    target = io.BytesIO()
    image.save(target, "PNG")
    return target.getvalue()


@pytest.mark.parametrize("degrees", [0, 3, -4, 90, 180, 270])
def test_a_page_is_read_however_it_lies(degrees: float):
    found = " ".join(read("a.png", png(scan(degrees=degrees))).text.split())
    assert "pump of boiler two was replaced in October by Pavel Drozd after" in found


def test_a_table_in_a_picture_keeps_its_rows_and_single_digits():
    image = Image.new("L", (1200, 600), 255)
    rows = [("Ward", "Nurse", "Beds"), ("Juniper", "Holt", "8"), ("Cedar", "Okafor", "4"), ("Maple", "Drozd", "6")]
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            place = (100 + 350 * column, 80 + 100 * row)
            ImageDraw.Draw(image).text(place, cell, font=ImageFont.load_default(40), fill=0)
    found = read("a.png", png(image)).text
    assert "Ward: Juniper; Nurse: Holt; Beds: 8." in found
    assert "Ward: Maple; Nurse: Drozd; Beds: 6." in found


def test_doubtful_words_stand_in_the_text_as_they_were_read_and_are_named_beside_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ocr, "SURE", 101.0)
    found = read("a.png", png(scan(("The dose is 78 mg.",))))
    assert "The dose is 78 mg." in found.text
    message = dict(found.shortfalls)["ocr_doubtful"]
    assert message == '5 words were recognised with doubt: "The" (page 1), "dose" (page 1), "is" (page 1), "78" (page 1), "mg." (page 1).'


def test_of_many_doubtful_words_the_first_five_are_named():
    words = {page: ocr.Recognised([Word(0, 0, 9, 9, text=f"w{page}{at}", confidence=50) for at in range(4)]) for page in (1, 0)}
    shortfalls = dict(ocr._shortfalls(words, [0], 0, type("Data", (), {"languages": "eng"})))
    assert shortfalls["ocr_doubtful"].startswith('8 words were recognised with doubt, first: "w00" (page 1), ')
    assert shortfalls["ocr_doubtful"].endswith('"w03" (page 1), "w10" (page 2).')
    assert shortfalls["ocr_again"].startswith("The text layer of 1 page was poor")


@pytest.mark.process
async def test_blank_and_hardly_legible_pages_end_with_a_text_or_a_reason_in_a_sealed_reader():
    specks = scan()
    for speck in range(900):
        ImageDraw.Draw(specks).ellipse((speck * 37 % 1500, speck * 101 % 900, speck * 37 % 1500 + 9, speck * 101 % 900 + 9), fill=0)
    pool = ReaderPool(ReaderLimits(20, 2**30), at_once=1)
    try:
        with pytest.raises(UnreadableDocument) as caught:
            await pool.read("blank.png", png(Image.new("L", (800, 600), 255)))
        assert caught.value.reason == "no_text"
        assert (await pool.read("specks.png", png(specks))).text
    finally:
        pool.close()


def layered(*texts: str) -> Page:
    words = [Word(0, 0, 9, 9, text=text) for text in texts]
    page = Page(100, 100, words={0: words})
    page.pictures.append(Picture(0, 0, 100, 100))
    return page


def test_a_scan_whose_text_layer_is_misread_is_poor_and_a_sound_one_is_not():
    assert ocr._is_poor(layered("Tlie", "d0se", "1s", "5", "mg"))
    assert not ocr._is_poor(layered("The", "dose", "is", "5mg", "on", "3rd", "May", "B12", "H2O"))


def pictured(drawing: str, picture: Image.Image, *, place: str = "595 0 0 842 0 0") -> bytes:
    """A page with a picture, all over it or where its matrix says, and a drawing upon it."""
    pixels = picture.tobytes().hex()
    size = f"/Width {picture.width}/Height {picture.height}/ColorSpace/DeviceGray/BitsPerComponent 8"
    head = f"<</Type/XObject/Subtype/Image{size}/Length {len(pixels) + 1}/Filter/ASCIIHexDecode>>"
    data = pdf([f"q {place} cm /I Do Q {drawing}"], objects=[f"{head}stream\n{pixels}>\nendstream"])
    return data.replace(b"/Resources<<", b"/Resources<</XObject<</I 7 0 R>>")


def test_a_scan_with_a_stamp_is_read_and_the_stamp_stands_once_in_its_text():
    paper = Image.new("L", (1500, 2120), 255)
    paper.paste(scan(), (0, 300))
    stamp = at(50, 800, "Received 3 May 2024 by ward office")
    found = read("a.pdf", pictured(stamp, paper))
    assert "pump of boiler two was replaced in October by Pavel Drozd after" in found.text
    assert found.text.count("Received 3 May 2024 by ward office") == 1
    assert dict(found.shortfalls)["ocr"].startswith("86 % of its text was recognised")
    known = at(48, 190, "The feed pump of boiler two", size=18)
    assert read("a.pdf", pictured(stamp + known, paper)).text.count("feed pump") == 1


def test_a_photograph_below_a_stamp_leaves_only_a_word_about_it():
    found = read("a.pdf", pictured(at(50, 800, "The harbour in 1961"), Image.radial_gradient("L")))
    assert found.text == "The harbour in 1961"
    assert dict(found.shortfalls) == {"left_out": "1 large picture is not in the text."}


@pytest.mark.parametrize(("place", "count"), [("300 0 0 400 100 100", 1), ("100 0 0 80 100 100", 0)])
def test_large_pictures_on_a_page_with_text_are_counted(place: str, count: int):
    data = pictured("\n".join(at(50, 60 + 14 * row, line) for row, line in enumerate(TEXT)), scan(), place=place)
    assert len(read("a.pdf", data).shortfalls) == count


def test_a_poor_text_layer_is_read_again_and_a_setting_leaves_it(monkeypatch: pytest.MonkeyPatch):
    paper = Image.new("L", (1500, 2120), 255)
    paper.paste(scan(("The dose is 5 mg a day.",)))
    data = pictured(at(50, 100, "Tlie d0se 1s 5 mg a d4y", extra="3 Tr"), paper)
    found = read("a.pdf", data)
    assert "The dose is 5 mg a day." in found.text
    assert "ocr_again" in dict(found.shortfalls)
    token = chosen.set(Recognition(rereads=False))
    try:
        assert "d0se" in read("a.pdf", data).text
    finally:
        chosen.reset(token)


# ------------------------------------------------------------------------- pages as pictures


def marked(data: bytes, page: int, sentence: str) -> tuple[int, int, int, int] | None:
    """Where a page's picture differs by the mark of a sentence."""
    plain, with_mark = (Image.open(io.BytesIO(page_image(data, page, mark=mark, width=595))) for mark in ("", sentence))
    assert plain.size == with_mark.size
    return ImageChops.difference(plain, with_mark).getbbox()


def test_the_sentence_that_is_asked_for_is_marked_on_its_page():
    lines = at(50, 100, "The first line says little.") + at(50, 300, "The dose is 5 mg, given") + at(50, 313, "with food each morning.")
    data = pdf([at(50, 60, "Another page"), lines])
    left, top, right, bottom = marked(data, 2, "The dose is 5 mg, given with food each morning.") or (0, 0, 0, 0)
    assert 285 <= top < bottom <= 320
    assert 45 <= left < right <= 200
    assert marked(data, 2, "Nothing of this stands on any of these pages") is None
    assert marked(data, 1, "The dose is 5 mg, given with food each morning.") is None


def test_a_sentence_of_which_most_stands_on_a_page_is_marked_where_it_does():
    data = pdf(
        [
            lines(
                50,
                100,
                ["The dose is 5 mg, given", "1 Footnote of the lower edge", "with food each morning and", "with water each evening."],
            )
        ]
    )
    box = marked(data, 1, "The dose is 5 mg, given with food each morning and with water each evening.")
    assert box is not None
    assert box[1] < 95
    assert box[3] > 135
    assert marked(data, 1, "The dose is 5 mg, but nothing else of this long sentence stands on it.") is None


def test_what_does_not_stand_on_a_page_with_a_text_layer_is_not_looked_for_in_its_picture(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("edge_node.plugins.parsers.pdf_pages.Engine", None)
    words = " ".join(f"w{number * 7919 % 10007}" for number in range(12))
    data = pdf([lines(20, 20, [words.replace("w", f"w{row}") for row in range(160)], pitch=5, size=4)])
    pages_time = min(timeit.repeat(lambda: page_image(data, 1), number=1, repeat=3))
    sentence = " ".join(f"v{number * 6007 % 9973}" for number in range(300))
    assert min(timeit.repeat(lambda: page_image(data, 1, mark=sentence), number=1, repeat=3)) < pages_time + 0.4
    assert marked(data, 1, sentence) is None


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_page_that_is_turned_is_marked_where_the_words_are_seen(rotation: int):
    data = pdf([at(50, 100, "The dose is 5 mg a day.")], page=f"/Rotate {rotation}")
    plain = Image.open(io.BytesIO(page_image(data, 1, width=595)))
    words = ImageChops.invert(plain.convert("L")).getbbox()
    assert words is not None
    box = marked(data, 1, "The dose is 5 mg a day.")
    assert box is not None
    assert all(abs(one - other) < 8 for one, other in zip(words, box, strict=True))


def test_a_row_of_a_table_is_marked_by_its_sentence_and_a_scan_by_its_words():
    drawn = at(50, 100, "Juniper") + at(200, 100, "28") + at(50, 120, "Cedar") + at(200, 120, "14")
    box = marked(pdf([drawn]), 1, "Ward: Cedar; Beds: 14.")
    assert box is not None
    assert box[1] > 105
    assert marked(png(scan()), 1, TEXT[2]) is not None


@pytest.mark.parametrize(
    ("data", "page", "reason"),
    [(pdf(["n"]), 2, "no_page"), (pdf(["n"]), 0, "no_page"), (b"%PDF-1.7 no", 1, "bad_pdf"), (b"no image", 1, "bad_image")],
)
def test_what_has_no_such_page_says_so(data: bytes, page: int, reason: str):
    with pytest.raises(UnreadableDocument) as caught:
        page_image(data, page)
    assert caught.value.reason == reason
