"""Whether each name and code in the cells of tables is one entity: ``python -m benchmarks.files.table_cells``.

12 made tables of five rows in English and 4 in German, each as CSV and as a workbook, read and cut as documents are and given to the
extractor without a language model. Counted by column: cells that are an entity, whole; pieces of such cells that are another one; and
dates, numbers, yes and no, and remarks that are one by mistake. The words of names come from lists here that the product does not know.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import openpyxl
import typer

from benchmarks.machine import code, machine
from edge_node.documents.chunking import split
from edge_node.documents.readers import read
from edge_node.extraction.names import normalise
from edge_node.extraction.nlp import SpacyExtractor
from shared.models.build import build_tokenizer
from shared.models.settings import ModelSettings
from shared.records import Document, DocumentId

SEED = 43
ROWS = 5
TABLES = {"en": 12, "de": 4}
CHUNK_TOKENS, CHUNK_OVERLAP = 200, 30
NAMES = ("device", "lot", "maker", "ward", "person")
OTHERS = ("day", "count", "weight", "checked", "remark")
HEADERS = {
    "en": ("Pump", "Lot", "Maker", "Ward", "Technician", "Recalled", "Pieces", "Weight", "Checked", "Remark"),
    "de": ("Pumpe", "Charge", "Hersteller", "Station", "Techniker", "Rückruf am", "Stückzahl", "Gewicht", "Geprüft", "Bemerkung"),
}
CELLS = {
    "en": {
        "device": ("Pump P-{n}", "infusion pump IP-{n}", "Tarn Pump {n}", "MR-22{n}", "Bobbin Float Gauge"),
        "lot": ("L-{n}", "XK44{n}", "LOT-{n}-B", "7C{n}/02", "22{n}-AB"),
        "maker": ("Alder & Finch Ltd", "Curlew Gauge Works", "Novabell", "Osmere Medical Supply", "House of Brandt", "3M Salter Inc."),
        "ward": ("Juniper Ward", "St. Anne Ward", "Ward {n}", "ICU East", "Theatre B", "Lantern Building"),
        "person": ("Anna Keller", "Dr. Tom Reed", "M. Okafor", "Siobhan O'Neill", "Li Wei"),
        "day": ("2024-03-{d}", "{d} March 2024", "March {d}, 2024", "0{m}/{d}/2024", "Q{q} 2024"),
        "count": ("{n}", "1,{n}00", "{n} pieces", "about {n}"),
        "weight": ("{n}.5 kg", "{n} mg/ml", "{n} kW", "{n} %"),
        "checked": ("yes", "No", "n/a", "Yes"),
        "remark": ("runs again after the repair", "Needs a new battery", "replaced by the workshop", "Still waiting for parts, see mail"),
    },
    "de": {
        "device": ("Pumpe P-{n}", "Infusionspumpe IP-{n}", "MR-22{n}", "Waage Modell {n}"),
        "lot": ("L-{n}", "XK44{n}", "CH-{n}-B", "7C{n}/02"),
        "maker": ("Müller KG", "Nordmed GmbH", "Werk am See", "Gebrüder Ostertag", "Novabell"),
        "ward": ("Station Birke", "Haus der Pflege", "OP {n}", "Klinik am Park", "Flügel Nord"),
        "person": ("Anna Schulz", "Dr. Karl Obermayer", "Jürgen Vogelsang", "Ümit Yıldız"),
        "day": ("2024-03-{d}", "{d}. März 2024", "{d}.0{m}.2024", "KW {d}"),
        "count": ("{n}", "{n} Stück", "{n} Betten"),
        "weight": ("{n},5 kg", "{n} mg/ml", "{n} kW", "{n} %"),
        "checked": ("ja", "Nein", "keine", "Ja"),
        "remark": ("läuft wieder nach der Reparatur", "Braucht eine neue Batterie", "wird im Mai ersetzt", "Teile fehlen noch, siehe Mail"),
    },
}


def table(language: str, rng: random.Random) -> list[tuple[str, ...]]:
    """Rows of a table: its names and codes, and two other columns, which the first row names."""
    kinds = (*NAMES, *rng.sample(OTHERS, 2))
    header = tuple(HEADERS[language][(*NAMES, *OTHERS).index(kind)] for kind in kinds)
    return [header, *(tuple(_cell(language, kind, rng) for kind in kinds) for _ in range(ROWS))]


def kinds_of(language: str, header: Sequence[str]) -> list[str]:
    """What the columns of a table hold."""
    return [(*NAMES, *OTHERS)[HEADERS[language].index(name)] for name in header]


def files(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, bytes]]:
    """A table as CSV and as a workbook."""
    lines, target, book = io.StringIO(), io.BytesIO(), openpyxl.Workbook()
    csv.writer(lines).writerows(rows)
    for row in rows:
        book.active.append(list(row))
    book.save(target)
    yield from (("table.csv", lines.getvalue().encode()), ("table.xlsx", target.getvalue()))


def counted(language: str, rows: Sequence[Sequence[str]], found: set[str]) -> Counter[str]:
    """By kind of cell how many there are, and how many are entities: ``found``, by key; of names also how many pieces of them are."""
    counts = Counter[str]()
    kinds = kinds_of(language, rows[0])
    cells = {(kind, cell) for row in rows[1:] for kind, cell in zip(kinds, row, strict=True)}
    names = {normalise(bare(cell)) for kind, cell in cells if kind in NAMES}
    for kind, cell in cells:
        counts[kind] += 1
        counts[f"{kind} found"] += bool({normalise(cell), normalise(bare(cell))} & found)
    counts["pieces"] = sum(any(f" {key} " in f" {name} " for name in names) for key in found - names)
    return counts


def bare(name: str) -> str:
    """A name without the title of a doctor: it is the same person's."""
    return name.removeprefix("Dr. ")


def measured() -> dict[str, Any]:
    """The counts of each language and kind of file."""
    rng, tokenizer, extractor = random.Random(SEED), build_tokenizer(ModelSettings()), SpacyExtractor()
    counts: dict[str, Counter[str]] = {}
    for language, number in TABLES.items():
        for rows in (table(language, rng) for _ in range(number)):
            for name, raw in files(rows):
                text = read(name, raw)
                document = Document(DocumentId("d"), name, text.title, text.text, (), text.places)
                chunks = split(document, tokenizer, size=CHUNK_TOKENS, overlap=CHUNK_OVERLAP)
                found = {mention.key for mention in extractor.extract(chunks).entities}
                counts.setdefault(f"{language} {name}", Counter()).update(counted(language, rows, found))
    return {key: dict(sorted(each.items())) for key, each in counts.items()}


def main() -> None:
    """Print the counts, and the shares of names and of other cells that are entities, as JSON."""
    figures = measured()

    def share(kinds: Sequence[str]) -> str:
        found, there = (sum(each.get(f"{kind}{end}", 0) for each in figures.values() for kind in kinds) for end in (" found", ""))
        return f"{found} of {there}"

    typer.echo(
        json.dumps({"code": code(), "machine": machine(), "names": share(NAMES), "others": share(OTHERS), "figures": figures}, indent=1)
    )


def _cell(language: str, kind: str, rng: random.Random) -> str:
    form = rng.choice(CELLS[language][kind])
    return form.format(n=rng.randrange(11, 99), d=rng.randrange(10, 29), m=rng.randrange(1, 10), q=rng.randrange(1, 5))


if __name__ == "__main__":
    typer.run(main)
