"""How an edge indexes and retrieves: one folder a paper, each a ``Method`` over what ``edge_node.knowledge`` keeps."""
