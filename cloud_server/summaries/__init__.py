"""What the edges have told of themselves: their summaries, stored and searched (DGRAG §III-B ③)."""
