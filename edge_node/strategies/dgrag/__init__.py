"""DGRAG: the paper's own index (§III-B ①②) and dual-level retrieval (§III-C ④)."""
