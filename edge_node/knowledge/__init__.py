"""What an edge knows, whatever its strategy: chunks, mentions, the graph merged from them, and the summaries that it tells."""
