"""The attack itself, with attackers that know everything, or nothing."""

import pytest

from benchmarks.memories.restoration import Item, Told, attacked, shared_items
from shared.models.fake import ScriptedGenerator

DOCUMENTS = [
    ("mill.txt", "Osric Vale founded Harrow Mill in 1962. Osric Vale lived in Leeds."),
    ("bridge.txt", "Maria Holt designed the Tarrow Bridge. Maria Holt studied in Vienna."),
]


def item(name):
    told = Told("What did X build?", "", "X")
    return Item(name, "person", {"raw": told, "masked": told, "hint": told})


@pytest.mark.parametrize(("reply", "share"), [("Ann Lee.", 0.5), ("nobody", 0.0)])
async def test_the_share_of_rightly_restored_names_is_told_for_each_way_with_its_interval(reply, share):
    found = await attacked([item("Ann Lee"), item("Bo Orr")], ScriptedGenerator(lambda prompt: reply))
    assert {way: row["restored"] for way, row in found.items()} == dict.fromkeys(("raw", "masked", "hint"), share)
    assert all(row["interval"][0] <= row["restored"] <= row["interval"][1] for row in found.values())


async def test_the_prompt_shows_what_was_shared_and_which_place_is_meant():
    model = ScriptedGenerator(lambda prompt: "Ann Lee")
    await attacked([Item("Ann Lee", "person", {way: Told(f"Who is {way}?", "", way) for way in ("raw", "masked", "hint")})], model)
    assert [way in prompt.messages[-1].content for way, prompt in zip(("raw", "masked", "hint"), model.prompts, strict=True)] == [True] * 3


async def test_hints_of_real_documents_keep_no_name_that_was_drawn(tmp_path):
    items = await shared_items(tmp_path, DOCUMENTS, 2.0)
    assert {item.name.removeprefix("the ") for item in items} >= {"Osric Vale", "Maria Holt"}
    for item in items:
        assert item.name in item.ways["raw"].question
        assert item.name not in item.ways["masked"].question
        assert item.name not in item.ways["hint"].question
        assert item.ways["hint"].shown in item.ways["hint"].question
