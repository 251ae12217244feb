"""A retriever for LangChain; takes the extra ``langchain``."""

from shared.client.langchain import DgragRetriever

__all__ = ["DgragRetriever"]
