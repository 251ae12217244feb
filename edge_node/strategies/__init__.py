"""How an edge indexes and retrieves: a paper is a ``Method`` over what the write path keeps."""
