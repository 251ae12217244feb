"""Measurements of one edge: what documents, starts and questions cost."""
