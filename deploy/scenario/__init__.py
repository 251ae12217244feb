"""Scenarios: a cluster over links, and what is done to it while questions are asked, from one file."""
