"""KET-RAG: a skeleton of core chunks beside a text-keyword bipartite graph (Huang et al. 2025, §5)."""
