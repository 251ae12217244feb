"""Measurements of trees over a growing corpus (EraRAG), and of KET-RAG's and EraRAG's single pieces."""
