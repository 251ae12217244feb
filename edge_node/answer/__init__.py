"""READ PATH: retrieve -> n samples -> gate -> local answer, or escalate (DGRAG §III-C)."""
