"""DGRAG for programs that install it: ``from dgrag.client import Client``."""
