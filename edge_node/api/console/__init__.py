"""The site's console: pages of its service, for people. Each page translates, and does nothing else."""
