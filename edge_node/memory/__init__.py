"""What an edge remembers: hyperedges of sentences and passages that belong together (FD-RAG §4.1). Pure: arrays in, arrays out."""
