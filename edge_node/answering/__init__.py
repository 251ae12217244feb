"""A question to its answer: samples, a gate, escalation, and the same served to other sites."""
