"""Groups of verbs that are imported when one of them is called.

What an edge needs takes 0.3 s to import, which every command would spend; and where only the cloud is installed, it is not there.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from deploy.cluster.errors import ClusterError


def late(module: str, *, about: str) -> typer.Typer:
    """A group with the verbs of ``module.app``. A call of one raises ClusterError where a package is not installed."""

    class Late(TyperGroup):
        """The group before its import."""

        def list_commands(self, ctx: Any) -> list[str]:
            """The verbs' names."""
            return _group(module).list_commands(ctx)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """One verb."""
            return _group(module).get_command(ctx, cmd_name)

    return typer.Typer(cls=Late, help=about, no_args_is_help=True)


def _group(module: str) -> TyperGroup:
    try:
        return typer.main.get_group(import_module(module).app)
    except ModuleNotFoundError as error:
        step = "install what an edge needs: pip install 'dgrag[edge]'"
        raise ClusterError(f"the package {error.name} is not installed, which this takes", next_step=step) from error
