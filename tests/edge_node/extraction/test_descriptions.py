"""What a model says of an entity stands in its description where the passage says the same words, and nowhere else."""

import pytest

from edge_node.extraction.descriptions import ModelDescriber, descriptions_said, told_of, with_descriptions
from edge_node.extraction.extractor import Extractor
from edge_node.extraction.model_extraction import ModelExtractor
from edge_node.extraction.nlp import Extraction
from edge_node.records import Cost, silent
from shared.errors import ModelReplyError, ModelTimeout
from shared.limits import RetryBudget
from shared.models.fake import ScriptedGenerator
from shared.ports import Reply
from shared.records import Chunk, ChunkId, DocumentId, EntityMention
from tests.support.running_edge import running_edge

TEXT = (
    "Ada Fennick (1850 – 1921) was an engineer of Leeds. She bought Merle Quarry from Tarrow Estates in 1890. "
    "Otto Brand never visited Merle Quarry. It made slate until its railway failed."
)
CHUNK = Chunk(ChunkId("d:0"), DocumentId("d"), 0, TEXT, 0, len(TEXT), 40)
NAMES = ("Ada Fennick", "Leeds", "Merle Quarry", "Tarrow Estates", "Otto Brand")
RELATION = "Ada Fennick | bought | Merle Quarry"
BOUGHT = "Ada Fennick bought Merle Quarry from Tarrow Estates in 1890."


def said(*lines):
    return descriptions_said("\n".join(lines), CHUNK, NAMES)


@pytest.mark.parametrize(
    ("line", "description"),
    [
        (f"Merle Quarry | {BOUGHT}", BOUGHT),
        (f"- the Merle Quarry | **{BOUGHT}**", BOUGHT),
        ("Leeds | Ada Fennick was an engineer of Leeds.", "Ada Fennick was an engineer of Leeds."),
        ("Leeds | Ada Fennick (1850 – 1921) was an engineer of Leeds.", "Ada Fennick (1850 – 1921) was an engineer of Leeds."),
        (f"Ada Fennick | {BOUGHT} Ada Fennick was rich.", BOUGHT),
        (f"Ada Fennick | {BOUGHT} {BOUGHT} {BOUGHT}", BOUGHT),
        (
            "Ada Fennick | Ada Fennick was an engineer of Leeds. She bought Merle Quarry from Tarrow Estates in 1890.",
            f"Ada Fennick was an engineer of Leeds. {BOUGHT}",
        ),
        ("Ada Fennick | Ada Fennick bought Merle Quarry from Tarrow Estates.", "Ada Fennick bought Merle Quarry from Tarrow Estates."),
    ],
)
def test_a_sentence_in_the_words_of_the_passage_counts(line, description):
    assert list(said(line).values()) == [description]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Here are the descriptions:",
        "Ada Fennick",
        f"Ada Fennick | person | {BOUGHT}",
        f"Bo Orr | {BOUGHT}",  # no entity that was given
        "Ada Fennick | Ada Fennick",
        "Leeds | Leeds is a city in Yorkshire.",  # not said here
        f"Leeds | {BOUGHT}",  # does not name it
        "Ada Fennick | She bought Merle Quarry from Tarrow Estates in 1890.",
        "Merle Quarry | Merle Quarry bought Tarrow Estates in 1890.",  # another order
        "Tarrow Estates | Tarrow Estates bought Merle Quarry in 1890.",
        "Leeds | Leeds was an engineer.",  # another name in the place of hers
        "Otto Brand | Otto Brand visited Merle Quarry.",  # denied
        "Merle Quarry | Merle Quarry made slate until its railway failed.",  # the sentence before begins with another name
        "Ada Fennick | Ada Fennick was an engineer.",  # cut where it may say less
        "I cannot describe these entities.",
    ],
)
def test_any_other_line_leaves_the_sentence_of_the_mention(line):
    assert said(line) == {}


def test_a_sentence_that_makes_a_description_too_long_is_left_out():
    long = f"Ada Fennick owned {', '.join(f'mill {n}' for n in range(50))}."
    chunk = Chunk(ChunkId("d:0"), DocumentId("d"), 0, f"{long} She slept well.", 0, 500, 150)
    assert descriptions_said(f"Ada Fennick | She slept well. Ada Fennick slept well. {long}", chunk, NAMES) == {
        "ada fennick": "Ada Fennick slept well."
    }


def test_of_several_lines_of_a_name_the_first_that_counts_is_taken():
    lines = "Ada Fennick | Ada Fennick was a queen.", f"Ada Fennick | {BOUGHT}", "Ada Fennick | Ada Fennick was an engineer of Leeds."
    assert said(*lines) == {"ada fennick": BOUGHT}


def test_what_brackets_take_back_is_not_said_without_them():
    doubted = "Ada Fennick (if the register is right) was an engineer of Leeds."
    chunk = Chunk(ChunkId("d:0"), DocumentId("d"), 0, doubted, 0, len(doubted), 14)
    assert descriptions_said("Leeds | Ada Fennick was an engineer of Leeds.", chunk, NAMES) == {}


@pytest.mark.parametrize(
    "before",
    [
        "Ada Fennick's brother was old.",
        "Ada of Leeds's brother was old.",
        "Ada Fennick and Otto Brand met.",
        "Ada Fennick, Otto Brand and Bo Orr met.",
        "Old Ada Fennick slept.",
        "Adas sleep.",
    ],
)
def test_a_pronoun_stands_for_a_name_only_behind_a_sentence_that_begins_with_it_alone(before):
    names = ["Ada", "Ada Fennick"]
    assert told_of(names, f"{before} He left.") == f"{before} He left."


def test_a_pronoun_stands_for_the_name_that_the_sentence_before_begins_with():
    names = ["Ada", "Ada Fennick"]
    assert told_of(names, "Ada Fennick (1850) slept. She left.") == "Ada Fennick (1850) slept. Ada Fennick left."
    assert told_of(names, "Ada Fennick, an engineer, slept. She left.") == "Ada Fennick, an engineer, slept. Ada Fennick left."


# ---------------------------------------------------------------- through the extractor


class Scripted:
    """Answers with the given texts in turn; a ModelTimeout when none is left."""

    name = "scripted"

    def __init__(self, *texts):
        self.texts, self.prompts = list(texts), []

    async def generate(self, prompt, *, deadline_s, document, usable=bool):
        self.prompts.append(prompt)
        said = self.texts.pop(0) if self.texts else ModelTimeout(deadline_s=deadline_s)
        if isinstance(said, Exception):
            raise said
        return Reply((said,), tokens_in=100, tokens_out=10, truncated=(False,))


class Spacy:
    """Finds two names."""

    def extract(self, chunks, on_read):
        names = ("Ada Fennick", "Merle Quarry")
        mentions = (EntityMention(name.lower(), name, "concept", "The sentence.", one.chunk_id) for one in chunks for name in names)
        return Extraction(tuple(mentions), ())


async def extracted(model, *, with_descriptions=True, chunks=(CHUNK,), reserve=10):
    describer = ModelDescriber(model, deadline_s=7) if with_descriptions else None
    reader, retries = ModelExtractor(model, Spacy()), RetryBudget(share=0.0, reserve=reserve)
    return await Extractor(Spacy(), reader, 1.0, retries, describer=describer, parallel=1).extract(chunks, silent)


def told(found):
    return {mention.name: mention.description for mention in found.entities}


async def test_a_passage_that_the_model_reads_is_described_in_one_further_call_that_counts():
    model = Scripted(RELATION, f"Merle Quarry | {BOUGHT}\nAda Fennick | Ada Fennick was a queen.")
    found = await extracted(model)
    assert told(found) == {"Ada Fennick": "The sentence.", "Merle Quarry": BOUGHT}
    assert (found.cost, found.shortfalls) == (Cost(2, 200, 20), ())
    asked = model.prompts[1].messages[-1].content
    assert f"Entities: Ada Fennick; Merle Quarry\nPassage: {TEXT}" in asked


def test_what_has_no_word_more_than_the_sentence_leaves_it():
    sentence = "Ada Fennick (1850 – 1921) was an engineer of Leeds."
    found = Extraction((EntityMention("leed", "Leeds", "place", sentence, CHUNK.chunk_id),), ())
    assert with_descriptions(found, {"leed": "Ada Fennick was an engineer of Leeds."}) == found
    assert with_descriptions(found, {"leed": BOUGHT}).entities[0].description == BOUGHT


async def test_without_the_setting_nothing_further_is_asked():
    model = Scripted(RELATION)
    found = await extracted(model, with_descriptions=False)
    assert (set(told(found).values()), found.cost, len(model.prompts)) == ({"The sentence."}, Cost(1, 100, 10), 1)


@pytest.mark.parametrize("reply", ["", "I am not able to say.", f"{BOUGHT} " * 9, "Merle Quarry | " * 40])
async def test_a_reply_of_no_use_leaves_the_sentences_fails_nothing_and_is_not_asked_for_again(reply):
    model = Scripted(RELATION, reply)
    found = await extracted(model)
    assert (set(told(found).values()), found.cost, found.shortfalls) == ({"The sentence."}, Cost(2, 200, 20), ())


async def test_an_answer_that_is_no_reply_counts_as_a_call_and_fails_nothing():
    found = await extracted(Scripted(RELATION, ModelReplyError("not the format")))
    assert (set(told(found).values()), found.cost, found.shortfalls) == ({"The sentence."}, Cost(2, 100, 10), ())


async def test_a_passage_whose_relations_fail_is_not_described():
    found = await extracted(model := Scripted("I cannot.", "I cannot."))
    assert (len(model.prompts), len(found.shortfalls)) == (2, 1)


async def test_a_model_that_is_late_ends_the_document_with_the_chunk():
    with pytest.raises(ModelTimeout) as caught:
        await extracted(Scripted(RELATION))
    assert caught.value.chunk_id == CHUNK.chunk_id


@pytest.mark.parametrize(("way", "description", "calls"), [("model", BOUGHT, 2), ("joined", TEXT.split(". ")[1] + ".", 1)])
async def test_an_edge_keeps_what_its_model_says_where_it_is_set_and_an_estimate_counts_the_call(tmp_path, way, description, calls):
    model = ScriptedGenerator(lambda prompt: [f"Merle Quarry | {BOUGHT}" if is_ours(prompt) else "NONE"] * prompt.n)
    async with running_edge(tmp_path, generator=model, strategy="dgrag", extraction_share=1.0, descriptions=way) as edge:
        estimate = (await edge.http.post("/v1/estimate", json={"name": "a.txt", "text": TEXT})).json()
        await edge.add("a.txt", TEXT)
        rows = edge.node.documents.database.rows("SELECT description FROM entity_mentions WHERE key = 'merle quarry'")
    assert [row["description"] for row in rows] == [description]
    assert (estimate["model_calls"], len(model.prompts), sum(map(is_ours, model.prompts))) == (calls, calls, calls - 1)


def is_ours(prompt):
    return prompt.messages[-1].content.endswith("Descriptions:")
