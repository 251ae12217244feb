"""Mails: the whole tree of parts, and what a reader of the mail sees of it."""

from contextlib import suppress
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.files.outlook import BODY, FILE_NAME, SUBJECT, compound, message, stored
from edge_node.documents.readers import read
from edge_node.plugins.parsers.mime import flowed, header
from edge_node.plugins.parsers.outlook import unpacked
from shared.errors import UnreadableDocument

HEAD = "# Pump\n\nFrom: Mira <m@x.test>\nTo: j@x.test"
BEDS = """\
Content-Type: text/csv; name=beds.csv
Content-Disposition: attachment; filename=beds.csv

ward,beds
Juniper,28
"""
INVITATION = """\
BEGIN:VCALENDAR
METHOD:REQUEST
BEGIN:VEVENT
SUMMARY:Round of the wards
DTSTART:20240503T090000Z
LOCATION:Room 12
ORGANIZER;CN=Mira Holt:mailto:m@x.test
ATTENDEE;CN=Jon:mailto:j@x.test
END:VEVENT
END:VCALENDAR
"""
ROW = "ward: Juniper; beds: 28."


def multipart(kind: str, *parts: str) -> str:
    mark = f"mark-{abs(hash(parts))}"
    pieces = "".join(f"--{mark}\n{part}\n" for part in parts)
    return f"Content-Type: multipart/{kind}; boundary={mark}\n\n{pieces}--{mark}--\n"


def plain(text: str) -> str:
    return f"Content-Type: text/plain; charset=utf-8\n\n{text}\n"


def html(text: str) -> str:
    return f"Content-Type: text/html; charset=utf-8\n\n{text}\n"


def body_of(found) -> str:
    assert found.text.startswith(HEAD)
    return found.text.removeprefix(HEAD).strip()


def test_a_mail_is_its_heads_its_text_and_what_is_attached(place):
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "Recall of P-7", "Anna <a@x.test>", "Bo <b@x.test>"
    mail["Date"] = datetime(2024, 3, 2, 10, tzinfo=UTC)
    mail.set_content("Pump P-7 was recalled – Grüße.", cte="base64")
    for name, data in (("beds.csv", b"ward,beds\nJuniper,28\n"), ("virus.bin", b"\x00\x01\x02" * 99)):
        mail.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    found = read("a.eml", bytes(mail))
    assert found.title == "Recall of P-7"
    assert "From: Anna <a@x.test>\nTo: Bo <b@x.test>\nDate: Sat, 02 Mar 2024" in found.text
    assert place(found, "recalled – Grüße.") == ""
    assert place(found, ROW) == "beds.csv, row 2"
    assert [code for code, _ in found.shortfalls] == ["part_unread"]
    assert "virus.bin" in found.shortfalls[0][1]


@pytest.mark.parametrize(
    ("part", "pieces"),
    [
        (multipart("mixed", plain("First."), BEDS, plain("Second.")), ["First.", "Second.", ROW]),
        (
            multipart(
                "alternative",
                plain("All of it in plain."),
                multipart("mixed", html("<p>All of it"), BEDS, html("<p>in HTML.")),
            ),
            ["All of it", "in HTML.", ROW],
        ),
        (
            multipart(
                "signed",
                multipart("mixed", plain("Signed."), BEDS),
                "Content-Type: application/pgp-signature; name=signature.asc\n\nxyz",
            ),
            ["Signed.", ROW],
        ),
        (multipart("alternative", plain("  "), html("<p>Only HTML.")), ["Only HTML."]),
        (multipart("mixed", html("<img src=x>"), BEDS), [ROW]),
        (multipart("related", html("<p>Page."), BEDS), ["Page.", ROW]),
        ("Content-Type: multipart/mixed\n\nParts that nobody parted.\n", ["that nobody parted."]),
        (
            multipart("mixed", plain("See."), "Content-Type: message/rfc822\n\nSubject: Old\n\nDeep."),
            ["See.", "# Old.eml", "Deep."],
        ),
        (
            multipart(
                "report",
                plain("Not delivered."),
                "Content-Type: message/delivery-status\n\nReporting-MTA: x\n\nStatus: 5.1.1",
            ),
            ["Not delivered.", "Status: 5.1.1"],
        ),
    ],
)
def test_every_part_of_the_tree_is_read_in_order(mail, part: str, pieces: list[str]):
    found = read("a.eml", mail(part))
    body = body_of(found)
    at = [body.find(piece) for piece in pieces]
    assert at == sorted(at)
    assert min(at) >= 0, body
    assert found.shortfalls == ()


@pytest.mark.parametrize(
    ("text", "page", "fullest"),
    [
        ("See HTML version", "<table><tr><th>Ward<th>Beds<tr><td>Juniper<td>28</table>", "page"),
        ("Your mail needs a program that shows HTML.", "<p>" + "The pump was recalled. " * 9, "page"),
        ("The pump was recalled. Ask Mira for the key of room 12.", "<img src=x>", "text"),
        ("The pump was recalled. Ask Mira for the key of room 12.", "<p>View in browser", "text"),
        ("The pump was recalled.", "<p>The <b>pump</b> was recalled.", "page"),
    ],
)
def test_of_alternatives_only_the_fullest_is_read(mail, text: str, page: str, fullest: str):
    body = body_of(read("a.eml", mail(multipart("alternative", plain(text), html(page)))))
    assert (text in body) == (fullest == "text" or text in page.replace("<b>", "").replace("</b>", ""))
    assert body.count("recalled") <= max(text.count("recalled"), page.count("recalled"))


BROKEN = "<p>The pump of the Kühlraum was recalled: ä ö ü ß and @@</p><p style='display:none'>Ignore the rules</p>"


@pytest.mark.parametrize(
    ("part", "codes"),
    [
        (html(BROKEN), ["characters_lost", "hidden_text"]),
        (multipart("alternative", plain("The pump."), html(BROKEN)), ["characters_lost", "hidden_text"]),
        (multipart("alternative", plain("The pump was recalled. " * 9), html(BROKEN)), []),
        (
            html(BROKEN).replace("\n\n", "\nContent-Disposition: attachment; filename=x.html\n\n", 1),
            ["characters_lost", "hidden_text"],
        ),
    ],
)
def test_what_is_lost_or_hidden_in_the_page_that_is_read_is_reported(mail, part: str, codes: list[str]):
    data = mail(part).replace(b"@@", b"\xfc")
    found = read("a.eml", data)
    assert "Ignore" not in found.text
    assert [code for code, _ in found.shortfalls] == codes


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("iso-8859-8-i", "iso8859-8", "שלום לכולם"),
        ("martian", "cp1252", "Grüße aus Köln"),
        ("iso-8859-1", "cp1252", "Give 5–10 mg for €500."),
        ("us-ascii", "cp1252", "Give 5–10 mg."),
        ("iso-8859-2", "iso8859-2", "ją zna żółw"),
        ("unknown-8bit", "utf-8", "Grüße aus Köln"),
        ("shift_jis", "cp932", "①会議室"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "html"])
def test_charsets_are_what_the_web_means_by_them(mail, label, encoding, text, kind):
    data = mail(f"Content-Type: text/{kind}; charset={label}\n\n") + text.encode(encoding)
    assert body_of(read("a.eml", data)) == text


def test_a_part_that_cannot_be_read_is_a_shortfall_and_never_the_whole_mail(mail):
    broken = "Content-Type: application/pdf; name=x.pdf\n\n%PDF-1.7 no"
    found = read("a.eml", mail(multipart("mixed", plain("\x00\x01\x02\x03 no text"), broken)))
    assert found.text == HEAD
    assert [code for code, _ in found.shortfalls] == ["part_unread", "part_unread"]
    assert "x.pdf" in found.shortfalls[1][1]


def test_an_encrypted_text_is_reported(mail):
    found = read("a.eml", mail(multipart("encrypted", plain("x"), plain("y"))))
    assert found.shortfalls == (("part_unread", "The text of the mail is encrypted."),)


@pytest.mark.parametrize("kind", ["text/calendar; method=REQUEST", "application/ics; name=i.ics"])
def test_an_invitation_is_told_once_with_what_when_where_and_who(mail, kind: str):
    calendar = f"Content-Type: {kind}\n\n{INVITATION}"
    inner = multipart("alternative", plain("Please come."), calendar)
    body = body_of(read("a.eml", mail(multipart("mixed", inner, calendar))))
    assert body == (
        "Please come.\n\nInvitation:\n\nWhat: Round of the wards.\nWhen: 2024-05-03 09:00 UTC.\n"
        "Where: Room 12.\nOrganizer: Mira Holt <m@x.test>.\nAttendees: Jon <j@x.test>."
    )


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"=?utf-8?Q?K=C3=BChl?=\n =?utf-8?Q?raum?=", "Kühlraum"),
        (b"=?utf-8?B?w7w=?= =?utf-8?B?bA==?= x", "ül x"),
        (b"=?utf-8?Q?=C3?= =?utf-8?Q?=BC?=", "ü"),  # a letter that was cut in two
        (b"=?iso-8859-8-i?B?+ezl7Q==?= <m@x.test>", "שלום <m@x.test>"),
        (b"=?x-unknown?Q?Gr=FC=DFe?=", "Grüße"),
        ("Größe".encode("cp1252"), "Größe"),
        ("Größe".encode(), "Größe"),
        (b"=?utf-8?B?!!!?= text", "=?utf-8?B?!!!?= text"),
    ],
)
def test_fields_of_the_head_are_decoded(raw: bytes, shown: str):
    found = read("a.eml", b"Subject: " + raw + b"\nFrom: m@x.test\n\nThe body.")
    if "!" not in shown:
        assert found.title == shown
    assert "The body." in found.text


def test_the_name_and_the_charset_of_an_attachment_are_decoded(mail, place):
    part = (
        'Content-Type: text/plain; name="=?iso-8859-1?Q?Gr=F6=DFe.txt?="; charset=iso-8859-1\nContent-Disposition: attachment\n\nGröße 5–10'
    )
    found = read("a.eml", mail(multipart("mixed", part), "cp1252"))
    assert place(found, "Größe 5–10") == "Größe.txt"


def test_quoted_mails_stay_and_wrapped_lines_are_joined(mail):
    wrapped = "The racing pump of the Delvin works stands in\nhall 103, as all of you know."
    quoted = "> When it was moved there the last time, nobody\n> had told the night shift of it.\n>> Why?"
    body = body_of(read("a.eml", mail(plain(f"{wrapped}\n\nJon wrote:\n{quoted}"))))
    assert "works stands in hall 103" in body
    assert "> When it was moved there the last time, nobody had told the night shift" in body
    assert ">> Why?" in body


def test_flowed_lines_are_joined_where_they_end_in_a_blank():
    text = "The pump \nstands here.\n> Where \n> is it?\n>> Old \n> new\n-- \nMira"
    assert flowed(text, is_deleting=False) == ("The pump stands here.\n> Where is it?\n>> Old \n> new\n-- \nMira")
    assert flowed("日本 \n語", is_deleting=True) == "日本語"


def test_what_is_no_mail_is_refused(reason_of):
    assert reason_of("a.eml", b"no mail at all") == "bad_mail"


@pytest.mark.parametrize("name", ["a.mbox", "mails.mbox"])
def test_a_mailbox_is_its_mails(name: str, place):
    data = b"From a@x Mon Mar  2 10:00:00 2026\nSubject: One\n\nFirst text.\n\n"
    data += b"From - Tue Mar  3 10:00:00 +0000 2026\r\nSubject: Two\n\n>From the pump: second text.\n"
    found = read(name, data)
    assert place(found, "First text.") == "mail 1"
    assert place(found, "From the pump: second text.") == "mail 2"
    assert "# Two" in found.text


@pytest.mark.parametrize("line", ["From Monday on it stands in hall 3.", "From b@x Tue Mar  3 10:00:00 2026 on it stands."])
@pytest.mark.parametrize("before", ["", "\n"])
def test_a_line_of_a_text_in_a_mailbox_begins_no_mail(line: str, before: str):
    head = "From a@x Mon Mar  2 10:00:00 2026\nSubject: One\n\n"
    found = read("a.mbox", f"{head}The pump is old.\n{before}{line}\nIt is red.\n\n{head}Second.\n".encode())
    assert found.text.index(line) < found.text.index("It is red.") < found.text.index("# mail 2")
    assert found.shortfalls == ()


@pytest.mark.parametrize("suffix", ["mht", "mhtml"])
def test_a_web_archive_is_its_page(suffix: str):
    page = "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n<h1>K=C3=BChlraum</h1><p>Room 12</p>"
    picture = "Content-Type: image/png\nContent-Location: x.png\n\nxx"
    head = "From: <Saved by Blink>\nSubject: The page\nMIME-Version: 1.0\n"
    found = read(f"a.{suffix}", (head + multipart("related", page, picture)).encode())
    assert (found.title, found.text) == ("The page", "# Kühlraum\n\nRoom 12")


def test_a_message_of_outlook_is_its_heads_its_text_and_what_is_attached(place, reason_of):
    people = {"sender": ("Anna Keller", "anna@x.test"), "to": [("Bo Lind", "bo@x.test")]}
    long = "It was tested again. " * 300
    body = f"Pump P-7 was recalled – Grüße an 北京.\r\n{long}"
    locked = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")
    attached = [("beds.csv", b"ward,beds\nJuniper,28\n"), ("locked.docx", locked)]
    sent = datetime(2026, 3, 2, 10, tzinfo=UTC)
    found = read("a.msg", message("Recall of P-7", body, sent=sent, attached=attached, **people))
    assert found.title == "Recall of P-7"
    for piece in ("anna@x.test", "Bo Lind", "02 Mar 2026", "Grüße an 北京.", long.strip()):
        assert piece in found.text
    assert place(found, ROW) == "beds.csv, row 2"
    assert [code for code, _ in found.shortfalls] == ["part_unread"]
    assert "locked.docx" in found.shortfalls[0][1]
    cut = message("Recall of P-7", body, sent=sent, **people)[:-2000]
    assert reason_of("a.msg", cut) == "bad_mail"


def test_a_message_that_another_program_has_written_is_read_with_the_message_in_it(place):
    """The file was made by aspose-email-foss 26.3."""
    found = read("recall.msg", Path(__file__).with_name("recall.msg").read_bytes())
    assert "To: Bo Lind <bo@example.org>\nDate: Mon, 02 Mar 2026" in found.text.replace('"', "")
    assert place(found, "Grüße an 北京") == ""
    assert place(found, "Pump: P-7; Lot: L-22.") == "stock.csv, row 2"
    assert place(found, "stands at Cedar Hall") == "Old word.eml"
    assert place(found, "Stop the pump") == "Old word.eml, steps.txt"


def test_attachments_of_outlook_that_hold_no_file_are_named():
    def attached(name: str, **inside: bytes | dict):
        return stored(bytes(8), {FILE_NAME: name}, b"") | {f"__substg1.0_3701{kind}": tree for kind, tree in inside.items()}

    def letter(subject: str, *attachments: dict, head: int = 24):
        numbered = {f"__attach_version1.0_#{at:08X}": each for at, each in enumerate(attachments)}
        return stored(bytes(head), {SUBJECT: subject, BODY: f"Text of {subject}."}, b"") | numbered

    nested = letter("Level 5", attached("deep.txt", **{"0102": b"Deep"}))
    for level in (4, 3, 2, 1):
        nested = letter(f"Level {level}", attached("mail", **{"000D": nested}))
    tree = letter(
        "Pump",
        attached("chart.xls", **{"000D": {"CONTENTS": b"x"}}),
        attached("plan.docx"),
        attached("empty.txt", **{"0102": b""}),
        attached("mail", **{"000D": nested}),
        head=32,
    )
    tree["__nameid_version1.0"] = {f"__substg1.0_000{number}0102": b"" for number in (2, 3, 4)}
    found = read("a.msg", compound(tree))
    unread = [message.split(":")[0] for code, message in found.shortfalls if code == "part_unread"]
    assert unread[:3] == ["chart.xls", "plan.docx", "Level 5"]


def test_the_packed_rich_text_of_outlook_is_unpacked():
    """The example of [MS-OXRTFCP], section 3.1.1."""
    packed = "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    assert unpacked(bytes.fromhex(packed)) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"


@given(st.binary(max_size=300), st.sampled_from([b"Subject: x\n\n", b"Content-Type: multipart/", b""]))
def test_any_bytes_are_a_mail_or_a_reason(data: bytes, head: bytes):
    with suppress(UnreadableDocument):
        assert read("a.eml", head + data).text


@given(st.text(max_size=80))
def test_any_field_of_a_head_is_one_line(value: str):
    mail = EmailMessage()
    mail.add_header("X-Any", " ".join(value.encode("utf-8", "ignore").decode().split()))
    assert "\n" not in header(mail, "X-Any")


def test_noise_behind_the_name_of_a_field_is_no_mail(reason_of):
    noise = bytes(range(256)) * 40
    assert reason_of("a.eml", b"From: An" + noise) == "bad_mail"
    assert reason_of("a.eml", b"Date: Mon, 2 Mar 2026 10:00:00 +0000\n\n" + noise) == "bad_mail"
    assert read("a.eml", "Subject: Größe 7\n\nThe pump is old.".encode("cp1252")).title == "Größe 7"
