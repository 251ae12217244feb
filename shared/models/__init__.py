"""Adapters of the ports in ``shared.ports``: chat models, embedders, tokenizers, and their weights."""
