"""Other graph-RAG systems and our edge on one corpus, with one model server and one embedder, driven by one script.

Each peer lives in a virtual environment of its own; ``driver`` runs inside it. Models answer at once and in another process, so what a
system's own process spends is its own work.
"""
