"""A retriever for LlamaIndex; takes the extra ``llama-index``."""

from shared.client.llama_index import DgragRetriever

__all__ = ["DgragRetriever"]
