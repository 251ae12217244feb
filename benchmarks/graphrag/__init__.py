"""Measurements of communities, reports and global answers (GraphRAG)."""
