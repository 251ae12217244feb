import pytest

from edge_node.extraction.model_extraction import ModelExtractor, RelationLine, parse_relations, with_relations
from edge_node.extraction.nlp import Extraction
from shared.errors import ModelReplyError, ModelTimeout
from shared.ports import Reply
from shared.records import Chunk, ChunkId, DocumentId, EntityMention, RelationMention

CHUNK = Chunk(ChunkId("d:0"), DocumentId("d"), 0, "Rowan Ward keeps the Marlow Pump in the Blue Store.", 0, 51, 10)
WARD, PUMP = (EntityMention(name.lower(), name, "concept", "Text.", ChunkId("d:0")) for name in ("Rowan Ward", "Marlow Pump"))
BASE = Extraction((WARD, PUMP), (RelationMention("rowan ward", "marlow pump", "Text.", ("keep",), 1.0, ChunkId("d:0")),))
EMPTY = Extraction((), ())


class Scripted:
    """Answers with the given texts in turn; a ModelTimeout when none is left."""

    name = "scripted"

    def __init__(self, *texts, truncated=False):
        self.texts = list(texts)
        self.truncated = truncated
        self.prompts = []

    async def generate(self, prompt, *, deadline_s, usable, document):
        self.prompts.append(prompt)
        self.usable, self.document = usable, document
        if not self.texts:
            raise ModelTimeout(deadline_s=deadline_s)
        text = self.texts.pop(0)
        if isinstance(text, Exception):
            raise text
        return Reply((text,), tokens_in=100, tokens_out=10, truncated=(self.truncated,))


class NoSpacy:
    """Finds what it was given."""

    def __init__(self, extraction):
        self.extraction = extraction
        self.calls = 0

    def extract(self, chunks):
        self.calls += 1
        return self.extraction


def extractor(generator, *, base=BASE, **options):
    return ModelExtractor(generator, NoSpacy(base), **options)


def words(result):
    return [(relation.source, relation.keywords[0], relation.target) for relation in result.extraction.relations]


async def test_the_model_relates_what_spacy_found():
    result = await extractor(Scripted("Rowan Ward | Stores | Marlow Pump\nrubbish")).extract(CHUNK)
    assert words(result) == [("rowan ward", "stores", "marlow pump")]
    assert (result.calls, result.tokens_in, result.tokens_out, result.unread_lines) == (1, 100, 10, 1)


async def test_a_new_name_becomes_an_entity_of_the_chunk():
    result = await extractor(Scripted("Marlow Pump | kept in | Blue Store")).extract(CHUNK)
    assert [mention.key for mention in result.extraction.entities] == ["rowan ward", "marlow pump", "blue store"]
    assert result.extraction.entities[2].description == "Marlow Pump kept in Blue Store."


async def test_a_name_that_stands_nowhere_in_the_passage_joins_no_graph():
    result = await extractor(Scripted("Rowan Ward | opened | Tarrow Estates\nRowan Ward | owns | Blue Stores")).extract(CHUNK)
    assert words(result) == [("rowan ward", "owns", "blue store"), ("rowan ward", "keep", "marlow pump")]
    assert (result.unread_lines, result.failure) == (1, None)


@pytest.mark.parametrize(
    ("name", "passage"),
    [
        ("Blue Factory", "Ann runs the Blue Factories."),
        ("São Paulo", "Ann lives in Sao Paulo."),
        ("Bayerische Staatsoper", "Ann singt in der Bayerischen Staatsoper."),
        ("Marlow Mill", "Ann likes the Marlow Mill's roof."),
        ("杭州泵站", "Ann在杭州泵站工作。"),
    ],
)
def test_a_name_that_stands_in_another_form_is_taken(name, passage):
    assert [item.object for item in parse_relations(f"Ann | knows | {name}", ["Ann"], passage=passage).items] == [name]


@pytest.mark.parametrize("said", ["I am not able to say.", "They are both in the ward.", '{"answer": 42}', "   "])
async def test_a_reply_without_a_relation_leaves_spacys_and_says_why(said):
    result = await extractor(Scripted(said)).extract(CHUNK)
    assert result.extraction == BASE
    assert isinstance(result.failure, ModelReplyError)
    assert (result.calls, result.tokens_in) == (1, 100)


async def test_an_answer_that_is_no_reply_leaves_spacys_and_counts_as_a_call():
    error = ModelReplyError("not the format")
    result = await extractor(Scripted(error)).extract(CHUNK)
    assert (result.extraction, result.failure, result.calls, result.tokens_in) == (BASE, error, 1, 0)


async def test_a_bad_follow_up_leaves_what_is_known():
    result = await extractor(Scripted("Rowan Ward | stores | Marlow Pump", "I am not able to say."), gleanings=3).extract(CHUNK)
    assert words(result) == [("rowan ward", "stores", "marlow pump")]
    assert (result.failure, result.calls) == (None, 2)


async def test_a_reply_that_says_none_is_no_failure():
    result = await extractor(Scripted("NONE")).extract(CHUNK)
    assert (result.extraction, result.failure) == (BASE, None)


async def test_the_generator_learns_what_is_usable_and_for_which_document():
    generator = Scripted("NONE")
    await extractor(generator).extract(CHUNK)
    assert generator.document == "d"
    assert [generator.usable(text) for text in ("Rowan Ward | stores | Marlow Pump", "none.", "", "Rowan Ward stores it.")] == [
        True,
        True,
        False,
        False,
    ]


async def test_a_temperature_draws_another_sample_of_the_same_question():
    generator = Scripted("NONE", "NONE")
    await extractor(generator).extract(CHUNK)
    await extractor(generator).extract(CHUNK, temperature=0.3)
    first, second = generator.prompts
    assert (first.temperature, first.seed, second.temperature) == (0.0, None, 0.3)
    assert second.seed is not None
    assert first.messages == second.messages


async def test_spacys_relations_of_other_pairs_stay():
    result = await extractor(Scripted("Marlow Pump | kept in | Blue Store")).extract(CHUNK)
    assert words(result) == [("marlow pump", "kept in", "blue store"), ("rowan ward", "keep", "marlow pump")]


async def test_a_chunk_without_names_costs_no_call():
    generator = Scripted()
    result = await extractor(generator, base=EMPTY).extract(CHUNK)
    assert (result.calls, result.extraction, generator.prompts) == (0, EMPTY, [])


async def test_what_is_known_of_the_document_is_not_read_again():
    spacy = NoSpacy(EMPTY)
    result = await ModelExtractor(Scripted("Rowan Ward | stores | Marlow Pump"), spacy).extract(CHUNK, BASE)
    assert spacy.calls == 0
    assert words(result) == [("rowan ward", "stores", "marlow pump")]


async def test_gleaning_goes_on_while_it_brings_something_new():
    first, second = "Rowan Ward | stores | Marlow Pump", "Marlow Pump | kept in | Blue Store"
    generator = Scripted(first, second, first, "never asked")
    result = await extractor(generator, gleanings=5).extract(CHUNK)
    assert len(words(result)) == 2
    assert result.unread_lines == 0
    assert result.calls == 3
    assert first in generator.prompts[1].messages[-2].content


async def test_without_gleanings_there_is_one_call():
    assert (await extractor(Scripted("Rowan Ward | stores | Marlow Pump")).extract(CHUNK)).calls == 1


async def test_nothing_found_at_first_is_not_gleaned():
    assert (await extractor(Scripted("NONE"), gleanings=3).extract(CHUNK)).calls == 1


async def test_the_last_line_of_a_reply_that_was_cut_is_not_trusted():
    generator = Scripted("Rowan Ward | stores | Marlow Pump\nMarlow Pump | kept in | Blu", truncated=True)
    result = await extractor(generator).extract(CHUNK)
    assert words(result) == [("rowan ward", "stores", "marlow pump")]


async def test_the_json_form_asks_for_json_and_reads_it():
    generator = Scripted('{"relations": [{"source": "Rowan Ward", "relation": "stores", "target": "Marlow Pump"}]}')
    result = await extractor(generator, form="json").extract(CHUNK)
    assert words(result) == [("rowan ward", "stores", "marlow pump")]
    assert generator.prompts[0].schema is not None


async def test_a_model_that_is_late_is_an_error_of_the_caller():
    with pytest.raises(ModelTimeout, match=r"7\.0 s"):
        await extractor(Scripted(), deadline_s=7).extract(CHUNK)


def test_each_end_of_a_model_relation_is_an_entity_of_the_chunk():
    extraction = with_relations(BASE, [RelationLine("A Thing", "holds", "Rowan Ward"), RelationLine("B Thing", "holds", "C Thing")], CHUNK)
    keys = {mention.key for mention in extraction.entities}
    assert all({relation.source, relation.target} <= keys for relation in extraction.relations)
