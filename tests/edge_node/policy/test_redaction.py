import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban, luhn

from edge_node.policy.identifiers import FINDERS
from edge_node.policy.redaction import MASK, Redactor, blotted
from edge_node.policy.rules import Redact
from tests.support.planting import KINDS, planted, traces

PLANTED = 1_000


@pytest.mark.parametrize("kind", KINDS)
def test_of_1000_planted_identifiers_none_is_left(kind):
    rng, redactor = random.Random(7), Redactor.of(Redact(identifiers=[kind]))
    left = []
    for _ in range(PLANTED):
        code = planted(kind, rng)
        told = redactor.mask(f"The ward wrote {code} on the form, and went on.")
        if any(trace in told for trace in traces(kind, code)):
            left.append(code)
    assert left == []


@given(st.text(max_size=200), st.lists(st.text(min_size=1, max_size=20), max_size=4))
def test_a_masked_text_is_as_long_as_before(text, names):
    redactor = Redactor.of(Redact(identifiers=list(KINDS), names=names))
    assert len(redactor.mask(text)) == len(text)


def test_ordinary_figures_stay():
    text = "In 1999-2003, 12,000 of 3.14 million were sold on 2021-03-05 at 10:30; see pages 123-145 and pump P-204."
    assert Redactor.of(Redact(identifiers=list(KINDS))).mask(text) == text


def test_names_are_masked_in_any_case_with_or_without_accents_and_by_their_last_word():
    redactor = Redactor.of(Redact(names=["Acme Works"]), ["Anna Müller"])
    told = redactor.mask("ANNA MULLER's file; Müller, Muller and anna-müller of ACME works, not Works, Mullerton or Anna")
    assert told == "[name]█████'s file; ██████, ██████ and [name]█████ of [name]████, not Works, Mullerton or Anna"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The head nurse is Nurse.", "The head nurse is █████."),
        ("who is nurse?", "who is █████?"),
        ("WHO IS NURSE?", "WHO IS █████?"),
        ("Ask Bea Nurse on Rowan Ward, a ward", "Ask [name]███ on Rowan Ward, a ward"),
    ],
)
def test_a_last_word_that_is_a_common_word_too_is_masked_as_a_name_only(text, told):
    assert Redactor.of(Redact(), ["Bea Nurse", "Juniper Ward"], common=["ward"]).mask(text) == told


def test_a_name_as_long_as_its_label_is_seen_to_be_masked():
    told = Redactor.of(Redact(names=["Mortar"])).mask("Mortar")
    assert (told, blotted(told)) == ("██████", True)


def test_an_identifier_that_the_edge_of_a_passage_cuts_is_masked_in_it():
    context = "Call 212-555-0123 now."
    assert Redactor.of(Redact(identifiers=["phone"])).mask_within(context, 0, 9) == "Call ████"


def test_null_control_without_what_is_around_it_a_cut_identifier_stays():
    assert Redactor.of(Redact(identifiers=["phone"])).mask("Call 212-") == "Call 212-"


def test_a_policy_that_masks_nothing_is_idle():
    assert (Redactor.of(Redact()).idle, Redactor.of(Redact(names=["Ann"])).idle) == (True, False)


def test_what_is_only_a_mask_is_seen_as_such():
    assert (blotted(MASK * 3), blotted("[name]██"), blotted("[name]█ ward"), blotted("")) == (True, True, False, False)


CARD, IBAN = "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00"


@pytest.mark.parametrize(
    "code",
    [
        "4111 1111\n1111 1111", "4111  1111\t1111 1111", "4111\u200b1111\u200b1111\u200b1111", "4111\u00ad1111\u00ad1111\u00ad1111",
        "".join(chr(0xFF10 + int(digit)) for digit in "4111111111111111"), "4111 **1111** 1111 1111", "4111\u22121111\u22121111\u22121111",
        "DE89 3704 0044\n0532 0130 00", "".join(chr(ord(letter) + 0xFEE0) for letter in "DE89370400440532013000"),
        "MRN-48\u200b3920", "MRN_483920", "MRN:\n\n\n\n\n483920", "\u0661\u0662\u0663-\u0660\u0664-\u0665\u0666\u0667\u0668",
        "ann@exam\u00adple.org", "ann@\nexample.org", "ann\uff20example.org", "ann\\@example.org", "ann&#64;example.org",
        "+49\u200b30\u200b901820", "+49 30\n901820", "123-45-\n6789",
    ],
)  # fmt: skip
def test_an_identifier_is_found_as_a_pdf_or_a_page_writes_it(code):
    told = Redactor.of(Redact(identifiers=list(KINDS))).mask(f"It is {code} now.")
    assert (MASK in told, len(told)) == (True, len(code) + 11)
    assert [character for character in told[6:-5] if character.isdigit()] == []


@pytest.mark.parametrize(
    "name",
    [
        "Florence Nightingale", "Nightingale, Florence", "Flo\u200brence Nightingale", "Flo\u00adrence Night\u00adingale",
        "Florence Nightin-\ngale", "Florence M. Nightingale", "florence_nightingale.md", "FlorenceNightingale.pdf",
        "Flore\u0301nce Nightingale",
    ],
)  # fmt: skip
def test_a_name_is_found_as_a_pdf_or_a_file_name_writes_it(name):
    told = Redactor.of(Redact(names=["Florence Nightingale"])).mask(f"see {name}")
    assert told.startswith("see [name]██")
    assert "gale" not in told.lower()


def test_null_control_an_initial_alone_makes_no_other_name():
    redactor = Redactor.of(Redact(names=["Florence Nightingale"]))
    assert [text for text in ("Florence M. Lee", "M. Nightingale", "Florence in the Nightingale") if redactor.mask(text) != text] == []


def test_an_own_pattern_is_searched_in_the_text_as_it_stands_too():
    assert Redactor.of(Redact(patterns=["a\u0308b\u2014c"])).mask("a\u0308b\u2014c") == MASK * 5


@pytest.mark.parametrize(
    "written",
    [
        "Quentin von Obermayer",
        "Quentin van der Obermayer",
        "Q. Obermayer",
        "Q. X. Obermayer",
        "Quentin<br>Obermayer",
        "Quentin <b>Obermayer</b>",
        "Quеntin Оbеrmауеr",
        "Ｑｕｅｎｔｉｎ Ｏｂｅｒｍａｙｅｒ",
        "Obermayer, Quentin",
        "Quentin 0bermayer",
        "Quentin Obermayers",
        "Obermayers",
        "Quentin <b>Ober</b>mayer",
        'Quentin<span class="b">Obermayer</span>',
        "Quentin%20Obermayer",
        "Quentin%20Oberm%61yer",
        "Quentin \u0555bermayer",
    ],
)
def test_a_known_name_is_masked_however_it_is_written(written):
    text = f"then {written} came."
    masked = Redactor.of(Redact(types=["person"]), ["Quentin Obermayer"]).mask(text)
    assert len(masked) == len(text)
    assert [letter for letter in re.sub(r"<[^>]*>", "", masked[5:-6]) if letter.isalpha() and letter not in "[name]"] == []
    assert masked.startswith("then ")
    assert masked.endswith(" came.")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Jørgen Sørensen", "Jorgen Sorensen"),
        ("Łukasz Wałęsa", "Lukasz Walesa"),
        ("Ayşe Yıldız", "Ayse Yildiz"),
        ("Đorđe Đoković", "Dorde Dokovic"),
        ("Jorgen Sorensen", "JØRGEN SØRENSEN"),
        ("Ludwig van Beethoven", "Ludwig Beethoven"),
        ("Ludwig van Beethoven", "Beethoven, Ludwig"),
        ("Maria de la Cruz", "Maria del Cruz"),
    ],
)
def test_a_name_is_masked_without_its_strokes_and_with_other_particles(name, written):
    assert Redactor.of(Redact(names=[name])).mask(f"then {written} came.") == f"then {'[name]'.ljust(len(written), MASK)} came."


def test_ordinary_text_beside_known_names_and_numbers_stays():
    redactor = Redactor.of(
        Redact(identifiers=["card", "iban", "ssn"], names=["La Paz", "Bo Ross"], types=["person"]), ["Ann Marks", "Bea Lee"]
    )
    texts = [
        "It marks the end, and lees settle; a mark of Lees, by Paz.",
        "Years 1999, 2000, 2001, 2002 and 2001, 2002, 2003, 2004; lists 12, 13, 14, 15, 16, 17, 18, 19, 20.",
        "| 123 | 45 | 6789 |",
        "|1|2|3|4|5|6|7|8|9|10|11|12|13|",
        "4,111,111,111,111,111 people",
        "<b>Bold</b> type, <i>12</i>34, 100%25 of 5%20",
        "DE89, 3704 rooms",
    ]
    assert [text for text in texts if redactor.mask(text) != text] == []


@pytest.mark.parametrize("text", ["R. Obermayer came.", "Quentin and Obermayer came.", "Plan q, Obermayer."])
def test_another_name_with_the_same_last_word_stays(text):
    assert Redactor.of(Redact(types=["concept"]), ["Quentin Obermayer"], {"obermayer"}).mask(text) == text


@pytest.mark.parametrize("gap", [*" -_./|,", " - ", " | ", ", "])
def test_a_card_number_is_masked_whatever_stands_between_its_groups(gap):
    assert "1111" not in Redactor.of(Redact(identifiers=["card"])).mask("Paid by " + gap.join(["4111", "1111", "1111", "1111"]) + " today.")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("iban", "IBANDE89370400440532013000"),
        ("iban", "DE89 - 3704 - 0044 - 0532 - 0130 - 00"),
        ("iban", "DE89|3704|0044|0532|0130|00"),
        ("ssn", "123 - 45 - 6789"),
        ("card", "3782 - 822463 - 10005"),
    ],
)
def test_a_number_is_masked_with_wide_gaps_and_behind_its_label(kind, code):
    told = Redactor.of(Redact(identifiers=[kind])).mask(f"It is {code} now.")
    assert [character for character in told if character.isdigit()] == []


@pytest.mark.parametrize(
    ("kind", "run", "most"),
    [("card", "1_", 20_000), ("card", "1 ", 20_000), ("iban", "AB12_", 8_000), ("iban", "DE89 ", 8_000)],
)
def test_a_run_of_groups_costs_one_check_at_most_for_each_group(kind, run, most, monkeypatch):
    asked = []
    for module, name in ((iban, "validate"), (luhn, "checksum")):
        monkeypatch.setattr(module, name, counted(getattr(module, name), asked))
    Redactor.of(Redact(identifiers=[kind])).mask(run * most)
    assert len(asked) <= most


def counted(function, asked):
    def asking(*arguments, **named):
        asked.append(arguments)
        return function(*arguments, **named)

    return asking


@given(
    st.lists(st.sampled_from([*"0124_ -.ax", "12", "DE89", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "gb82WEST12345698765432"]))
)
def test_codes_with_check_digits_are_those_of_which_each_prefix_is_checked(pieces):
    text = "".join(pieces)
    for kind, first, least, most, right in (
        ("card", "[0-9]", 13, 19, luhn.is_valid),
        ("iban", "[A-Za-z]{2}[0-9]{2}", 15, 34, iban.is_valid),
    ):
        assert list(FINDERS[kind](text)) == list(by_prefixes(text, first, least, most, right))


def by_prefixes(text, first, least, most, right):
    """Where the longest right code from each place stands: every prefix of a run is asked."""
    character, gap = ("[0-9]", "[ ._/-]") if first == "[0-9]" else ("[A-Za-z0-9]", "(?: ?[|,-] ?|[ ._/])")
    done = 0
    for begin in re.finditer(rf"(?<![^\W_]){first}", text):
        run = re.match(rf"{character}(?:{gap}?{character}){{0,{most - 1}}}", text[begin.start() :])
        ends = [place + 1 for place, letter in enumerate(run[0]) if letter.isalnum()] if run and begin.start() >= done else []
        for end in reversed(ends[least - 1 :]):
            if right("".join(filter(str.isalnum, run[0][:end]))):
                done = begin.start() + end
                yield begin.start(), done
                break


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("诸葛慧敏", "护士为诸葛慧敏更换了泵。"),
        ("김철수", "환자 김철수는 월요일에 입원했다."),
        ("สมชาย", "ผู้ป่วยชื่อสมชายเข้ารับการรักษา"),
        ("Иван Петров", "Пациент Иван Петров поступил."),
    ],
)
def test_a_listed_name_is_masked_where_no_blanks_stand_around_it(name, text):
    said = Redactor.of(Redact(names=[name])).mask(text)
    assert (name in said, len(said)) == (False, len(text))
    assert Redactor.of(Redact(names=["Ann Lee"])).mask(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "病历号7634279，",
        "更换了泵MRN-7634279并签字",
        "Aktenzeichen 7634279",
        "dossier n° 7634279",
        "Expediente: 7634279",
        "НОМЕР КАРТЫ 7634279",
        "карта № 7634279",
    ],
)
def test_a_number_of_a_record_is_masked_behind_the_words_of_other_languages(text):
    assert "7634279" not in Redactor.of(Redact(identifiers=["record"])).mask(text)


@pytest.mark.parametrize(("identifier", "text"), [("card", "卡号4111111111111111已停用"), ("iban", "账户DE89370400440532013000已关闭")])
def test_a_number_with_check_digits_is_masked_between_letters_without_blanks(identifier, text):
    assert not any(map(str.isdigit, Redactor.of(Redact(identifiers=[identifier])).mask(text)))


def test_a_question_in_a_language_whose_names_nobody_finds_loses_all_of_them():
    redactor = Redactor.of(Redact(types=["person"]))
    assert "Brzozowicz" not in redactor.mask_question("Jaką pompę dostał w poniedziałek Wiktor Brzozowicz?")
    for question in ("Which pump did Caldwell Bank get on Monday?", "Welche Pumpe bekam die Station am Montag?"):
        assert redactor.mask_question(question) == question
    assert redactor.mask_question("Which pump did Viktor Berg get on Monday?") == "Which pump did [name]█████ get on Monday?"
