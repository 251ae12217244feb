"""The public list of surrogates, as it is installed."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from edge_node.policy.surrogates import Surrogates


@cache
def installed_surrogates() -> Surrogates:
    """The list of ``surrogates.toml``."""
    return Surrogates.parse(files("edge_node.policy").joinpath("surrogates.toml").read_text(encoding="utf-8"))
