"""The env files of the compose cluster, out of the settings classes: ``python -m deploy.environment`` (``make env``) writes them anew."""

from __future__ import annotations

import inspect
import io
import re
import tokenize
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from cloud_server.settings import CloudSettings
from edge_node.settings import EdgeSettings
from shared.models.settings import ModelSettings
from shared.settings import Section

FOLDER = Path(__file__).parent / "compose"
FILES: Mapping[str, type[BaseSettings]] = {"edge.env": EdgeSettings, "cloud.env": CloudSettings, "model.env": ModelSettings}
HEAD = "# Made by `make env` from {origin}, which keeps the lines that are set. To set one, take the # before its name away."
HEAD_OF_SECRETS = "# A secret does not go here: `docker inspect` shows the environment. Name its file: DGRAG_MODEL_KEY_FILE in .env."
LIMITS = {
    "minimum": "from {}",
    "exclusiveMinimum": "above {}",
    "maximum": "to {}",
    "exclusiveMaximum": "below {}",
    "multipleOf": "in steps of {}",
}
ASSIGNMENT = re.compile(r"^#?(DGRAG_[A-Z0-9_]+)=(.*)$")


def written(settings: type[BaseSettings], *, values: Mapping[str, str] | None = None) -> str:
    """An env file: a section's heading, then for each setting what it means, what it takes, and its default behind a ``#``.

    values: by name, of the settings that are to be set, without a ``#``. A secret is only named: the file is under version control.
    """
    said, headings = meanings(settings), sections(settings)
    prefix, schema = settings.model_config.get("env_prefix", ""), settings.model_json_schema()["properties"]
    lines = [HEAD.format(origin=settings.__module__.replace(".", "/") + ".py")]
    lines += [HEAD_OF_SECRETS] if any(map(secret, schema.values())) else []
    for field, info in settings.model_fields.items():
        if field in headings:
            lines.append(f"\n## {headings[field]}")
        about = " · ".join(filter(None, [info.description or said.get(field, ""), takes(schema[field])]))
        name = f"{prefix}{field.upper()}"
        if secret(schema[field]):
            lines += ["", f"# {name}, a secret: {about}"]
            continue
        lines += ["", *([f"# {about}"] if about else [])]
        kept = (values or {}).get(name)
        lines.append(f"#{name}={shown(info.default)}" if kept is None else f"{name}={kept}")
    return "\n".join(lines) + "\n"


def assigned(text: str) -> dict[str, str]:
    r"""What an env file sets; lines that are commented out set nothing.

    >>> assigned("# text\n#DGRAG_A=1\nDGRAG_B=2\n")
    {'DGRAG_B': '2'}
    """
    found = (ASSIGNMENT.match(line) for line in text.splitlines() if not line.startswith("#"))
    return {match[1]: match[2] for match in found if match}


def comments(source: str) -> dict[str, str]:
    r"""The comment at the end of each field's line.

    >>> comments("class S:\n    a: int = 1  # of them\n    b: str = '# 2'\n")
    {'a': 'of them'}
    """
    fields = {source.count("\n", 0, match.start()) + 1: match[1] for match in re.finditer(r"^    (\w+): ", source, re.MULTILINE)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = [token for token in tokens if token.type == tokenize.COMMENT and token.start[0] in fields]
    return {fields[token.start[0]]: token.string.lstrip("# ") for token in found}


def classes(settings: type[BaseSettings]) -> list[type]:
    """The class and its sections, in the order of their fields."""
    return [each for each in reversed(settings.__mro__) if each is settings or issubclass(each, Section)]


def meanings(settings: type[BaseSettings]) -> dict[str, str]:
    """What each field means: the comments of the sections."""
    return {field: text for each in classes(settings) for field, text in comments(inspect.getsource(each)).items()}


def sections(settings: type[BaseSettings]) -> dict[str, str]:
    """What each section is about, by its first field."""
    found: dict[str, str] = {}
    fields = settings.model_fields
    seen: set[str] = set()
    for each in classes(settings):
        own = [name for name in each.__annotations__ if name in fields and name not in seen]
        seen.update(own)
        if own and each is not settings:
            found[own[0]] = (inspect.getdoc(each) or "").partition("\n")[0].rstrip(".")
    return found


def secret(schema: Mapping[str, Any]) -> bool:
    """Whether a setting's value is to be seen by nobody, out of its JSON schema.

    >>> secret({"type": "string", "format": "password"}), secret({"anyOf": [{"format": "password"}, {"type": "null"}]}), secret({})
    (True, True, False)
    """
    return schema.get("format") == "password" or any(map(secret, schema.get("anyOf", ())))


def takes(schema: Mapping[str, Any]) -> str:
    """Which values a setting takes, out of its JSON schema; "" where its default says it all.

    >>> takes({"type": "integer", "minimum": 1, "maximum": 5}), takes({"enum": ["on", "off"]}), takes({"type": "boolean"})
    ('from 1 to 5', 'on | off', 'true | false')
    """
    if "anyOf" in schema:
        kinds = [kind for kind in schema["anyOf"] if kind.get("type") != "null"]
        return " | ".join(filter(None, map(takes, kinds)))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "boolean":
        return "true | false"
    if "enum" in schema.get("items", ()):
        return f"some of {', '.join(schema['items']['enum'])}"
    return " ".join(form.format(schema[key]) for key, form in LIMITS.items() if key in schema)


def shown(default: object) -> str:
    """A default as a variable holds it; "" for none, and for one that is found at the start.

    >>> shown(0.5), shown(True), shown(None), shown(frozenset({"b", "a"})), shown({"a": 0.5}), shown(())
    ('0.5', 'true', '', 'a,b', 'a=0.5', '[]')
    """
    match default:
        case None:
            return ""
        case bool():
            return str(default).lower()
        case frozenset():
            return ",".join(sorted(default))
        case dict():
            return ",".join(f"{key}={value:g}" for key, value in default.items())
        case tuple() | list():
            return orjson.dumps(default).decode()
        case _:
            return "" if default is PydanticUndefined else str(default)


def main() -> None:
    """Write the files anew; what is set in them stays set."""
    for name, settings in FILES.items():
        path = FOLDER / name
        values = assigned(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(written(settings, values=values), encoding="utf-8")


if __name__ == "__main__":
    main()
