"""A client of an edge; its code is in ``shared.client``, this is the name by which an installed one is imported."""

from shared.client import *  # noqa: F403 - all that it names
