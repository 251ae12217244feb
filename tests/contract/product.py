"""The product as it is seen from outside, as values: every import of the product that the contract takes stands in this file."""

import contextlib
import hashlib
import json
import re
import sqlite3
from enum import Enum
from pathlib import Path

import typer
from pydantic_core import PydanticUndefined

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app as create_cloud_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from deploy.cli.main import app as cli
from edge_node.api.app import create_app as create_edge_app
from edge_node.build import Adapters, build_node
from edge_node.settings import EdgeSettings
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.models.settings import ModelSettings

ROOT = Path(__file__).parents[2]
SETTINGS = (EdgeSettings, CloudSettings, ModelSettings)


def apps(folder):
    """Both services, with new stores in ``folder``."""
    models = HashEmbedder(), ScriptedGenerator(lambda prompt: ["Yes."] * prompt.n), WordTokenizer()
    node = build_node(EdgeSettings(state_dir=folder / "edge"), Adapters(models[1], models[0], models[2], None))
    cloud = build_cloud(CloudSettings(state_dir=folder / "cloud"), Models(*models))
    return {"edge": create_edge_app(node), "cloud": create_cloud_app(cloud)}


def openapi(folder):
    """The OpenAPI document of each service, without the prose."""
    return {name: bare(app.openapi()) for name, app in apps(folder).items()}


def bare(value):
    """The value without descriptions; a property that is called so stays.

    >>> bare({"description": "text", "properties": {"description": {"type": "string"}}})
    {'properties': {'description': {'type': 'string'}}}
    """
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if not (key == "description" and isinstance(item, str))}
    return [bare(item) for item in value] if isinstance(value, list) else value


def schema(folder):
    """SQL of all that stands in the store of each service."""
    apps(folder)
    return {name: statements(next((folder / name).glob("*.db"))) for name in ("edge", "cloud")}


def statements(path):
    """Kind, name and SQL of everything in a database, by name."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [list(row) for row in connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name, type")]


def settings():
    """Type, limits and default of each variable of the environment."""
    found = {}
    for kind in SETTINGS:
        described = kind.model_json_schema()["properties"]
        for name, info in kind.model_fields.items():
            found[f"{kind.model_config['env_prefix']}{name.upper()}"] = field(described[name], info)
    return found


def field(described, info):
    """One field; a set's default is sorted, for a set has no order."""
    told = {key: value for key, value in bare(described).items() if key not in {"title", "default"}}
    told["default"] = "required" if info.default is PydanticUndefined else plain(info.default)
    return told


def plain(value):
    """JSON of a default."""
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def commands():
    """Options and arguments of each verb of ``dgrag``."""
    return dict(verbs("dgrag", typer.main.get_command(cli)))


def verbs(name, command):
    """A verb and those below it, each with its parameters in order."""
    yield name, [parameter(one) for one in command.params]
    context = typer.Context(command)
    for below in sorted(command.list_commands(context)) if hasattr(command, "list_commands") else ():
        yield from verbs(f"{name} {below}", command.get_command(context, below))


def parameter(one):
    """How an option or an argument is given, without its help."""
    return {
        "kind": one.param_type_name,
        "name": one.name,
        "flags": [*one.opts, *one.secondary_opts],
        "type": type_of(one.type_descriptor.annotation),
        "default": "computed" if callable(one.default) else plain(one.default),
        "required": one.required,
        "range": [getattr(one, "min", None), getattr(one, "max", None)],
        "nargs": one.nargs,
        "multiple": bool(getattr(one, "multiple", False)),
        "envvar": one.envvar,
    }


def type_of(annotation):
    """A type's name, or the values of an enumeration; never the module, which moves."""
    if isinstance(annotation, type):
        return [str(member.value) for member in annotation] if issubclass(annotation, Enum) else annotation.__name__
    return re.sub(r"[\w.]+\.(?=\w)", "", str(annotation))


def prompts():
    """A hash of each prompt's text: it is a part of the key of every reply that is kept, so a changed word asks the model again."""
    files = (path for package in ("edge_node", "cloud_server", "shared") for path in (ROOT / package).rglob("prompts/*.md"))
    return {path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}


def contracts(folder: Path):
    """Every contract by the name of its golden file; ``folder`` is empty."""
    return {
        "openapi": openapi(folder / "openapi"),
        "schema": schema(folder / "schema"),
        "settings": settings(),
        "commands": commands(),
        "prompts": prompts(),
    }


def written(value):
    """The text of a golden file."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
