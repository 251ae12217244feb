"""The multilingual sentence encoder: its own arithmetic, and the real weights across languages."""

import numpy as np
import pytest

from shared.models.build import MULTILINGUAL, build_embedder
from shared.models.sentence_encoder import fields_of
from shared.models.settings import ModelSettings
from tests.shared.models.conftest import fetched


def test_a_message_with_long_numbers_is_read_and_a_number_is_passed_over():
    assert list(fields_of(b"\x08\x96\x01\x12\x01x")) == [(2, b"x")]


@pytest.mark.model
async def test_the_real_model_puts_a_question_nearest_to_its_answer_in_another_language():
    folder = fetched(MULTILINGUAL)
    embedder = build_embedder(ModelSettings(dir=folder.parent, embedder=MULTILINGUAL))
    said = ["Die Pumpe wurde am 3. März ersetzt.", "银行提高了房贷利率。", "The bridge was built in 1931."]
    asked = ["When was the pump replaced?", "¿Qué hizo el banco?", "Quand le pont a-t-il été construit ?"]
    passages, questions = await embedder.embed(said), await embedder.embed(asked)
    assert (questions @ passages.T).argmax(axis=1).tolist() == [0, 1, 2]
    assert embedder.dimensions == 512
    alone = np.concatenate([await embedder.embed([text]) for text in said])
    assert np.allclose(alone, passages, atol=1e-6)
