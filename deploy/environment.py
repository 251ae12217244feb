"""The env files of the compose cluster, out of the settings classes: ``python -m deploy.environment`` (``make env``) writes them anew."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic_settings import BaseSettings

from cloud_server.settings import CloudSettings
from edge_node.settings import EdgeSettings
from shared.models.settings import ModelSettings
from shared.settings_reference import meanings, secret, sections, shown, takes

FOLDER = Path(__file__).parent / "compose"
FILES: Mapping[str, type[BaseSettings]] = {"edge.env": EdgeSettings, "cloud.env": CloudSettings, "model.env": ModelSettings}
HEAD = "# Made by `make env` from {origin}, which keeps the lines that are set. To set one, take the # before its name away."
HEAD_OF_SECRETS = "# A secret does not go here: `docker inspect` shows the environment. Name its file: DGRAG_MODEL_KEY_FILE in .env, say."
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


def main() -> None:
    """Write the files anew; what is set in them stays set."""
    for name, settings in FILES.items():
        path = FOLDER / name
        values = assigned(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(written(settings, values=values), encoding="utf-8")


if __name__ == "__main__":
    main()
