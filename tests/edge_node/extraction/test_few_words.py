"""The language of sheets, mails, notes and lists: of few words, never English for want of better."""

import io
import tomllib
from email.message import EmailMessage
from pathlib import Path

import openpyxl
import pytest

from edge_node.documents.readers import read
from edge_node.extraction.languages import reading_languages

SHORT = tomllib.loads((Path(__file__).parents[3] / "benchmarks/datasets/short_texts.toml").read_text(encoding="utf-8"))
PLAIN = "Die Pumpe auf Station Birke wurde am Montag von der Technik geprüft, und seitdem läuft sie wieder ohne jede Störung."


@pytest.mark.parametrize("part", SHORT)
def test_each_short_document_is_read_in_its_language(part):
    told = [(language, reading_languages([text])[0], text) for language, texts in SHORT[part].items() for text in texts]
    assert [one for one in told if one[0] != one[1]] == []


def test_a_german_sheet_of_names_and_dates_is_german():
    book = openpyxl.Workbook()
    for row in (("Pumpe", "Charge", "Rückruf am"), ("P-7", "L-22", "02.03.2024"), ("John Miller", "L-31", "11.04.2024")):
        book.active.append(row)
    book.save(file := io.BytesIO())
    assert reading_languages([read("rueckruf.xlsx", file.getvalue()).text]) == ["de"]


def test_a_short_german_mail_is_german_though_its_heads_are_english():
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Anna Lee <anna@example.com>", "John Miller <john@example.com>", "Termin"
    mail["Date"] = "Fri, 01 Mar 2024 16:40:00 +0100"
    mail.set_content("Was ist mit dem Angebot von Siemens?\n\nGruß\nAnna\n")
    assert reading_languages([read("termin.eml", mail.as_bytes()).text]) == ["de"]


def test_a_short_passage_is_in_the_language_of_its_document_and_an_english_sentence_stays_english():
    assert reading_languages([PLAIN, "Anna Schulz, P-7", "The pump was checked by the technician."]) == ["de", "de", "en"]


@pytest.mark.parametrize(("usual", "language"), [("", "en"), ("de", "de")])
def test_a_document_of_codes_is_in_the_language_of_most_of_the_site(usual, language):
    assert reading_languages(["P-7; L-22; 40 mg"], lambda: usual) == [language]


def test_short_english_documents_with_german_names_stay_english_at_a_german_site():
    told = ["Pump P-7 was checked by Jürgen Vogelsang.", "Meeting with Heike Brandt on Friday", "Customer: Albers Feinkost AG; Paid: yes."]
    assert reading_languages([told[0]], lambda: "de") == ["en"]
    assert [reading_languages([text], lambda: "de")[0] for text in told] == ["en"] * 3
