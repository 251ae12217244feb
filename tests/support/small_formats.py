"""A sound small file of each format that is text or an archive, made by the standard library alone."""

import gzip
import io
import json
import tarfile
from email.message import EmailMessage
from xml.etree import ElementTree

from tests.support.office_files import open_file

NOTE = b"The pump is old.\n"


def _packed() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, content in {"wards/note.txt": NOTE, "stock.csv": b"Pump,Lot\nP-7,L-22\n"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def _mail(subject: str, text: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = "Anna <anna@example.org>"
    mail["Subject"] = subject
    mail.set_content(text, cte="quoted-printable")
    return mail


def _mailbox() -> bytes:
    mails = _mail("Pump", "The pump is old – Kühlraum."), _mail("Valve", "The valve is new.")
    return b"".join(b"From anna@example.org Mon Mar  2 10:00:00 2026\n" + mail.as_bytes() + b"\n" for mail in mails)


def _web_archive() -> bytes:
    page = EmailMessage()
    page["Subject"] = "The pump"
    page.set_content("<h1>Pump</h1><p>It stands in the Kühlraum.</p>", subtype="html", cte="quoted-printable")
    page.make_related(boundary="part")
    return page.as_bytes()


def _notebook() -> bytes:
    cells = [
        {"cell_type": "markdown", "source": ["# Pumps\n", "The pump is old."]},
        {"cell_type": "code", "source": "beds()", "outputs": [{"output_type": "stream", "text": ["28 beds\n"]}]},
    ]
    return json.dumps({"nbformat": 4, "cells": cells}).encode()


def _xml(name: str, *children: ElementTree.Element, text: str = "", **attributes: str) -> ElementTree.Element:
    element = ElementTree.Element(name, attributes)
    element.text = text or None
    element.extend(children)
    return element


def _records() -> bytes:
    wards = [_xml("ward", _xml("name", text=name), _xml("pump", text=pump)) for name, pump in (("Juniper", "P-7"), ("Cedar", "P-8"))]
    return ElementTree.tostring(_xml("wards", *wards), "utf-8", xml_declaration=True)


def _outline() -> bytes:
    pump = ElementTree.Element("outline", {"text": "Pump P-7", "_note": "28 beds"})
    ward = ElementTree.Element("outline", {"text": "Juniper"})
    ward.append(pump)
    head = _xml("head", _xml("title", text="Rounds"))
    return ElementTree.tostring(_xml("opml", head, _xml("body", ward), version="2.0"))


def _book() -> bytes:
    title = _xml("description", _xml("title-info", _xml("book-title", text="Pumps")))
    section = _xml("section", _xml("title", _xml("p", text="First")), _xml("p", text="The pump is old."))
    return ElementTree.tostring(_xml("FictionBook", title, _xml("body", section), xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"))


CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
SUMMARY:Look at the pump
DTSTART:20260302T100000
LOCATION:Cedar Hall
END:VEVENT
END:VCALENDAR
"""
CARD = """BEGIN:VCARD
VERSION:3.0
FN:Mira Holt
TEL;TYPE=work:555 0107
NOTE:She knows the pump.
END:VCARD
"""
SUBTITLES = """WEBVTT

00:00:01.000 --> 00:00:02.000
The pump of <i>Cedar Hall</i>

00:00:03.000 --> 00:00:04.000
is old.
"""


def small_files() -> dict[str, bytes]:
    """By suffix."""
    return {
        ".fb2": _book(),
        ".gz": gzip.compress(NOTE, mtime=0),
        ".ics": CALENDAR.replace("\n", "\r\n").encode(),
        ".ipynb": _notebook(),
        ".mbox": _mailbox(),
        ".mhtml": _web_archive(),
        ".odg": open_file("graphics", "<draw:page><draw:custom-shape><text:p>The pump is old.</text:p></draw:custom-shape></draw:page>"),
        ".opml": _outline(),
        ".srt": SUBTITLES.removeprefix("WEBVTT\n\n").replace(".000", ",000").encode(),
        ".tar": _packed(),
        ".tgz": gzip.compress(_packed(), mtime=0),
        ".vcf": CARD.replace("\n", "\r\n").encode(),
        ".vtt": SUBTITLES.encode(),
        ".xml": _records(),
    }
