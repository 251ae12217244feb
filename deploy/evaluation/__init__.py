"""How good answers are, measured on questions with known answers: verdicts by rule, shares with their intervals, and a page."""
