"""A pack per language: what splits its sentences and finds its names and noun phrases, and how well it does."""
