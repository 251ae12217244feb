"""EraRAG: passages grouped by stored hyperplanes, a summary a group, layer upon layer, for a corpus that grows."""
