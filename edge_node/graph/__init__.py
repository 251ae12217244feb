"""Passages to entities, relations and subgraphs, with their summaries (DGRAG §III-B ①②): no store, no routes."""
