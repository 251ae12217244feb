"""Measurements of the product against real data."""
