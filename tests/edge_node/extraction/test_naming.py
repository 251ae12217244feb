"""Where no pack reads, the model names; what it makes up, and what it says in another form, is dropped without an error."""

import pytest

from edge_node.documents.read_by import next_step
from edge_node.extraction import nlp
from edge_node.extraction.extractor import Extractor
from edge_node.extraction.model_extraction import ModelExtractor
from edge_node.extraction.nlp import SpacyExtractor
from edge_node.records import silent
from shared.errors import ModelReplyError
from shared.limits import RetryBudget
from shared.ports import Reply
from shared.records import Chunk, ChunkId, DocumentId

RUSSIAN = "Антон Чехов родился в Таганроге в 1860 году и учился в Москве. Насос P-7 отозвала фирма «Нордмед», а продал банк «Берег»."
GOOD = """person | Антон Чехов
place | Таганроге
organization | «Нордмед»
organization | банк «Берег»
thing | P-7
персона | Чехов
place | Таганрог
thing | фирма
Антон Чехов | родился в | Таганроге
«Нордмед» | отозвала | P-7
Антон Чехов | жил в | Ялта
Антон Чехов"""


class Scripted:
    name = "scripted"

    def __init__(self, *texts):
        self.texts = list(texts)
        self.asked = []

    async def generate(self, prompt, *, deadline_s, usable, document):
        self.asked.append((prompt, document))
        said = self.texts.pop(0) if self.texts else "NONE"
        if isinstance(said, Exception):
            raise said
        return Reply((said,), tokens_in=100, tokens_out=10, truncated=(False,))


async def extracted(model, *texts, share=1.0):
    chunks = [Chunk(ChunkId(f"d:{n}"), DocumentId("d"), n, text, 0, len(text), 30) for n, text in enumerate(texts)]
    packs = SpacyExtractor()
    extractor = Extractor(packs, ModelExtractor(model, packs), share, RetryBudget(share=0.0, reserve=1), parallel=1)
    return await extractor.extract(chunks, silent)


async def test_the_model_names_and_relates_what_stands_letter_by_letter_in_a_passage_that_no_pack_reads():
    found = await extracted(model := Scripted(GOOD), RUSSIAN)
    assert [(one.name, one.type) for one in found.entities] == [
        ("Антон Чехов", "person"),
        ("Таганроге", "place"),
        ("Нордмед", "organization"),
        ("банк «Берег»", "organization"),
        ("P-7", "concept"),
    ]
    assert [(one.source, one.keywords, one.target) for one in found.relations] == [
        ("антон чехов", ("родился в",), "таганроге"),
        ("нордмед", ("отозвала",), "p 7"),
    ]
    assert (found.entities[2].description, found.cost.calls) == ("Насос P-7 отозвала фирма «Нордмед», а продал банк «Берег».", 1)
    assert [(one.language, one.pack) for one in found.read_by] == [("ru", "the model")]
    assert found.shortfalls == ()
    assert (RUSSIAN in model.asked[0][0].messages[-1].content, model.asked[0][1]) == (True, "d")


@pytest.mark.parametrize("said", ["thing | Насос P-7\nперсона | Чехов", "I cannot say."])
async def test_the_cells_of_a_table_are_found_whatever_the_model_says(said):
    row = "Изделие: Насос P-7; Партия: L-22; Примечание: снова работает после ремонта; Проверил: Антон Чехов."
    found = await extracted(Scripted(said), row)
    assert {one.name for one in found.entities} == {"Насос P-7", "L-22", "Антон Чехов"}
    assert ("насос p 7", "партия", "l 22") in {(one.source, one.keywords[0], one.target) for one in found.relations}


@pytest.mark.parametrize("said", ["", "I cannot say.", "person: Антон Чехов", "person | Лев Толстой", ModelReplyError("not the format")])
async def test_a_reply_of_no_use_names_nothing_and_is_no_error_however_many_there_are(said):
    found = await extracted(Scripted(*[said] * 9), *[RUSSIAN] * 4)
    assert (found.entities, found.relations) == ((), ())
    assert {(one.language, one.pack) for one in found.read_by} == {("ru", "")}
    assert [one.code for one in found.shortfalls] == ["unread_language", "low_yield"]


async def test_a_model_that_names_without_relating_is_asked_for_relations_and_invents_no_name_by_them():
    model = Scripted("person | Антон Чехов\nplace | Таганроге", "Антон Чехов | родился в | Таганроге\nАнтон Чехов | жил в | Ялте")
    found = await extracted(model, RUSSIAN)
    assert [one.name for one in found.entities] == ["Антон Чехов", "Таганроге"]
    assert [(one.source, one.keywords, one.target) for one in found.relations] == [("антон чехов", ("родился в",), "таганроге")]
    assert found.cost.calls == 2


async def test_a_passage_of_which_the_model_says_that_it_has_no_names_is_read():
    found = await extracted(Scripted("NONE"), RUSSIAN)
    assert ([one.pack for one in found.read_by], found.entities) == (["the model"], ())


async def test_without_a_share_the_model_is_not_asked_and_the_next_step_names_the_setting():
    found = await extracted(model := Scripted(GOOD), RUSSIAN, share=0.0)
    assert (model.asked, found.entities) == ([], ())
    assert "DGRAG_EDGE_EXTRACTION_SHARE=1" in found.shortfalls[0].message
    assert "DGRAG_EDGE_EXTRACTION_SHARE=1" in next_step("ru", "")


async def test_a_known_language_without_its_extra_is_named_by_the_model_too(monkeypatch):
    monkeypatch.setattr(nlp, "installed_pack", lambda language: "spacy" if language == "en" else "")
    german = "Die Patientin Annelie Kohlhase wurde am Dienstag von der Nordmed GmbH behandelt."
    found = await extracted(Scripted("person | Annelie Kohlhase\norganization | Nordmed GmbH"), german)
    assert [one.name for one in found.entities] == ["Annelie Kohlhase", "Nordmed GmbH"]
    assert [(one.language, one.pack) for one in found.read_by] == [("de", "the model")]
