"""Text to names, facts and relations: spaCy's parse, rules over it, and a small model where it helps."""
