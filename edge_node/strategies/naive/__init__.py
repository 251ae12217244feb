"""Chunks and cosine: the baseline of every paper, and the smallest strategy, to be copied as a start."""
