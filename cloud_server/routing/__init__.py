"""Which edges to ask: what they have shared, searched, screened and matched."""
