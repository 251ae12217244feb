"""Measurements of readers: facts in real files, hostile files."""
