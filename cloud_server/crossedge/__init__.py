"""A question for many edges: match, ask over held polls, merge the evidence, answer (DGRAG §III-C ⑥)."""
