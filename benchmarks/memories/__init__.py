"""Measurements of what memories answer and cost (FD-RAG)."""
