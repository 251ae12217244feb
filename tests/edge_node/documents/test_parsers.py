"""Which parser reads what, and how another distribution adds one."""

import io
import subprocess
import sys
import zipfile
from importlib import metadata

import pytest

from edge_node.documents.blocks import ParsedDocument, TextBlock
from edge_node.documents.parsers import GROUP, Parser, Registry
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from shared.errors import NotInstalled, ReaderUnavailable, SettingsError, UnreadableDocument
from shared.plugins import Plugins

SLIP = """
from edge_node.documents.blocks import ParsedDocument, TextBlock
from edge_node.documents.parsers import Parser

def parse(name, data):
    return ParsedDocument((TextBlock("paragraph", data.removeprefix(b"SLIP").decode()),), title="A slip")

def draw(data, page, mark="", width=0):
    return b"PNG %d %d %s" % (page, width, mark.encode())

SLIP = Parser("slip", 3, parse, heads=(b"SLIP",), page_image=draw)
"""
EXTRA_FREE = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pypdfium2", "tesserocr", "lxml", "python_calamine", "olefile", "selectolax"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from deploy.cli.sending import SUFFIXES
from edge_node.documents.readers import read
assert {".docx", ".pdf", ".txt"} <= set(SUFFIXES)
try:
    read("a.docx", b"some bytes")
except Exception as error:
    print(error.code, error.message, error.next_step)
"""


def distribution(folder, name, entry_points, **modules):
    """An installed one, as pip leaves it."""
    place = folder / f"{name}-1.0.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (place / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_points}\n")
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder of packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("slips", None)


def registry():
    return Registry(Plugins(GROUP, extra="edge"))


def parsed(text):
    return lambda name, data: ParsedDocument((TextBlock("paragraph", text),))


class Declared:
    """Plug-ins that are there already."""

    def __init__(self, **parsers):
        self.parsers = parsers
        self.names = tuple(sorted(parsers))

    def load(self, name):
        if isinstance(self.parsers[name], Exception):
            raise self.parsers[name]
        return self.parsers[name]


def test_a_distribution_that_is_installed_adds_a_parser_which_its_content_or_its_suffix_chooses(
    installed,
):
    assert ".slip" not in registry().suffixes
    distribution(installed, "slips", "slip = slips:SLIP", slips=SLIP)
    parsers = registry()
    assert ".slip" in parsers.suffixes
    for name in ("a.slip", "a.docx"):
        found = parsers.read(name, b"SLIPTwo beds.")
        assert (found.title, found.text, found.parsers) == ("A slip", "Two beds.", ("slip 3",))


def test_one_of_another_distribution_takes_the_place_of_ours(installed):
    distribution(installed, "slips", "txt = slips:SLIP", slips=SLIP)
    assert registry().read("a.txt", b"Two beds.").parsers == ("slip 3",)


@pytest.mark.process
async def test_it_reads_and_draws_in_the_sealed_child_too(installed):
    distribution(installed, "slips", "slip = slips:SLIP", slips=SLIP)
    pool = ReaderPool(ReaderLimits(seconds=60, memory_bytes=2**30), at_once=1)
    try:
        found = await pool.read("a.slip", b"SLIPTwo beds.")
        assert (found.text, found.parsers) == ("Two beds.", ("slip 3",))
        assert await pool.page_image("a.slip", b"SLIP", 2, mark="beds", width=300) == b"PNG 2 300 beds"
        assert {"slip 3", "text 3"} <= await pool.versions()
        assert (await pool.media_types())[".txt"] == "text/plain"
        with pytest.raises(UnreadableDocument) as caught:
            await pool.page_image("a.txt", b"Two beds.", 1)
        assert caught.value.reason == "no_pages"
    finally:
        pool.close()


def test_one_that_misses_a_package_stops_its_own_format_only_and_says_what_to_run(installed):
    distribution(installed, "slips", "slip = slips:SLIP", slips="import no_such_package")
    parsers = registry()
    assert parsers.read("a.txt", b"Two beds.").text == "Two beds."
    with pytest.raises(ReaderUnavailable) as caught:
        parsers.read("a.slip", b"Two beds.")
    assert caught.value.next_step == "run: pip install --force-reinstall slips"


def test_without_the_extra_the_suffixes_are_known_and_a_document_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", EXTRA_FREE], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("reader_unavailable .docx files cannot be read here run: pip install 'dgrag[edge]'"), done.stderr


def test_an_installation_that_declares_nothing_says_so():
    with pytest.raises(SettingsError, match="declares no parsers"):
        assert Registry(Declared()).suffixes


def test_what_is_declared_in_ours_is_there():
    own = metadata.distribution("dgrag").entry_points.select(group=GROUP)
    assert len(own) > 20
    assert all(isinstance(entry.load(), Parser) for entry in own)
    assert {f".{entry.name}" for entry in own} == set(registry().media_types)


def packed(*names):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in names:
            archive.writestr(name, "application/vnd.oasis.opendocument.text")
    return target.getvalue()


def test_content_goes_before_the_suffix_and_the_suffix_before_a_guess():
    txt, box, page = (
        Parser("text", 1, parsed("text")),
        Parser("zip", 1, parsed("zip")),
        Parser("page", 1, parsed("page")),
    )
    book = Parser("book", 1, parsed("book"), members=("book.xml",))
    open_text = Parser("open", 1, parsed("open"), mimetype=b"opendocument.text")
    html = Parser("html", 1, parsed("html"), guess=lambda start: start.startswith(b"<html"))
    pdf = Parser("pdf", 1, parsed("pdf"), heads=(b"%PDF-",))
    plugins = Declared(txt=txt, zip=box, html=html, pdf=pdf, book=book, odt=open_text, page=page)
    cases = {
        ("a.txt", b" \n%PDF-1.4"): "pdf",
        ("a.txt", b"<html>"): "text",
        ("a.log", b"<html>"): "html",
        ("a.log", b"words"): "text",
        ("a.txt", packed("book.xml")): "book",
        ("a.book", packed("mimetype")): "open",
        ("a.book", packed("other.xml")): "book",
        ("a.page", packed("other.xml")): "zip",
        ("a.book", b"PK\x03\x04"): "book",
        ("a", b"PK\x03\x04"): "zip",
    }
    assert {key: Registry(plugins).choose(*key).name for key in cases} == cases


def test_a_file_over_its_parsers_limit_is_too_large():
    small = Declared(txt=Parser("text", 1, parsed("text"), max_bytes=3))
    assert Registry(small).read("a.txt", b"abc").text == "text"
    with pytest.raises(UnreadableDocument) as caught:
        Registry(small).read("a.txt", b"abcd")
    assert caught.value.reason == "too_large"


def test_what_lies_in_a_file_is_read_by_its_own_parser_as_deep_as_it_may():
    def unpack(name, data, inside):
        return inside("part.box" if data[:1] == b"(" else "part.txt", data[1:])

    box = Parser("box", 2, parse_parts=unpack)
    parsers = Registry(Declared(txt=Parser("text", 1, parsed("text")), box=box))
    assert parsers.read("a.box", b"((words").parsers == ("box 2", "text 1")
    with pytest.raises(UnreadableDocument) as caught:
        parsers.read("a.box", b"((((words")
    assert caught.value.reason == "bad_archive"


def test_one_that_cannot_be_loaded_is_in_no_list_of_versions():
    broken = NotInstalled("x", extra="edge")
    assert Registry(Declared(txt=Parser("text", 1, parsed("text")), pdf=broken)).versions == {"text 1"}


@pytest.mark.parametrize("module", ["blocks", "grids", "parsers", "readers", "text", "readers.pool"])
def test_each_module_of_the_seam_can_be_the_first_that_is_imported(module):
    subprocess.run([sys.executable, "-c", f"import edge_node.documents.{module}"], check=True)


ROWS = "Ward\tBeds\r\nJuniper\t28\r\nLarch\t36\r\n"
PAGE = "<table><tr><th>Ward<th>Beds<tr><td>Juniper<td>28<tr><td>Larch<td>36</table>"
ARCHIVE = (
    "Subject: Exported\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n"
    f"--b\nContent-Type: text/html\n\n<html>{PAGE}</html>\n--b--\n"
)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("beds.xls", PAGE.encode()),
        ("beds.xls", f"\ufeff<html><head><meta charset=utf-8></head>{PAGE}</html>".encode()),
        ("beds.doc", f"<html xmlns:w='urn:x'>{PAGE}</html>".encode()),
        ("beds.xls", ROWS.encode()),
        ("beds.xlsx", ROWS.encode("utf-16")),
        ("beds.doc", ARCHIVE.encode()),
    ],
)
def test_what_other_programs_save_under_the_name_of_office_is_read_by_its_content(name, data):
    expected = "Ward: Juniper; Beds: 28.\nWard: Larch; Beds: 36."
    assert registry().read(name, data).text == expected


def test_rich_text_and_words_named_as_office_files_are_read_and_other_bytes_are_damaged():
    assert registry().read("a.doc", rb"{\rtf1 Two beds.}").text == "Two beds."
    assert registry().read("a.doc", b"Two beds.").text == "Two beds."
    with pytest.raises(UnreadableDocument) as caught:
        registry().read("a.doc", bytes(range(256)))
    assert caught.value.reason == "bad_office"


def zipped(**parts):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name.replace("_", "."), data)
    return target.getvalue()


def test_archives_in_an_archive_have_one_limit_together():
    bomb = zipped(a_txt=b"a " * 30_000_000)
    assert registry().read("a.zip", zipped(a_txt="Two beds.", b_zip=zipped(b_txt="Three."))).text
    with pytest.raises(UnreadableDocument, match="unfolds") as caught:
        registry().read("a.zip", zipped(note_txt="Two beds.", a_zip=bomb, b_zip=bomb, c_zip=bomb))
    assert caught.value.reason == "too_large"


def test_parts_of_parts_are_counted_together():
    reads = 0

    def split(name, data, inside):
        for _ in range(200):
            try:
                inside("part.box" if data == b"box" else "part.txt", b"mail" if data == b"box" else b"words")
            except UnreadableDocument:
                continue
        return ParsedDocument((TextBlock("paragraph", "words"),))

    def count(name, data):
        nonlocal reads
        reads += 1
        return ParsedDocument((TextBlock("paragraph", "words"),))

    box = Parser("box", 2, parse_parts=split)
    with pytest.raises(UnreadableDocument) as caught:
        Registry(Declared(txt=Parser("text", 1, count), box=box)).read("a.box", b"box")
    assert caught.value.reason == "too_large"
    assert reads < 20_000
