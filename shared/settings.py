"""What all settings have in common: variables of the environment under one prefix."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches

from pydantic_settings import BaseSettings

NEAR = 0.75  # of the letters are alike, in their order


def strangers(settings: BaseSettings, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables that have the settings' prefix and that they do not read, each with the one that may be meant, or nothing."""
    prefix = settings.model_config.get("env_prefix", "")
    known = [field.upper() for field in type(settings).model_fields]
    given = sorted(name.removeprefix(prefix) for name in environment if name.startswith(prefix))
    near = {name: get_close_matches(name, known, n=1, cutoff=NEAR) for name in given if name not in known}
    return {f"{prefix}{name}": f"{prefix}{found[0]}" if found else "" for name, found in near.items()}
