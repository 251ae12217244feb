"""Word and PowerPoint before 2007: pieces, fields, notes, tables and slides, written byte by byte."""

import struct

import pytest

from benchmarks.files import old_office
from benchmarks.files.outlook import compound
from edge_node.documents.blocks import to_text
from edge_node.plugins.parsers.powerpoint_97 import parse_old_slides
from edge_node.plugins.parsers.word_97 import parse_old_word
from shared.errors import UnreadableDocument
from shared.records import place_of

TEXT_AT = 0x600
PAGE = 512
NOTES, HEADERS, RUNS, PARAGRAPHS, FONTS, PIECES, LISTS, USED_LISTS = (2, 3), 11, 12, 13, 15, 33, 73, 74


def level(start: int, kind: int, text: str) -> bytes:
    """A level of a list; signs below 9 stand for numbers of levels."""
    head = struct.pack("<IB19xBBBB", start, kind, 0, 0, 0, 0)
    return head + struct.pack("<H", len(text)) + text.encode("utf-16-le")


LEVELS = level(3, 0, "Art. \0") + level(1, 4, "\0\1)") + level(1, 23, "o") * 7


def word(text: str, *, parts: dict[int, int], tables: dict[int, bytes], pages: bytes = b"", data: bytes = b"") -> bytes:
    """A .doc in two pieces, a byte and two bytes a character. ``parts``: length of each text, by its index."""
    half = len(text) // 2
    first, second = text[:half].encode("cp1252"), text[half:].encode("utf-16-le")
    places = struct.pack("<3I", 0, half, len(text))
    second_at = TEXT_AT + len(first)
    pieces = struct.pack("<HIHHIH", 0, 1 << 30 | TEXT_AT * 2, 0, 0, second_at, 0)
    tables = tables | {PIECES: b"\x02" + struct.pack("<I", len(places + pieces)) + places + pieces}
    head, other = bytearray(TEXT_AT), b""
    struct.pack_into("<2H6xH", head, 0, 0xA5EC, 0x00C1, 0x0200)
    struct.pack_into("<H28xH", head, 32, 14, 22)
    for part, length in parts.items():
        struct.pack_into("<I", head, 0x4C + 4 * part, length)
    struct.pack_into("<H", head, 152, 93)
    for index, table in tables.items():
        struct.pack_into("<2I", head, 154 + 8 * index, len(other), len(table))
        other += table + (LEVELS if index == LISTS else b"")
    main = bytes(head) + first + second
    main += bytes(-len(main) % PAGE) + pages
    return compound({"WordDocument": main, "1Table": other, "Data": data})


def text_of(data: bytes) -> str:
    return to_text("a.doc", parse_old_word("a.doc", data)).text


def test_of_a_field_its_result_is_read_in_pieces_of_either_width():
    text = 'See \x13 HYPERLINK "x" \x14the link\x15, P\x1e7.\rGr\xfc\xdfe: \u5317\u4eac.\r'
    assert text_of(word(text, parts={0: len(text)}, tables={})) == "See the link, P-7.\n\nGrüße: 北京."


def test_a_note_stands_behind_its_paragraph():
    body, note = "Closed\x02.\rEnd.\r", "\x02Since May.\r"
    tables = {NOTES[0]: struct.pack("<IIH", 6, len(body), 1), NOTES[1]: struct.pack("<3I", 0, len(note), len(note) + 1)}
    raw = word(body + note + "\r", parts={0: len(body), 1: len(note) + 1}, tables=tables)
    assert text_of(raw) == "Closed[^1].\n\n[^1]: Since May.\n\nEnd."


def test_a_note_may_have_a_mark_of_its_author():
    body, note = "Closed* and (open).\rEnd.\r", "* Since May.\r"
    tables = {NOTES[0]: struct.pack("<IIH", 6, len(body), 0), NOTES[1]: struct.pack("<3I", 0, len(note), len(note) + 1)}
    raw = word(body + note + "\r", parts={0: len(body), 1: len(note) + 1}, tables=tables)
    assert text_of(raw) == "Closed[^1]* and (open).\n\n[^1]: * Since May.\n\nEnd."


def test_a_number_in_a_header_is_one_of_a_page_only_where_a_field_counts_them():
    body, header, footer = "Rules\r", "4711\r", "\x13 PAGE \x147\x15\r"
    ends = len(header), len(header + footer)
    bounds = struct.pack("<13I", *[0] * 8, ends[0], ends[0], *[ends[1]] * 3)
    raw = word(body + header + footer, parts={0: len(body), 2: ends[1]}, tables={HEADERS: bounds})
    assert text_of(raw) == "4711\n\nRules"


def word_with_runs(text: str, runs: dict[str, bytes], data: bytes = b"", tables: dict[int, bytes] | None = None) -> bytes:
    """A .doc; ``runs``: what is said of the first place of each text."""
    half = len(text) // 2
    places = {0: b"", len(text): b""}
    for part, properties in runs.items():
        at = text.index(part)
        places |= {at + len(part): places.get(at + len(part), b""), at: properties}
    starts = sorted(places)
    page, at = bytearray(PAGE), PAGE - 2
    struct.pack_into(f"<{len(starts)}I", page, 0, *(TEXT_AT + min(start, half) + 2 * max(0, start - half) for start in starts))
    for number, start in enumerate(starts[:-1]):
        if properties := places[start]:
            at = (at - len(properties) - 1) // 2 * 2
            page[at : at + len(properties) + 1] = bytes([len(properties)]) + properties
            page[4 * len(starts) + number] = at // 2
    page[-1] = len(starts) - 1
    end = TEXT_AT + half + 2 * (len(text) - half)
    table = struct.pack("<3I", TEXT_AT, end, -(-end // PAGE))
    return word(text, parts={0: len(text)}, tables={RUNS: table} | (tables or {}), pages=bytes(page), data=data)


def form_data(kind: int, result: int, default: int, entries: tuple[str, ...] = ()) -> bytes:
    """A field of a form in a stream of data."""

    def text(content: str, end: bytes = b"") -> bytes:
        return struct.pack("<H", len(content)) + content.encode("utf-16-le") + end

    inside = struct.pack("<IHHH", 0xFFFFFFFF, kind | result << 2, 0, 20) + text("Field 1", b"\0\0")
    inside += struct.pack("<H", default) + text("", b"\0\0") * 5
    if entries:
        inside += struct.pack("<3H", 0xFFFF, len(entries), 0) + b"".join(map(text, entries))
    return struct.pack("<IH62x", 68 + len(inside), 68) + inside


def test_ticks_and_choices_of_form_fields_are_read():
    fields = [form_data(1, 1, 0), form_data(1, 25, 0), form_data(2, 1, 0, ("oral", "s.c."))]
    text = "Fasting \x13 FORMCHECKBOX \x01\x15 or \x13 FORMCHECKBOX  \x01\x15, by \x13 FORMDROPDOWN \x01\x15.\r"
    runs = {}
    for before, at in (("BOX ", 0), ("BOX  ", len(fields[0])), ("DOWN ", len(fields[0] + fields[1]))):
        runs[f"{before}\x01"] = struct.pack("<HBHI", 0x0806, 1, 0x6A03, at)
    assert text_of(word_with_runs(text, runs, b"".join(fields))) == "Fasting ☒ or ☐, by s.c.."
    assert text_of(word_with_runs(text, runs, fields[0][:-9])) == "Fasting  or , by ."


def test_text_that_is_struck_through_is_marked():
    runs = {"5 ": struct.pack("<HB", 0x0837, 1), "mg": struct.pack("<HB", 0x2A53, 1), "3": struct.pack("<HB", 0x0837, 0)}
    assert text_of(word_with_runs("Give 5 mg 3 mg of it.\r", runs)) == "Give ~~5 mg~~ 3 mg of it."


def test_a_sign_is_that_of_its_font():
    names = [b"Arial", b"Wingdings", b"Code39"]
    fonts = [bytes(39) + name.decode().encode("utf-16-le") + b"\0\0" for name in names]
    table = struct.pack("<HH", len(fonts), 0) + b"".join(bytes([len(font)]) + font for font in fonts)
    symbols = {sign: struct.pack("<HHH", 0x6A09, font, code) for sign, font, code in (("1", 1, 0xF078), ("2", 2, 0xF061))}
    runs = symbols | {"\uf0fc": struct.pack("<HH", 0x4A4F, 1)}
    assert text_of(word_with_runs("Boxes 1 and 2, then \uf0fc.\r", runs, tables={FONTS: table})) == "Boxes ☒ and □, then ✓."


def paragraph_page(start: int, ends: list[int], properties: list[bytes]) -> bytes:
    """A page of properties: of each paragraph, which ends there, what is said of it."""
    page = bytearray(PAGE)
    struct.pack_into(f"<{len(ends) + 1}I", page, 0, start, *ends)
    at = PAGE - 2
    for number, content in enumerate(properties):
        content = b"\0\0" + content + bytes(len(content) % 2)
        at = (at - len(content) - 2) // 2 * 2
        page[at + 1] = len(content) // 2
        page[at + 2 : at + 2 + len(content)] = content
        page[4 * (len(ends) + 1) + 13 * number] = at // 2
    page[-1] = len(ends)
    return bytes(page)


def test_cells_and_rows_are_told_apart_by_their_properties():
    """An empty cell looks like the end of a row."""
    text = "Ward\x07Nurse\x07Beds\x07\x07Juniper\x07\x07" + "28\x07\x07End.\r"
    half = len(text) // 2
    cell, row = struct.pack("<HB", 0x2416, 1), struct.pack("<HBHB", 0x2416, 1, 0x2417, 1)
    ends, properties, cells = [], [], 0
    for at, sign in enumerate(text):
        if sign in "\x07\r":
            following = at + 1
            wide = following - half if following > half else 0
            ends.append(TEXT_AT + min(following, half) + 2 * wide)
            is_row = sign == "\x07" and cells == 3
            cells = 0 if is_row else cells + 1
            properties.append(b"" if sign == "\r" else row if is_row else cell)
    bare = word(text, parts={0: len(text)}, tables={})
    length = TEXT_AT + half + 2 * (len(text) - half)
    number = (length + PAGE - 1) // PAGE
    table = struct.pack("<3I", TEXT_AT, ends[-1], number)
    page = paragraph_page(TEXT_AT, ends, properties)
    shown = text_of(word(text, parts={0: len(text)}, tables={PARAGRAPHS: table}, pages=page))
    assert shown == "Ward: Juniper; Beds: 28.\n\nEnd."
    assert "Juniper" in text_of(bare)


def test_paragraphs_have_the_numbers_of_their_lists():
    text = "Scope\rwards\rstores\rTerm\r"
    half = len(text) // 2
    places = [at + 1 for at, sign in enumerate(text) if sign == "\r"]
    ends = [TEXT_AT + min(at, half) + 2 * max(0, at - half) for at in places]
    properties = [struct.pack("<HHHB", 0x460B, 1, 0x260A, deep) for deep in (0, 1, 1, 0)]
    number = (TEXT_AT + half + 2 * (len(text) - half) + PAGE - 1) // PAGE
    tables = {
        LISTS: struct.pack("<HI24x", 1, 7),
        USED_LISTS: struct.pack("<II12x", 1, 7),
        PARAGRAPHS: struct.pack("<3I", TEXT_AT, ends[-1], number),
    }
    page = paragraph_page(TEXT_AT, ends, properties)
    raw = word(text, parts={0: len(text)}, tables=tables, pages=page)
    assert text_of(raw) == "- Art. 3 Scope\n  - 3a) wards\n  - 3b) stores\n- Art. 4 Term"


def test_a_presentation_without_its_directory_gives_all_its_texts():
    assert to_text("a.ppt", parse_old_slides("a.ppt", old_office.slides("The pump is old."))).text == "The pump is old."


def show(*slides: tuple[str, str, bool]) -> bytes:
    """A .ppt of (title, text, is hidden), with the directory that PowerPoint writes."""
    record, container = old_office.record, old_office.CONTAINER
    stream, places, listed = b"", {}, b""
    for number, (title, text, is_hidden) in enumerate(slides, start=2):
        listed += record(0x03F3, struct.pack("<5I", number, 0, 0, 256 + number, 0))
        boxes = b""
        for kind, words, top in ((4, text, 500), (0, title, 900)):
            inside = record(0x0F9F, struct.pack("<I", kind)) + record(0x0FA0, words.encode("utf-16-le"))
            place = record(0xF010, struct.pack("<4h", top, 0, 900, top + 100))
            boxes += record(0xF004, place + record(0xF00D, inside, version=container), version=container)
        drawing = record(0x040C, record(0xF003, boxes, version=container), version=container)
        flags = record(0x03F9, struct.pack("<IIBBH4x", 0, 0, 0, 0, 4 if is_hidden else 0))
        places[number] = len(stream)
        stream += record(0x03EE, flags + drawing, version=container)
    places[1] = len(stream)
    stream += record(0x03E8, record(0x0FF0, listed, version=container), version=container)
    directory = len(stream)
    entry = struct.pack("<I", len(places) << 20 | 1)
    stream += record(0x1772, entry + struct.pack(f"<{len(places)}I", *(places[at] for at in sorted(places))))
    edit = len(stream)
    stream += record(0x0FF5, struct.pack("<7I", 0, 0, 0, directory, 1, 0, 0))
    user = record(0x0FF6, struct.pack("<3IHH2BH", 20, 0xE391C05F, edit, 0, 0x03F4, 3, 0, 0) + struct.pack("<I", 8))
    return compound({"PowerPoint Document": stream, "Current User": user})


def test_slides_are_places_and_begin_with_their_title_and_hidden_ones_are_counted():
    parsed = parse_old_slides("a.ppt", show(("secret", "x", True), ("Pumps", "The pump\ris old.", False)))
    shown = to_text("a.ppt", parsed)
    assert shown.text == "# Pumps\n\nThe pump\nis old."
    assert place_of(shown.places, (0, 5)) == "slide 2"
    assert parsed.shortfalls == (("left_out", "1 hidden slide is not in the text."),)


@pytest.mark.parametrize("parse", [parse_old_word, parse_old_slides])
def test_what_is_no_old_file_is_bad(parse):
    with pytest.raises(UnreadableDocument) as caught:
        parse("a.doc", b"\xd0\xcf\x11\xe0" + bytes(600))
    assert caught.value.reason == "bad_office"
