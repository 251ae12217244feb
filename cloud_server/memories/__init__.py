"""What the edges let the cloud know of their memories, stored and searched (FD-RAG §6)."""
