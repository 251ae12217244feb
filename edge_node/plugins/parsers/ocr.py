"""Text in images (OCR) by Tesseract, as words with boxes; its data are those of ``tessdata``."""

from __future__ import annotations

import io
import re
import resource
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from pathlib import Path
from statistics import mean, median

import tesserocr
from PIL import Image, ImageChops, ImageFilter, ImageSequence
from tesserocr import OEM, PSM, RIL

from edge_node.documents.readers.tessdata import TesseractData, chosen
from edge_node.plugins.parsers.package import left_out
from edge_node.plugins.parsers.pdf_layout import sparse_tables
from edge_node.plugins.parsers.pdf_page import Page, Picture, Word, turned
from edge_node.plugins.parsers.pdfium import Document
from shared.errors import ReaderUnavailable, UnreadableDocument

SCALE = 300 / 72  # pixels a point: what Tesseract's models were made for
MOST_PIXELS = 12_000_000  # of an image that is recognised
MOST_STATED_PIXELS = 150_000_000  # of an image that is opened
SMALL = 1_600  # pixels: an image that is no longer is doubled
SHARE_OF_TIME = 0.6  # of the seconds that a reader has: then the pages that are left stay unread
MAX_IMAGES = 500  # in one file
SURE_ALONE = 80.0  # percent: a word that is found at a second look only
SURE = 55.0  # percent: a word below is doubtful
MOST_WORD_CHARS = 40  # of each that is named
NAMED_WORDS = 5  # of those, in what is said of them
POOR = 65.0  # percent, of a page: then it is tried upside down, and without specks
LEVEL, MOST_SKEW = 0.4, 10  # degrees: less is none, more is not looked for
SKEW_WIDTH = 600  # pixels of the small copy by which it is measured
MOST_OF_LINE = 4  # times a word's height: a line that is taller holds more than one
INSTALL = (
    "pip install 'dgrag[ocr]' (English, German) or apt-get install tesseract-ocr "
    "tesseract-ocr-fra (or others), then retry it"
)
MOST_STAMPED = 40  # words of the text layer of a scan: then they are a stamp, or a footer
FEWEST_WORDS = 3  # in a picture that is no photograph
MOST_LABELS = 5  # words of the text layer on a picture with words of its own
POOR_LAYER = 0.12  # of the words of a text layer: then it is recognised again
_MIXED = re.compile(
    r"[A-Za-z]*[a-z][0-9|][a-z][a-z0-9]*|[0-9][a-rt-z][a-z]?|1s|[A-Za-z]+[|¦~][A-Za-z]*"
)
_UNITS = frozenset(
    (
        "mg",
        "ml",
        "kg",
        "km",
        "cm",
        "mm",
        "th",
        "nd",
        "rd",
        "st",
        "am",
        "pm",
        "h",
        "g",
        "m",
        "l",
        "d",
        "w",
        "x",
        "v",
        "p",
        "b",
        "gb",
        "mb",
        "kb",
        "hz",
        "db",
        "in",
        "ft",
    )
)
Shortfalls = tuple[tuple[str, str], ...]
# Tesseract opens the file of its messages at the first one, and crashes where it cannot: a sealed
# reader opens none, so that this message comes while it is loaded
tesserocr.PyTessBaseAPI(init=False).SetSourceResolution(300)


@dataclass(slots=True)
class Recognised:
    """The words of an image, in points, and how sure of them the engine is, in percent.

    ``is_turned``: they do not stand where the image has them. ``layer``: the words of the page's
    text layer that belong to its text too, by direction.
    """

    words: list[Word]
    confidence: float = 0.0
    is_turned: bool = False
    layer: list[list[Word]] = field(default_factory=list)


@dataclass(slots=True)
class RecognisedPages:
    """What was recognised, by the pages' numbers from 0, and what is to be said of it."""

    words: dict[int, Recognised] = field(default_factory=dict)
    shortfalls: Shortfalls = ()


def recognised_pages(name: str, document: Document, pages: Sequence[Page]) -> RecognisedPages:
    """Pages without text, scans whose text layer is a stamp, and those with a poor one.

    Raises UnreadableDocument (``no_text``) if none has text and nothing here recognises it.
    """
    bare = [at for at, page in enumerate(pages) if page.is_open and not _has_letters(page)]
    stamped = [at for at in _stamped(pages) if at not in bare]
    others = (at for at in range(len(pages)) if at not in bare and at not in stamped)
    poor = [at for at in others if is_recognised(pages[at])]
    data = chosen.get().data() if bare or stamped or poor else None
    if data is None:
        has_others = len(bare) < len(pages) or any(page.notes or page.fields for page in pages)
        if bare and not has_others:
            raise _unread(name, "its pages are images")
        shortfalls = _pictures_left(pages, {*bare, *stamped})
        if count := len(bare) + len(stamped):
            layer = "no text layer, or only a stamp" if stamped else "no text layer"
            message = f"{count} of {len(pages)} pages have {layer}, and {_absence()}: {INSTALL}"
            shortfalls = (("pages_unread", message), *shortfalls)
        return RecognisedPages({}, shortfalls)
    with Engine(data) as engine:
        found, late = _read(engine, document, pages, bare, stamped, poor)
    length = sum(_length(page) for at, page in enumerate(pages) if at in stamped or at not in found)
    return RecognisedPages(
        found,
        (
            *_shortfalls(found, poor, length, data),
            *_late(sorted(late), len(pages)),
            *_pictures_left(pages, {*found, *late}),
        ),
    )


def _read(
    engine: Engine,
    document: Document,
    pages: Sequence[Page],
    bare: Sequence[int],
    stamped: Sequence[int],
    poor: Sequence[int],
) -> tuple[dict[int, Recognised], list[int]]:
    """What is recognised on these pages, and those that the time did not suffice for."""
    found = dict[int, Recognised]()
    late = list[int]()
    for at in [*sorted([*bare, *poor]), *stamped]:
        if is_late():
            late.append(at)
            continue
        pixels, width, height = document.rendered(
            at, scale=SCALE, most=MOST_PIXELS, has_text=at not in stamped
        )
        if not pixels:
            continue
        image = Image.frombytes("L", (width, height), pixels)
        result = engine.read(image, pages[at].width / width)
        if at in stamped:
            _add_layer(result, pages[at], document.rotation(at))
            if _is_sure(result):
                found[at] = result
        elif at in bare or result.confidence > POOR:
            found[at] = result
    return found, late


def _stamped(pages: Sequence[Page]) -> list[int]:
    """The scans whose text layer is a stamp or a footer; a ground that pages share is no scan."""
    grounds = _shared_pictures(pages)
    scans = (at for at, page in enumerate(pages) if _is_stamped(page))
    return [at for at in scans if any(each.digest not in grounds for each in pages[at].pictures)]


def _shared_pictures(pages: Sequence[Page]) -> frozenset[int]:
    """The digests of large pictures that are drawn on several pages."""
    counts = Counter(digest for page in pages for digest in {each.digest for each in page.pictures})
    return frozenset(digest for digest, count in counts.items() if digest and count > 1)


def _is_stamped(page: Page) -> bool:
    count = sum(map(len, _visible(page).values()))
    return page.is_scan and not page.has_ocr_layer and 0 < count <= MOST_STAMPED


def _visible(page: Page) -> dict[int, list[Word]]:
    return {
        direction: [word for word in words if not word.is_hidden]
        for direction, words in page.words.items()
    }


def _add_layer(result: Recognised, page: Page, rotation: int) -> None:
    """Put the words of a text layer among those of its scan, where those are not the same."""
    layer = _visible(page)
    words = [] if result.is_turned or rotation else layer.pop(0, [])
    left, top = page.origin[0], page.origin[1] + page.height
    upright = [
        replace(
            word,
            left=word.left - left,
            top=word.top + top,
            right=word.right - left,
            bottom=word.bottom + top,
        )
        for word in words
    ]
    result.words = [
        word for word in result.words if not any(each.contains(word) for each in upright)
    ]
    result.layer = [upright, *layer.values()]


def _is_sure(result: Recognised) -> bool:
    """Whether words were read beside a stamp, and no specks of a photograph."""
    count = sum(any(map(str.isalnum, word.text)) for word in result.words)
    return count >= FEWEST_WORDS and result.confidence >= SURE


def _pictures_left(pages: Sequence[Page], settled: set[int]) -> Shortfalls:
    """How many large pictures on pages with a text layer are not read, each once.

    ``settled``: pages that were recognised, or of which something else is reported.
    """
    left = set[int]()
    for at, page in enumerate(pages):
        if at not in settled:
            left.update(each.digest for each in page.pictures if _is_left(page, each))
    return left_out((len(left), "large picture", "large pictures"))


def _is_left(page: Page, picture: Picture) -> bool:
    if not picture.digest:
        return False
    boxes = {direction: turned(picture, direction) for direction in page.words}
    visible = _visible(page).items()
    inside = sum(boxes[direction].contains(word) for direction, words in visible for word in words)
    return inside <= MOST_LABELS or _is_stamped(page)


def recognised_images(name: str, data: bytes) -> RecognisedPages:
    """The words of an image file, of several in it by page. Raises UnreadableDocument."""
    languages = chosen.get().data()
    if languages is None:
        raise _unread(name, "it is an image")
    found, late = dict[int, Recognised](), list[int]()
    surplus = False
    with pictures(name, data) as frames, Engine(languages) as engine:
        for at, frame in enumerate(islice(frames, MAX_IMAGES + 1)):
            if at == MAX_IMAGES:
                surplus = True
            elif is_late():
                late.append(at)
            else:
                found[at] = engine.read(prepared(frame), 1.0)
    shortfalls = [*_shortfalls(found, [], 0, languages), *_late(late, len(found) + len(late))]
    if surplus:
        message = f"only the first {MAX_IMAGES} of its images were read: split it"
        shortfalls.append(("pages_unread", message))
    return RecognisedPages(found, tuple(shortfalls))


@contextmanager
def pictures(name: str, data: bytes) -> Iterator[ImageSequence.Iterator]:
    """The pictures of an image file. Raises UnreadableDocument (``bad_image``), also in use."""
    Image.MAX_IMAGE_PIXELS = MOST_STATED_PIXELS // 2  # Pillow refuses twice as many
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(data)) as file:
            yield ImageSequence.Iterator(file)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, EOFError) as error:
        step = "save it again, as PNG or PDF"
        message = "is damaged, or not an image that can be read"
        raise UnreadableDocument(name, "bad_image", message, next_step=step) from error


def prepared(image: Image.Image) -> Image.Image:
    """An image in grey, on white, of a size that Tesseract reads well."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        coloured = image.convert("RGBA")
        paper = Image.new("RGBA", coloured.size, "white")
        image = Image.alpha_composite(paper, coloured)
    grey = image.convert("L")
    width, height = grey.size
    factor = 2.0 if max(width, height) < SMALL else 1.0
    factor = min(factor, (MOST_PIXELS / max(1, width * height)) ** 0.5)
    if factor == 1.0:
        return grey
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    return grey.resize(size, Image.Resampling.BICUBIC)


def is_late() -> bool:
    """Whether most of the seconds of a core that this process may take are used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most, _ = resource.getrlimit(resource.RLIMIT_CPU)
    spent = used.ru_utime + used.ru_stime
    return most != resource.RLIM_INFINITY and spent > SHARE_OF_TIME * most


class Engine:
    """Tesseract with its data loaded; to be used in ``with``."""

    def __init__(self, data: TesseractData) -> None:
        self._data = data
        try:
            self._api = tesserocr.PyTessBaseAPI(
                path=data.folder, lang=data.languages, psm=PSM.AUTO, oem=OEM.LSTM_ONLY
            )
        except RuntimeError as error:
            step = "install Tesseract's data again, or name other languages"
            message = "text in images cannot be recognised: the data of its languages are damaged"
            raise ReaderUnavailable(message, detail=str(error), next_step=step) from error

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self._api.End()

    def read(self, image: Image.Image, points: float) -> Recognised:
        """The words of an image, turned and straightened; ``points``: in a pixel."""
        turn = self._turn(image)
        if turn:
            image = image.transpose(_TRANSPOSED[turn])
        slope = _slope(image)
        if abs(slope) > LEVEL:
            image = _rotated(image, slope)
        found = self._words(image, points)
        found.is_turned = bool(turn) or abs(slope) > LEVEL
        if found.confidence < POOR and not is_late():
            for other in self._others(image):
                again = self._words(other, points)
                if again.confidence > found.confidence + 5:
                    found = again
                    found.is_turned = True
                if found.confidence >= POOR or is_late():
                    break
        return found

    def upright_words(self, image: Image.Image, points: float) -> list[Word]:
        """The words of an image as it is, whatever the slope of its lines."""
        self._set(image)
        return _levelled(list(self._recognised()), points)

    def _turn(self, image: Image.Image) -> int:
        """How far the text is turned, in degrees, by the largest block."""
        self._set(image)
        blocks = self._api.AnalyseLayout()
        best = (0, 0)
        while blocks is not None:
            box = blocks.BoundingBox(RIL.BLOCK)
            orientation, *_ = blocks.Orientation()
            if box is not None:
                area = (box[2] - box[0]) * (box[3] - box[1])
                best = max(best, (area, 90 * int(orientation)))
            if not blocks.Next(RIL.BLOCK):
                break
        return best[1]

    def _others(self, image: Image.Image) -> Iterator[Image.Image]:
        """Other ways to see a page that is read badly: as it may lie, and without specks."""
        turn = self._lie(image)
        if turn:
            yield image.transpose(_TRANSPOSED[turn])
        else:
            yield image.filter(ImageFilter.MedianFilter(3))
            yield image.transpose(Image.Transpose.ROTATE_180)

    def _lie(self, image: Image.Image) -> int:
        """How far it is turned, in degrees, by the data that tell it; 0 where they are absent."""
        if not Path(self._data.folder, "osd.traineddata").is_file():
            return 0
        with tesserocr.PyTessBaseAPI(path=self._data.folder, lang="osd", psm=PSM.OSD_ONLY) as api:
            api.SetImageBytes(image.tobytes(), image.width, image.height, 1, image.width)
            found = api.DetectOrientationScript()
        return int(found["orient_deg"]) % 360 if found and found["orient_conf"] > 1 else 0

    def _set(self, image: Image.Image) -> None:
        self._api.SetImageBytes(image.tobytes(), image.width, image.height, 1, image.width)
        self._api.SetSourceResolution(300)

    def _words(self, image: Image.Image, points: float) -> Recognised:
        self._set(image)
        words = list(self._recognised())
        if words and 2 * sum(word.height > 2 * word.width for word in words) > len(words):
            return self._sideways(image, points)
        words += self._single_signs(image, words)
        sure = [word.confidence for word in words if any(map(str.isalnum, word.text))]
        return Recognised(_levelled(words, points), mean(sure) if sure else 0.0)

    def _sideways(self, image: Image.Image, points: float) -> Recognised:
        """Columns of words: the page is turned by a quarter, one way or the other."""
        found = list[Recognised]()
        for turn in (Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_270):
            turned = image.transpose(turn)
            self._set(turned)
            words = list(self._recognised())
            sure = [word.confidence for word in words if any(map(str.isalnum, word.text))]
            found.append(Recognised(_levelled(words, points), mean(sure) if sure else 0.0))
        return max(found, key=lambda each: (each.confidence, len(each.words)))

    def _single_signs(self, image: Image.Image, words: list[Word]) -> Iterator[Word]:
        """What stands in a table's cells that seem empty: columns of single digits are overlooked.

        Tesseract finds them where it takes the page for one block.
        """
        tables = sparse_tables(words)
        if not tables or is_late():
            return
        self._api.SetPageSegMode(PSM.SINGLE_BLOCK)
        self._set(image)
        for word in list(self._recognised()):
            is_new = not any(_overlap(word, other) for other in words)
            is_inside = any(table.contains(word) for table in tables)
            is_sure = word.confidence >= SURE_ALONE and any(map(str.isalnum, word.text))
            if is_new and is_inside and is_sure:
                yield word
        self._api.SetPageSegMode(PSM.AUTO)

    def _recognised(self) -> Iterator[Word]:
        """Words in pixels."""
        self._api.Recognize()
        iterator = self._api.GetIterator()
        if iterator is None:
            return
        for part in tesserocr.iterate_level(iterator, RIL.WORD):
            word = _word(part)
            if word is not None:
                yield word


_TRANSPOSED = {
    90: Image.Transpose.ROTATE_90,
    180: Image.Transpose.ROTATE_180,
    270: Image.Transpose.ROTATE_270,
}


def _slope(image: Image.Image) -> float:
    """By how many degrees lines fall to the right: where rows of ink and of none differ most."""
    width = min(image.width, SKEW_WIDTH)
    height = max(1, round(image.height * width / image.width))
    ink = ImageChops.invert(image.resize((width, height), Image.Resampling.BOX))

    def contrast(degrees: float) -> float:
        turned = ink.rotate(degrees, Image.Resampling.BILINEAR)
        rows = turned.resize((1, height), Image.Resampling.BOX).tobytes()
        return float(sum((one - other) ** 2 for one, other in pairwise(rows)))

    coarse = max(
        range(-MOST_SKEW, MOST_SKEW + 1), key=lambda degrees: (contrast(degrees), -abs(degrees))
    )
    fine = max((coarse + quarter / 4 for quarter in range(-3, 4)), key=contrast)
    return fine if contrast(fine) > 1.1 * contrast(0) else 0.0


def _rotated(image: Image.Image, degrees: float) -> Image.Image:
    return image.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)


def _word(part: tesserocr.PyResultIterator) -> Word | None:
    """The word as it stands on its line: a comma is as high as the letters beside it."""
    try:
        text = part.GetUTF8Text(RIL.WORD)
    except RuntimeError:  # nothing was recognised in what looked like a word
        return None
    box = part.BoundingBox(RIL.WORD)
    if not text or not text.strip() or box is None:
        return None
    left, top, right, bottom = box
    line = part.BoundingBox(RIL.TEXTLINE)
    if line is not None and line[3] - line[1] < MOST_OF_LINE * (bottom - top):
        top, bottom = min(top, line[1]), max(bottom, line[3])
    confidence = float(part.Confidence(RIL.WORD))
    text = text.strip()
    if confidence < SURE / 2 and not any(map(str.isalnum, text)):
        return None  # a speck
    return Word(
        left,
        top,
        right,
        bottom,
        text=text,
        size=bottom - top,
        is_cut=text.endswith("-"),
        confidence=confidence,
    )


def _levelled(words: list[Word], points: float) -> list[Word]:
    """In points, words of nearly the usual size as of that size: engines measure it with noise."""
    usual = median(word.size for word in words) if words else 0.0
    for word in words:
        word.left, word.top = word.left * points, word.top * points
        word.right, word.bottom = word.right * points, word.bottom * points
        is_usual = 0.7 * usual < word.size < 1.35 * usual
        word.size = (usual if is_usual else word.size) * points
    return words


def _overlap(word: Word, other: Word) -> bool:
    return (
        word.left < other.right
        and other.left < word.right
        and word.top < other.bottom
        and other.top < word.bottom
    )


def is_recognised(page: Page) -> bool:
    """Whether words are read from a page's picture: its text layer is none, a stamp or poor."""
    is_without = not _has_letters(page) or _is_stamped(page)
    return is_without or (chosen.get().rereads and _is_poor(page))


def _has_letters(page: Page) -> bool:
    visible = (word for words in _visible(page).values() for word in words)
    return any(any(map(str.isalnum, word.text)) for word in visible)


def _length(page: Page) -> int:
    return sum(len(word.text) for words in page.words.values() for word in words)


def _is_poor(page: Page) -> bool:
    """Whether a scan's text layer is full of misread words, or a font does not name its signs."""
    words = [word.text for each in page.words.values() for word in each if not word.is_hidden]
    signs = sum(map(len, words))
    if not signs:
        return False
    if page.unmapped > 0.1 * signs:
        return True
    texts = [text.strip(".,;:!?()\"'") for text in words]
    texts = [text for text in texts if any(map(str.isalpha, text))]
    poor = sum(_is_misread(text) for text in texts)
    return page.is_scan and poor > 1 and poor >= POOR_LAYER * len(texts)


def _is_misread(text: str) -> bool:
    letters = text.lstrip("0123456789").casefold()
    return _MIXED.fullmatch(text) is not None and letters not in _UNITS


def _unread(name: str, what: str) -> UnreadableDocument:
    return UnreadableDocument(name, "no_text", f"{what}, and {_absence()}", next_step=INSTALL)


def _absence() -> str:
    wanted = chosen.get().wanted
    return f"no text recognition{' in ' if wanted else ''}{wanted} is installed"


def _late(late: Sequence[int], total: int) -> Shortfalls:
    if not late:
        return ()
    pages = f"{len(late)} of {total} pages, from page {late[0] + 1} on"
    message = f"{pages}, were not recognised in time: split it"
    return (("pages_unread", message),)


def _shortfalls(
    found: dict[int, Recognised], poor: Sequence[int], whole: int, data: TesseractData
) -> Shortfalls:
    messages = list[tuple[str, str]]()
    words = [word for each in found.values() for word in each.words]
    length = sum(len(word.text) for word in words)
    if length:
        share = 100 * length / (length + whole)
        message = (
            f"{share:.0f} % of its text was recognised in images ({data.languages}), "
            "so figures and names may be misread"
        )
        messages.append(("ocr", message))
    doubtful = list(_doubtful(found))
    if doubtful:
        noun = "word was" if len(doubtful) == 1 else "words were"
        are_more = len(doubtful) > NAMED_WORDS
        message = (
            f"{len(doubtful)} {noun} recognised with doubt{', first' if are_more else ''}: "
            f"{', '.join(doubtful[:NAMED_WORDS])}."
        )
        messages.append(("ocr_doubtful", message))
    again = sum(at in found for at in poor)
    if again:
        noun = "page was" if again == 1 else "pages were"
        message = (
            f"The text layer of {again} {noun} poor, so it was recognised again from the picture."
        )
        messages.append(("ocr_again", message))
    return tuple(messages)


def _doubtful(found: dict[int, Recognised]) -> Iterator[str]:
    for at, each in sorted(found.items()):
        for word in each.words:
            if word.confidence < SURE and any(map(str.isalnum, word.text)):
                yield f'"{word.text[:MOST_WORD_CHARS]}" (page {at + 1})'
