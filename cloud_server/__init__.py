"""The cloud: who is there, what they know in summary, and one answer from many edges."""
