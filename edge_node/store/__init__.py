"""One SQLite file an edge: documents, chunks, graph, vectors and summaries, each change one transaction."""
