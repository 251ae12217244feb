"""Measurements in several languages."""
