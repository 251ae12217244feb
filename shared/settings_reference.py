"""What each setting means, what it takes, and how its value is written: read out of the settings classes and their comments."""

from __future__ import annotations

import inspect
import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import orjson
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from shared.settings import Section

LIMITS = {
    "minimum": "from {}",
    "exclusiveMinimum": "above {}",
    "maximum": "to {}",
    "exclusiveMaximum": "below {}",
    "multipleOf": "in steps of {}",
}
NOTES = re.compile(r" \(goals [^()]*+\)|: docs/.*")  # of a heading, for who reads the sources
HIDDEN = "•••"  # in the place of what nobody is to see


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it is now. ``value`` and ``default`` as a variable holds them; a secret is hidden."""

    name: str  # of the variable
    value: str
    default: str
    is_default: bool
    about: str


@dataclass(frozen=True, slots=True)
class Subject:
    """The settings of one subject."""

    title: str
    settings: tuple[Setting, ...]


def reference(settings: BaseSettings) -> list[Subject]:
    """All settings as they are now, by subject, in the order of their classes."""
    kind, said, found = type(settings), _meanings(type(settings)), list[Subject]()
    headings, schema = sections(kind), kind.model_json_schema()["properties"]
    for field, info in kind.model_fields.items():
        if field in headings or not found:
            found.append(Subject(NOTES.sub("", headings.get(field, "")), ()))
        value, default = getattr(settings, field), info.get_default(call_default_factory=True)
        hide = _hidden if secret(schema[field]) else _without_password
        about = " · ".join(filter(None, [info.description or said.get(field, ""), takes(schema[field])]))
        name = f"{kind.model_config.get('env_prefix', '')}{field.upper()}"
        one = Setting(name, hide(shown(value)), hide(shown(default)), value == default, about)
        found[-1] = Subject(found[-1].title, (*found[-1].settings, one))
    return found


def _hidden(value: str) -> str:
    return HIDDEN if value else ""


def _without_password(value: str) -> str:
    """A value without the credentials of an address.

    >>> _without_password("https://me:secret@cloud:8443/v1"), _without_password("0.5")
    ('https://•••@cloud:8443/v1', '0.5')
    """
    who, at, _ = urlsplit(value).netloc.rpartition("@") if "://" in value else ("", "", "")
    return value.replace(f"{who}@", f"{HIDDEN}@", 1) if at else value


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
    ('0.5', 'true', '', 'a,b', 'a=0.5', '')
    """
    match default:
        case None:
            return ""
        case bool():
            return str(default).lower()
        case frozenset():
            return ",".join(sorted(default))
        case dict():
            return ",".join(f"{key}={value if isinstance(value, str) else format(value, 'g')}" for key, value in default.items())
        case ():
            return ""
        case tuple() | list():
            return orjson.dumps(default).decode()
        case _:
            return "" if default is PydanticUndefined else str(default)


_meanings = cache(meanings)  # the sources are read once
