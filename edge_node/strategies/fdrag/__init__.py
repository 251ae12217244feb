"""FD-RAG §4.2, the Cognizer: passages by the memories nearest the question, and the hyperedges that these stand in."""
