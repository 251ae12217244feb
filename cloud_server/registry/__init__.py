"""Which edges there are, and which of them are online."""
