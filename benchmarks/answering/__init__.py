"""Measurements of single answers: support, follow-ups, thresholds."""
