"""What each installed parser promises, here and in the sealed child: a text with its places, or a reason, and no file."""

import asyncio
import gzip
import itertools
import os
import random
import re
import tempfile
import zipfile
from collections import defaultdict
from dataclasses import replace
from io import BytesIO

import pytest

from benchmarks.files.hostile_formats import good, zipped
from edge_node.documents.blocks import ParsedDocument, Place
from edge_node.documents.parsers import Registry
from edge_node.documents.readers import PARSERS, ReadText
from edge_node.documents.readers.framing import MAX_MESSAGE_CHARS, MAX_WORD_CHARS
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from edge_node.documents.text import MAX_PLACE_CHARS, normalised
from shared.errors import ReaderUnavailable, UnreadableDocument
from tests.support.small_formats import small_files

pytestmark = pytest.mark.process

SOUND = good() | small_files()
CUTS = 8
WORD, SENTENCE = re.compile("[a-z0-9_]+"), re.compile(r"\S.*\S")
BOMB = zipped({"a.txt": b" " * 200_000_000})
PACKED_BOMB = gzip.compress(b" " * 200_000_000, 1)
LIMITS = ReaderLimits(seconds=20, memory_bytes=2**30)
FORMATS = sorted({parser.name: suffix for suffix, parser in PARSERS.loaded.items()}.values())  # one of each parser
BLANK = {"image"}  # whose sound file has no words


def sound_of(suffix):
    """A sound file of a suffix, or of another one of the same parser."""
    parser = PARSERS.loaded[suffix]
    return SOUND[next(each for each in (suffix, *SOUND) if each in SOUND and PARSERS.loaded[each] == parser)]


@pytest.fixture(scope="module")
def pool():
    made = ReaderPool(LIMITS, at_once=1)
    yield made
    made.close()


def hostile(suffix):
    """(what it is, bytes): nothing, cut off, noise, other formats under this suffix, and bombs where it is an archive."""
    chance = random.Random(suffix)
    sound = sound_of(suffix)
    yield from {"blank": b" \n", "noise": chance.randbytes(20_000), "half": sound[:8] + chance.randbytes(20_000)}.items()
    for number in range(CUTS):
        yield f"cut {number}", sound[: chance.randrange(1, len(sound))]
    for number in range(4):
        spoilt = bytearray(sound)
        for _ in range(5):
            spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
        yield f"spoilt {number}", bytes(spoilt)
    for other in (".docx", ".pdf", ".html", ".json", ".xls", ".zip"):
        yield f"is {other}", SOUND[other]
    yield "bomb", BOMB
    if sound.startswith(b"\x1f\x8b"):
        yield "bomb of its kind", PACKED_BOMB
    if zipfile.is_zipfile(BytesIO(sound)):
        with zipfile.ZipFile(BytesIO(sound)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        yield "bomb of its kind", zipped(members | {max(members, key=lambda name: len(members[name])): b"<a>" + b" " * 200_000_000})


async def outcome(read, name, raw):
    """The text, or the reason."""
    try:
        return await read(name, raw)
    except (UnreadableDocument, ReaderUnavailable) as error:
        return error


def read_here(name, raw):
    return asyncio.to_thread(PARSERS.read, name, raw)


def check_text(found):
    """Places in order and within the text; shortfalls that a person understands."""
    assert found.text == normalised(found.text)
    assert any(map(str.isalnum, found.text))
    starts = [at for at, _ in found.places]
    assert starts == sorted(starts)
    assert all(0 <= at < len(found.text) for at in starts)
    assert all(place == " ".join(place.split()) and len(place) <= MAX_PLACE_CHARS for _, place in found.places)
    for code, message in found.shortfalls:
        assert WORD.fullmatch(code), code
        assert len(code) <= MAX_WORD_CHARS
        assert SENTENCE.fullmatch(message), message
        assert len(message) <= MAX_MESSAGE_CHARS
    assert found.parsers


def check_reason(error):
    if isinstance(error, UnreadableDocument):
        assert WORD.fullmatch(error.reason), error.reason
        assert error.next_step
    assert "Traceback" not in error.message


def essence(found):
    return (found.reason, found.next_step) if isinstance(found, UnreadableDocument) else found


@pytest.mark.parametrize("suffix", PARSERS.suffixes)
async def test_a_sound_file_is_read_the_same_each_time_here_and_in_the_child(pool, suffix):
    raw, name = sound_of(suffix), PARSERS.loaded[suffix].name
    first = await outcome(read_here, f"a{suffix}", raw)
    assert isinstance(first, ReadText) or name in BLANK, first
    if isinstance(first, ReadText):
        check_text(first)
        assert any(used.rpartition(" ")[0] == name for used in first.parsers), first.parsers
    assert essence(await outcome(read_here, f"a{suffix}", raw)) == essence(first)
    assert essence(await outcome(pool.read, f"a{suffix}", raw)) == essence(first)


@pytest.mark.parametrize("suffix", FORMATS)
async def test_a_hostile_file_ends_with_a_text_or_a_reason_in_the_child(pool, suffix):
    for kind, raw in hostile(suffix):
        found = await outcome(pool.read, f"a{suffix}", raw)
        (check_text if isinstance(found, ReadText) else check_reason)(found)
        if "bomb" in kind or kind in ("blank", "noise"):
            assert isinstance(found, UnreadableDocument), kind


@pytest.mark.parametrize("suffix", FORMATS)
async def test_what_the_child_says_of_a_broken_file_is_said_here_too_and_nothing_is_written(pool, suffix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for kind, raw in itertools.islice(hostile(suffix), 7):
        here, there = await outcome(read_here, f"a{suffix}", raw), await outcome(pool.read, f"a{suffix}", raw)
        assert essence(here) == essence(there), kind
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - of an async function


class Small:
    """The parsers, each with a small limit."""

    names = tuple(suffix[1:] for suffix in PARSERS.suffixes)

    def load(self, name):
        return replace(PARSERS.loaded[f".{name}"], max_bytes=4)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_over_a_parsers_limit_is_not_read(suffix):
    with pytest.raises(UnreadableDocument) as caught:
        Registry(Small()).read(f"a{suffix}", sound_of(suffix))
    assert caught.value.reason == "too_large"


def test_each_parser_says_what_it_is():
    by_name = defaultdict(set)
    for parser in PARSERS.loaded.values():
        by_name[parser.name].add(parser)
        assert (parser.parse is None) != (parser.parse_parts is None), parser.name
        assert parser.version >= 1
        assert parser.max_bytes > 0
        assert parser.name == " ".join(parser.name.split()).replace(",", "")
    assert all(len(parsers) == 1 for parsers in by_name.values())


def test_no_two_parsers_claim_the_same_content():
    claims = defaultdict(set)
    for parser in PARSERS.loaded.values():
        for claim in (*parser.heads, *parser.members, *parser.streams, *filter(None, [parser.mimetype])):
            claims[claim].add(parser.name)
    assert {claim: names for claim, names in claims.items() if len(names) > 1} == {}


def test_blocks_of_a_parser_begin_with_a_place_where_it_has_places():
    for suffix, parser in PARSERS.loaded.items():
        if parser.parse is None:
            continue
        try:
            parsed = parser.parse(f"a{suffix}", sound_of(suffix))
        except (UnreadableDocument, ReaderUnavailable):
            continue
        if isinstance(parsed, ParsedDocument) and any(isinstance(block, Place) for block in parsed.blocks):
            assert any(isinstance(block, Place) for block in parsed.blocks[:2]), suffix
