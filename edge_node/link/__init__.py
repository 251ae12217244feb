"""The edge's side of the line to the cloud: always dialled by the edge (design §2)."""
