"""The edge's routes (design §11): each translates, and does nothing else."""
