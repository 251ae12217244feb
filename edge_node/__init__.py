"""The edge: documents to a knowledge graph, a question to a local answer or to the cloud."""
