"""The retrievers for LangChain and LlamaIndex in small chains of theirs, against live edges."""

import asyncio

import pytest

from shared.client import Client
from tests.support.live_edge import left
from tests.support.two_sites import GONE, LOT, PUMPS, WHICH_LOT, WHO, bank_and_plant, filled

pytestmark = pytest.mark.process


def langchain():
    pytest.importorskip("langchain_core", reason="run: pip install 'dgrag[langchain]'")
    from shared.client.langchain import DgragRetriever

    return DgragRetriever


def llama_index():
    pytest.importorskip("llama_index.core", reason="run: pip install 'dgrag[llama-index]'")
    from shared.client.llama_index import DgragRetriever

    return DgragRetriever


def chain_of(retriever, heard):
    """retriever | prompt | model; the model says what it always says, and ``heard`` keeps what it was asked."""
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    def keep(prompt):
        heard.append(prompt.to_string())
        return prompt

    prompt = ChatPromptTemplate.from_template("Passages: {passages}\nQuestion: {question}")
    texts = retriever | (lambda found: "\n".join(one.page_content for one in found))
    asked = {"passages": texts, "question": RunnablePassthrough()}
    return asked | prompt | RunnableLambda(keep) | FakeListChatModel(responses=[LOT]) | StrOutputParser()


async def test_a_chain_of_langchain_reads_the_passages_of_the_own_site(tmp_path):
    kind, heard = langchain(), []
    async with filled(tmp_path) as (_, url):
        with Client(url) as client:
            assert await chain_of(kind(client=client, top_k=3), heard).ainvoke(WHO) == LOT
            (found,) = await asyncio.to_thread(kind(client=client).invoke, WHO)
    assert heard == [f"Human: Passages: {PUMPS}\nQuestion: {WHO}"]
    assert (found.page_content, found.metadata["document"], found.metadata["site"]) == (PUMPS, "report.md", "ward")
    assert found.id == found.metadata["chunk_id"]


async def test_a_chain_of_langchain_reads_another_site_and_the_ledgers_hold_it(tmp_path):
    kind, heard = langchain(), []
    async with bank_and_plant(tmp_path) as (edges, url):
        before = {name: edge.node.ledger.count() for name, edge in edges.items()}
        with Client(url) as client:
            assert await chain_of(kind(client=client, mode="cloud"), heard).ainvoke(WHICH_LOT) == LOT
        gone = {name: left(edge, before[name]) for name, edge in edges.items()}
    assert "Lot L-7713 of the battery pack caused the failure" in heard[0]
    assert gone["plant"] == GONE["plant"]
    assert "question" in gone["bank"]


async def test_a_query_engine_of_llama_index_answers_from_another_site(tmp_path):
    kind = llama_index()
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine

    async with bank_and_plant(tmp_path) as (edges, url):
        before = {name: edge.node.ledger.count() for name, edge in edges.items()}
        with Client(url) as client:
            engine = RetrieverQueryEngine.from_args(kind(client, mode="cloud"), llm=MockLLM(), response_mode="compact")
            answer = await engine.aquery(WHICH_LOT)
            nodes = await asyncio.to_thread(kind(client).retrieve, "Who lends money?")
        gone = {name: left(edge, before[name]) for name, edge in edges.items()}
    assert "Lot L-7713 of the battery pack caused the failure" in answer.response  # this model says what it is asked
    source = answer.source_nodes[0]
    assert (source.metadata["site"], source.node_id) == ("plant", source.metadata["chunk_id"])
    assert [(node.text, node.metadata["site"]) for node in nodes] == [("The bank lends money to bakeries.", "bank")]
    assert gone["plant"] == GONE["plant"]
