"""Measurements of clouds and federations: size, speed, attacks."""
