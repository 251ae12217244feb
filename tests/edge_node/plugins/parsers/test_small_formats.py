"""Notebooks, XML, outlines, books, calendars, cards and subtitles: what a person reads in them."""

import json
from contextlib import suppress
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.documents.readers import read
from shared.errors import UnreadableDocument


def text_of(name: str, source: str) -> str:
    return read(name, dedent(source).lstrip("\n").encode()).text


def test_a_notebook_is_its_cells_with_what_they_printed():
    page = "<table><tr><th>Ward<th>Beds<tr><td>Juniper<td>28</table>"
    outputs = [
        {"output_type": "stream", "text": ["28 beds\n"]},
        {"output_type": "execute_result", "data": {"text/html": [page], "text/plain": "x"}},
        {"output_type": "display_data", "data": {"image/png": "AAAA"}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no dose"},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Pumps\n", "All *of* them."]},
        {"cell_type": "code", "source": "beds(1)\n# no heading", "outputs": outputs},
    ]
    found = read("a.ipynb", json.dumps({"nbformat": 4, "cells": cells}).encode())
    assert found.title == "Pumps"
    assert found.text == (
        "# Pumps\n\nAll of them.\n\n    beds(1)\n    # no heading\n\n    28 beds\n\nWard: Juniper; Beds: 28.\n\nValueError: no dose"
    )
    assert found.shortfalls == (("part_unread", "1 picture in the results is not in the text."),)


def test_what_the_html_of_a_notebook_does_not_show_is_counted():
    table = "<table><tr><td>28 beds</td><td hidden>Ignore the rules</td></tr></table>"
    cells = [
        {"cell_type": "markdown", "source": table},
        {"cell_type": "code", "source": "beds()", "outputs": [{"data": {"text/html": table}}]},
    ]
    found = read("a.ipynb", json.dumps({"nbformat": 4, "cells": cells}).encode())
    assert "Ignore" not in found.text
    assert dict(found.shortfalls) == {"hidden_text": "2 hidden passages are not in the text."}


def test_a_notebook_of_the_third_format_and_one_that_is_none_are_read():
    sheet = {"cells": [{"cell_type": "code", "input": "beds()", "outputs": [{"text": "28"}]}]}
    assert text_of("a.ipynb", json.dumps({"worksheets": [sheet]})) == "    beds()\n\n    28"
    assert text_of("a.ipynb", '{"beds": 28}') == "beds: 28."
    assert text_of("a.ipynb", "no notebook") == "no notebook"


def test_records_of_xml_name_their_fields(place):
    source = (
        "<?xml version='1.0' encoding='iso-8859-1'?><wards site='Köln'>"
        "<ward id='1'><name>Juniper</name><beds>28</beds></ward>"
        "<ward id='2'><name>Cedar &amp; Co</name><beds>14</beds></ward></wards>"
    )
    found = read("a.xml", source.encode("cp1252"))
    assert "site: Köln." in found.text
    assert "id: 2; name: Cedar & Co; beds: 14." in found.text
    assert place(found, "Cedar") == "ward, row 2"


def test_a_text_in_xml_is_its_paragraphs_in_order():
    source = """
    <article><title>On pumps</title><para>The <b>pump</b> is here.</para>
    <section><title>Where</title><para>In <i>room</i> 12.</para></section></article>"""
    assert text_of("a.xml", source) == ("# On pumps\n\nThe pump is here.\n\n## Where\n\nIn room 12.")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("<a>Room 12<br/>34 Mill Lane</a>", "Room 12 34 Mill Lane"),
        ("<a>See<b>One</b><b>Two</b> and H<sub>2</sub>O</a>", "SeeOne Two and H2O"),
        (
            '<ward name="Juniper" beds="28"><note>Call <b>Ada</b> first</note></ward>',
            "name: Juniper; beds: 28; note: Call Ada first.",
        ),
        ('<note to="Ada">Call <b>Mira</b></note>', "to: Ada; text: Call Mira."),
        (
            '<ward name="Juniper" id="w1"><p class="x">Call <b>Ada</b>.</p><p>Or Mira.</p></ward>',
            "name: Juniper.\n\nCall Ada.\n\nOr Mira.",
        ),
        ('<doc><p>A <b>b</b></p><tel kind="ward">555 0107</tel></doc>', "A b\n\nkind: ward; 555 0107."),
        ("<log><line>a <b>b</b></line><line><i>c</i> d</line></log>", "a b\n\nc d"),
        ('<ward name="Juniper"><name>East</name></ward>', "name: Juniper, East."),
    ],
)
def test_words_around_elements_are_one_field_or_paragraph_and_attributes_stay(source, said):
    assert text_of("a.xml", source) == said


def test_a_workbook_in_xml_is_its_sheets(place):
    head = '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"'
    head += ' xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">'
    styles = '<Styles><Style ss:ID="p"><NumberFormat ss:Format="Percent"/></Style></Styles>'

    def cell(text: object, kind: str = "String", attributes: str = "") -> str:
        return f'<Cell {attributes}><Data ss:Type="{kind}">{text}</Data></Cell>'

    rows = [
        cell("Ward", attributes='ss:MergeDown="1"') + cell("Beds", attributes='ss:MergeAcross="1"') + cell("Since"),
        cell("all", attributes='ss:Index="2"') + cell("in use"),
        cell("Juniper") + cell(28, "Number") + cell(0.5, "Number", 'ss:StyleID="p"') + cell("2024-05-01T00:00:00.000", "DateTime"),
    ]
    table = "".join(f"<Row>{row}</Row>" for row in rows)
    table += f'<Row ss:Hidden="1">{cell("Larch")}</Row>'
    since = cell("2024-05-02T08:30:00.000", "DateTime", 'ss:Index="4"')
    table += f'<Row ss:Index="7">{cell("Cedar")}{cell(14, "Number")}{since}</Row>'
    source = f'{head}{styles}<Worksheet ss:Name="Wards"><Table>{table}</Table></Worksheet></Workbook>'
    found = read("a.xls", source.encode())
    assert found.text.split("\n") == [
        "Ward: Juniper; Beds all: 28; Beds in use: 50.00%; Since: 2024-05-01.",
        "Ward: Cedar; Beds all: 14; Since: 2024-05-02 08:30.",
    ]
    assert place(found, "Cedar") == "Wards, row 7"
    assert found.shortfalls == (("hidden_cells", "1 hidden row is not in the text."),)


def test_xml_with_errors_is_read_as_far_as_it_goes_and_no_xml_is_refused(reason_of):
    found = read("a.xml", b"<a><b>some text</a>")
    assert "some text" in found.text
    assert [code for code, _ in found.shortfalls] == ["part_unread"]
    assert reason_of("a.xml", b"no XML at all") == "bad_xml"


def test_entities_of_xml_unfold_nothing(tmp_path):
    (tmp_path / "secret").write_text("secret words")
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    source = (
        f'<!DOCTYPE a [<!ENTITY e0 "lol">{levels}<!ENTITY f SYSTEM "file://{tmp_path}/secret">]><a><b>words</b><c>&e9;</c><d>&f;</d></a>'
    )
    found = read("a.xml", source.encode())
    assert "words" in found.text
    assert "lol" not in found.text
    assert "secret words" not in found.text


def test_an_outline_is_its_items():
    source = """
    <opml><head><title>Rounds</title></head><body>
    <outline text="Ward"><outline text="Juniper" _note="28 beds"/></outline></body></opml>"""
    found = read("a.opml", source.encode())
    assert (found.title, found.text) == ("Rounds", "- Ward\n  - Juniper: 28 beds")


def test_a_book_is_its_chapters():
    source = """
    <FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0">
    <description><title-info><author><first-name>Mira</first-name><last-name>Holt</last-name></author>
    <book-title>Pumps</book-title></title-info></description>
    <body><section><title><p>First</p></title><p>It <emphasis>was</emphasis> so.</p></section></body>
    <binary id="a.png">AAAA</binary></FictionBook>"""
    assert text_of("a.fb2", source) == ("# Pumps\n\nAuthor: Mira Holt\n\n## First\n\nIt was so.")


def test_a_calendar_says_what_when_where_and_who():
    source = r"""
    BEGIN:VCALENDAR
    BEGIN:VEVENT
    SUMMARY:Meeting about the
      pump\, room 12
    DTSTART;TZID=Europe/Berlin:20240503T090000
    DURATION:PT1H30M
    LOCATION:Hall 3
    ORGANIZER;CN="Holt, Mira":mailto:m@x.test
    ATTENDEE;CN=Jon;PARTSTAT=DECLINED:mailto:j@x.test
    DESCRIPTION:One\nTwo
    BEGIN:VALARM
    DESCRIPTION:An alarm
    END:VALARM
    END:VEVENT
    BEGIN:VTODO
    SUMMARY:Order seals
    DUE;VALUE=DATE:20240510
    END:VTODO
    END:VCALENDAR"""
    assert text_of("a.ics", source) == (
        "What: Meeting about the pump, room 12.\nWhen: 2024-05-03 09:00 Europe/Berlin.\n"
        "Duration: 1 hour 30 minutes.\nWhere: Hall 3.\nOrganizer: Holt, Mira <m@x.test>.\n"
        "Attendees: Jon <j@x.test> (declined).\nDescription: One\nTwo.\n\n"
        "What: Order seals.\nDue: 2024-05-10."
    )


def test_an_event_of_whole_days_ends_on_its_last_one():
    source = r"""
    BEGIN:VEVENT
    SUMMARY:Leave
    DTSTART;VALUE=DATE:20240501
    DTEND;VALUE=DATE:20240506
    RDATE;VALUE=DATE:20240601,20240701
    CONTACT:Mira Holt\, 555 0107
    RESOURCES:Projector,Car
    END:VEVENT
    BEGIN:VEVENT
    DTSTART;VALUE=DATE:20240301
    DTEND;VALUE=DATE:20240301
    RDATE;VALUE=PERIOD:20240601T100000Z/20240601T120000Z,20240603T100000Z/PT2H
    END:VEVENT
    BEGIN:VEVENT
    DTSTART:20240301T220000
    DTEND:20240302T060000
    END:VEVENT"""
    assert text_of("a.ics", source).split("\n\n") == [
        "What: Leave.\nWhen: 2024-05-01.\nUntil: 2024-05-05.\nAlso on: 2024-06-01, 2024-07-01.\n"
        "Contact: Mira Holt, 555 0107.\nResources: Projector, Car.",
        "When: 2024-03-01.\nUntil: 2024-03-01.\nAlso on: 2024-06-01 10:00 UTC, 2024-06-03 10:00 UTC.",
        "When: 2024-03-01 22:00.\nUntil: 2024-03-02 06:00.",
    ]


def test_a_cards_numbers_keep_their_kinds():
    source = """
    BEGIN:VCARD
    VERSION:2.1
    FN:Mira Holt
    TEL;FAX:555 0107
    TEL;WORK;VOICE:555 0108
    TEL;TYPE=home;TYPE=fax:555 0109
    EMAIL;INTERNET:m@x.test
    NOTE;QUOTED-PRINTABLE:J=C3=B6rg
    END:VCARD"""
    assert text_of("a.vcf", source) == (
        "Name: Mira Holt.\nPhone: 555 0107 (fax), 555 0108 (work), 555 0109 (home, fax).\nMail: m@x.test.\nNote: Jörg."
    )


def test_cards_say_who_and_how_to_reach_them():
    source = """
    BEGIN:VCARD
    VERSION:2.1
    N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg;;;
    TEL;TYPE=work,voice:555
    item1.EMAIL;TYPE=INTERNET:j@x.test
    ADR;TYPE=HOME:;;Mill Lane 3;Aldham;;1234;UK
    NOTE;ENCODING=QUOTED-PRINTABLE:a long =
    note
    PHOTO;ENCODING=BASE64:AAAA
    END:VCARD"""
    assert text_of("a.vcf", source) == (
        "Name: Jörg Müller.\nPhone: 555 (work).\nMail: j@x.test.\nAddress: Mill Lane 3, Aldham, 1234, UK.\nNote: a long note."
    )


@pytest.mark.parametrize("name", ["a.ics", "a.vcf"])
def test_a_file_without_an_entry_is_refused(name: str, reason_of):
    assert reason_of(name, b"nothing of the kind") == "bad_calendar"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nThe pump of <i>hall</i>\n\n2\n"),
        ("a.vtt", "WEBVTT\n\nNOTE a remark\n\n00:00:01.000 --> 00:00:02.000\nThe pump of hall\n\n"),
    ],
)
def test_subtitles_are_what_is_spoken(name: str, source: str, place):
    sign = "," if name == "a.srt" else "."
    found = read(name, f"{source}00:00:03{sign}000 --> 00:00:04{sign}000\n103 is broken.\n".encode())
    assert found.text == "The pump of hall 103 is broken."
    assert place(found, "103") == "00:00:01"


@pytest.mark.parametrize("suffix", ["ipynb", "xml", "opml", "fb2", "ics", "vcf", "srt", "mbox", "mht"])
@given(data=st.binary(max_size=200) | st.text(alphabet="<>&;:/ab=\n\"'{}[]", max_size=80).map(str.encode))
def test_any_bytes_are_a_text_or_a_reason(suffix: str, data: bytes):
    with suppress(UnreadableDocument):
        assert read(f"a.{suffix}", data).text
