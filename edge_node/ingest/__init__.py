"""WRITE PATH: bytes -> text -> chunks -> strategy.add -> settle -> summaries to the cloud (DGRAG §III-B ①②③)."""
