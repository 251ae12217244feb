"""The verbs of the ``dgrag`` command, their progress on standard error, and their results on standard output."""
