"""GraphRAG's local search: what the graph says of the entities nearest a question (Edge et al. 2024; KET-RAG §3.2, Alg. 2)."""
