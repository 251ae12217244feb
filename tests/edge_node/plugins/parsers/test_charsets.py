"""Which characters bytes stand for."""

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edge_node.documents.readers import read
from edge_node.plugins.parsers.charsets import decoded
from shared.errors import UnreadableDocument

GERMAN = "Der Kühlraum der Gärtnerei\nist größer als der Heizkeller.\nMüller übergab die Schlüssel.\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_a_byte_order_mark_goes_before_any_label(mark: bytes, encoding: str):
    text = "Größe 5 µm 漢字"
    assert decoded("a.txt", mark + text.encode(encoding), "iso-8859-1").text == text


@pytest.mark.parametrize("label", ["iso-8859-1", "latin1", "ascii", "US-ASCII", "windows-1252"])
def test_labels_of_latin_1_mean_windows_1252_as_in_every_browser(label: str):
    assert decoded("a.txt", b"Give 5\x9610 mg for \x80500.", label).text == "Give 5–10 mg for €500."


@pytest.mark.parametrize(
    ("text", "label", "encoding"),
    [
        ("שלום לכולם", "iso-8859-8-i", "iso8859-8"),
        ("①会議室～", "Shift_JIS", "cp932"),
        ("병원은", "ks_c_5601-1987", "cp949"),
        ("ją zna żółw", "iso-8859-2", "iso8859-2"),
        ("会議室", "iso-2022-jp", "iso2022-jp"),
        ("병원은", "iso-2022-kr", "iso2022_kr"),  # the web refuses it, old mails are in it
        ("医院", "hz-gb-2312", "hz"),
        ("Größe", "cp850", "cp850"),  # a label that the web does not know and Python does
    ],
)
def test_a_label_is_believed(text: str, label: str, encoding: str):
    assert decoded("a.txt", text.encode(encoding), label).text == text


@pytest.mark.parametrize("label", ["", "martian", "utf-16", "iso-8859-1", "shift_jis", "\udcff"])
def test_what_is_valid_utf8_is_utf8_whatever_its_label(label: str):
    assert decoded("a.html", GERMAN.encode(), label).text == GERMAN


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (GERMAN.encode() + b"Bad byte: \xff here.", GERMAN + "Bad byte: \ufffd here."),
        (GERMAN.encode() + "ü".encode()[:1], GERMAN + "\ufffd"),
        ("ü".encode()[1:] + GERMAN.encode(), "\ufffd" + GERMAN),
        (b"caf\xe2\x80", "caf\ufffd"),
        ("Ein Kühlraum.\nDie Tür: ".encode() + b"\xff.", "Ein Kühlraum.\nDie Tür: \ufffd."),
        ("5–10 mg for 5 € ".encode() + b"\xff.", "5–10 mg for 5 € \ufffd."),
    ],
)
def test_a_bad_byte_in_utf8_is_one_lost_character_and_reported(data: bytes, text: str):
    found = decoded("a.txt", data)
    assert (found.text, found.encoding) == (text, "utf-8")
    assert found.shortfalls == (("characters_lost", "1 character is not readable."),)


def test_a_sign_of_a_lost_character_in_the_file_itself_is_no_shortfall():
    assert decoded("a.txt", "once lost: \ufffd".encode()).lost == 0


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", [GERMAN, "Привет, мир. Как дела?\n", "病院は開いています。\n次の行。\n"])
def test_wide_letters_need_no_mark(text: str, encoding: str):
    assert decoded("a.txt", text.encode(encoding)).text == text


@pytest.mark.parametrize(
    ("text", "encodings"),
    [
        ("Kühlraum", "cp1252 cp850 mac_roman"),
        (GERMAN, "cp1252 cp850 mac_roman"),
        ("Preis: 500 €, fällig", "cp1252 mac_roman iso8859_15"),
        ("L’été dernier, le médecin a reçu un élève.", "cp1252 mac_roman"),
        ("¿Dónde está el niño? Mañana irá a la estación.", "cp1252 cp850 mac_roman"),
        ("Sjuksköterskan på Åsö är från Örebro.", "cp1252 cp850 mac_roman"),
        ("Það er gott veður í Reykjavík, sagði ráðherrann.", "cp1252"),
        ("Hastanın adı Ayşe Yılmaz. Doğum günü 3 Mayıs.", "cp1254 cp857"),
        ("Zażółć gęślą jaźń. Łódź jest miastem.", "cp1250 iso8859_2 cp852"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250 iso8859_2 cp852"),
        ("Больница открыта каждый день.", "cp1251 koi8_r cp866 mac_cyrillic iso8859_5"),
        ("План", "cp1251 koi8_r cp866 cp855"),
        ("Лікарня відкрита щодня, її адреса відома.", "cp1251 koi8_u"),
        ("Το νοσοκομείο είναι ανοιχτό κάθε μέρα.", "cp1253 iso8859_7 cp737"),
        ("בית החולים פתוח כל יום", "cp1255"),
        ("المستشفى مفتوح كل يوم", "cp1256"),
        ("โรงพยาบาลเปิดทุกวัน", "cp874"),
        ("病院は毎日開いています。", "cp932 euc_jp iso2022_jp"),
        ("医院每天开放，水泵在十二号房间。", "gb18030"),
        ("醫院每天開放，水泵在十二號房間。", "big5"),
        ("병원은 매일 열려 있습니다.", "cp949 iso2022_kr"),
        ("5–10", "cp1252"),
        ("┌──────┐\n│Größe │\n└──────┘", "cp850 cp437"),
    ],
)
def test_old_encodings_are_recognised_by_the_words_that_they_give(text: str, encodings: str):
    for encoding in encodings.split():
        assert decoded("a.txt", text.encode(encoding)).text == text, encoding


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 4, b"\x7fELF" + b"\x00" * 64, b"text with a few \x00\x01\x02\x03 in it"],
)
def test_binary_data_is_not_text(data: bytes):
    with pytest.raises(UnreadableDocument) as caught:
        decoded("a.bin", data)
    assert caught.value.reason == "not_text"


def test_fields_that_are_filled_up_with_nuls_are_text_and_stay_apart():
    found = read("a.txt", b"Juniper Ward\0\0of Aldham: 28\x0014 beds and more")
    assert found.text == "Juniper Ward of Aldham: 28 14 beds and more"


@pytest.mark.parametrize("line", ["dose 5 mg", "Ward Juniper has 28 beds.", "Ward,Beds\nJuniper,28\n"])
def test_ascii_that_ends_in_nuls_is_no_utf_16(line: str):
    text = f"{line}\0" * 40
    assert decoded("a.txt", text.encode()).text == text
    assert decoded("a.txt", (line * 40).encode("utf-16-le")).text == line * 40


NO_LABELS = ["idna", "punycode", "UNDEFINED", "unicode_escape", "raw-unicode-escape"]


@pytest.mark.parametrize("label", [*NO_LABELS, "x-user-defined", "replacement"])
def test_what_python_calls_an_encoding_and_no_file_has_is_no_label(label: str):
    assert decoded("a.txt", b"Ward\\u0020A \x96 5 mg", label).text == "Ward\\u0020A – 5 mg"


@given(st.binary(max_size=200), st.text(max_size=12))
@example(b"", "UNDEFINED")
def test_any_bytes_and_any_label_give_characters_or_a_reason(data: bytes, label: str):
    try:
        assert isinstance(decoded("a", data, label).text, str)
    except UnreadableDocument:
        assert data


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1))
def test_utf8_comes_back_as_it_was(text: str):
    assert decoded("a", text.encode()).text == text.removeprefix("\ufeff")
