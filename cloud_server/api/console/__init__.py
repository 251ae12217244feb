"""The cloud's console: pages of its service, for its operators. Each page translates, and does nothing else."""
