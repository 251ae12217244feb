"""Each kind of server that calls itself OpenAI-compatible answers a question at a real edge."""

import contextlib

import httpx2
import pytest

from shared.models.openai_compatible import OpenAIGenerator
from tests.support.model_dialects import ANSWER, DIALECTS, DOCUMENT, QUESTION, served
from tests.support.running_edge import running_edge


@contextlib.asynccontextmanager
async def edge_at(folder, dialect, *, base=None, **settings):
    async with served(dialect) as url, httpx2.AsyncClient(base_url=base(url) if base else url, trust_env=False) as http:
        generator = OpenAIGenerator(http, model="m", retry_wait_s=0.0)
        async with running_edge(folder, generator=generator, model_server=generator, **settings) as edge:
            await edge.add("quarry.md", DOCUMENT)
            yield edge


@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_question_is_answered_with_its_citation_whatever_the_server_speaks(tmp_path, kind):
    async with edge_at(tmp_path, DIALECTS[kind]()) as edge:
        for _ in range(2):  # what was learned by the first one holds for the second
            answer = await edge.ask(QUESTION, mode="local", memory=False)
            assert (answer["answered"], answer["answer"]) == (True, ANSWER), answer
            assert [citation["document"] for citation in answer["citations"]] == ["quarry.md"]
