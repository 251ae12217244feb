"""An edge's passages for LangChain: ``DgragRetriever(client=Client(url)) | …``. Takes the extra ``langchain``."""

from __future__ import annotations

from typing import Literal

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from shared.client.clients import Client
from shared.client.passages import metadata_of, readable


class DgragRetriever(BaseRetriever):
    """The passages nearest a question; with ``mode="cloud"`` those of all sites that may know and let them be quoted."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Client
    top_k: int = 8
    mode: Literal["local", "cloud"] = "local"

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002
        found = self.client.retrieve(query, top_k=self.top_k, mode=self.mode)
        return [Document(id=one.chunk_id, page_content=one.text, metadata=metadata_of(one)) for one in readable(found)]
