"""The ``dgrag`` command: every verb, and one line for every failure."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer
from pydantic import ValidationError
from rich.text import Text
from typer.core import TyperGroup

from deploy.cli import add, archive, ask, calibrate, cloud, documents, evaluate, knowledge, mcp, model, scenario, services, status, sync, up
from deploy.cli.board import err
from deploy.cli.demo import demo
from deploy.cli.rest import ACCESS, Access
from deploy.cluster.errors import ChildCrashError, ClusterError
from deploy.cluster.lifecycle import Interrupted
from shared.client.errors import unreachable
from shared.errors import DgragError
from shared.text.plain import one_line, plain

app = typer.Typer(
    name="dgrag",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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


@app.callback(invoke_without_command=True)
def about(
    command: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="show the release and end")] = False,
    key: Annotated[str, typer.Option(envvar="DGRAG_API_KEY", help="API key of the service that is called.", show_envvar=True)] = "",
    ca: Annotated[Path | None, typer.Option(help="PEM file of a private certificate authority; else the system's are trusted.")] = None,
) -> None:
    """An edge-cloud federation of knowledge graphs: documents stay at their site, one question reaches them all."""
    before = ACCESS.set(Access(key, ca))
    command.call_on_close(lambda: ACCESS.reset(before))
    if version:
        typer.echo(f"dgrag {metadata.version('dgrag')}")
        raise typer.Exit


for verbs in (
    (up.up, up.down, status.status, services.logs, add.add, sync.sync, documents.documents, documents.remove, documents.retry),
    (ask.ask, knowledge.feedback, knowledge.memories, knowledge.communities, knowledge.report, demo, mcp.mcp, scenario.scenario),
):
    for verb in verbs:
        app.command()(verb)
app.command("export")(archive.export)
app.command("import")(archive.import_archive)
app.command("eval")(evaluate.evaluate)
app.command()(calibrate.calibrate)
app.add_typer(model.app, name="model")
app.add_typer(cloud.app, name="cloud")
for group, purpose in {
    "edge": "One edge in the foreground, or the edges that run here.",
    "audit": "The egress ledger: every body that has left an edge.",
    "net": "The links of a cluster that was started with --runtime netns: shape, cut, heal, count.",
    "policy": "The sharing policy of an edge: what may leave its site.",
}.items():
    app.add_typer(late(f"{__package__}.{group}", about=purpose), name=group)


def run(arguments: Sequence[str] | None = None) -> None:
    """The console script. Always ends with SystemExit: 0, 1 for a failure in one line, 2 for wrong usage, 128 + n for signal n.

    A store that is in use ends with 6, one that is damaged with 5.
    """
    os.umask(0o077)  # what is written holds documents: for this user only
    try:
        app(arguments, prog_name="dgrag")
    except ChildCrashError as crash:
        err().print(Text(plain(crash.tail)), style="dim", soft_wrap=True)
        fail(crash.message, crash.next_step)
    except DgragError as error:
        fail(error.message, error.next_step, code=error.exit_status)
    except httpx2.RequestError as error:
        broken = unreachable(error)
        fail(broken.message, broken.next_step)
    except httpx2.InvalidURL as error:
        fail(f"an address cannot be used: {error}", "give ids without control characters, and http(s)://HOST:PORT")
    except ValidationError as error:
        fail("; ".join(f"{fault['loc'][0]}: {fault['msg']}" for fault in error.errors()), "check the settings in the environment, DGRAG_…")
    except OSError as error:
        fail(f"{error.filename or 'a file'} cannot be used: {error.strerror}", "check the path, and who may read and write there")
    except Interrupted as interrupted:
        fail("stopped by a signal", "", code=128 + interrupted.number)


def fail(message: str, next_step: str, *, code: int = 1) -> None:
    """Say in one line what failed and what to do, and end."""
    line = f"dgrag: {message}" + (f" ({next_step})" if next_step else "")
    typer.echo(one_line(" ".join(line.split())), err=True)
    sys.exit(code)


if __name__ == "__main__":
    run()
