import numpy as np
import pytest

from benchmarks.meters import Meter, Stopwatch
from benchmarks.stand_ins import InstantEmbedder, InstantExtractor, InstantGenerator, Models, Said, embed
from benchmarks.synthetic import NEW_NAMES, Names, documents, passage
from edge_node.records import silent
from shared.models.embedders import CheckedEmbedder
from shared.models.fake import WordTokenizer
from shared.ports import Message, Prompt
from shared.records import Chunk

CHUNK = Chunk("d:0", "d", 0, "Osric Vale leads Harrow Mill.", 0, 29, 6)


async def test_the_vectors_pass_the_check_that_every_embedder_must_pass():
    vectors = await CheckedEmbedder(InstantEmbedder(Models())).embed(["Osric Vale leads.", "", "…"])
    assert vectors.shape == (3, 384)


def test_unrelated_texts_are_as_near_as_they_are_for_a_real_model():
    a, b, c = embed(["the mill was repaired", "nobody inspects weather", "the mill was sold"])
    assert a @ b == pytest.approx(0.3, abs=0.1)
    assert a @ c > a @ b


async def test_names_that_have_one_normal_form_are_one_mention_and_a_pair_is_one_relation():
    said = Said(
        [("Harrow Mill", "concept", "x"), ("harrow mill", "concept", "y"), ("Osric Vale", "concept", "z")],
        [
            ("Osric Vale", "Harrow Mill", "leads", "x", 5),
            ("Osric Vale", "harrow mill", "leads", "y", 5),
            ("Osric Vale", "Nobody Here", "", "", 1),
        ],
    )
    found = await InstantExtractor(Models(say=lambda text: said)).extract([CHUNK], silent)
    assert [mention.key for mention in found.entities] == ["harrow mill", "osric vale"]
    assert [(relation.source, relation.target, relation.strength) for relation in found.relations] == [("osric vale", "harrow mill", 5.0)]


async def test_prompts_are_counted_with_the_tokenizer_and_only_then():
    prompt = Prompt((Message("user", "two words"),), max_tokens=5)
    counting, silent_models = Models(tokenizer=WordTokenizer()), Models()
    assert (await InstantGenerator(counting).generate(prompt, deadline_s=1)).tokens_in == counting.prompt_tokens == 2
    assert (await InstantGenerator(silent_models).generate(prompt, deadline_s=1)).tokens_in == 0
    await InstantExtractor(counting).extract([CHUNK], silent)
    assert counting.extraction_tokens > 100


def test_the_same_seed_makes_the_same_documents():
    first, second = (list(documents(Names(3), passages=4, each=3, prefix="a")) for _ in range(2))
    assert first == second
    assert [name for name, _ in first] == ["a-0.md", "a-1.md"]


def test_a_passage_has_its_number_of_new_names():
    names = Names()
    passage(names)
    before = len(names)
    passage(names)
    assert len(names) == before + NEW_NAMES


def test_time_inside_the_models_is_left_out():
    watch = Stopwatch()
    with Meter(watch) as meter, watch:
        np.linalg.norm(np.ones((800, 800)) @ np.ones((800, 800)))
    assert meter.models_cpu_s == watch.cpu_s > 0
