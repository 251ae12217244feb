"""What a run's configuration may say, where its type does not tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError
from pydantic_settings import BaseSettings

from cloud_server.settings import CloudSettings
from edge_node.settings import EdgeSettings
from shared.models.settings import ModelSettings

SERVICES: Mapping[str, type[BaseSettings]] = {"DGRAG_EDGE_": EdgeSettings, "DGRAG_CLOUD_": CloudSettings, "DGRAG_MODEL_": ModelSettings}

T = TypeVar("T")


def distinct(items: tuple[T, ...]) -> tuple[T, ...]:
    """The items, each of which may stand there once. Raises ValueError that names one that comes again.

    >>> distinct((1, 2))
    (1, 2)
    """
    if twice := [item for place, item in enumerate(items) if item in items[:place]]:
        raise ValueError(f"{twice[0]!r} stands there twice: take it out once")
    return items


def given_to(prefix: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Those variables that have a service's prefix, by the names of its settings.

    >>> given_to("DGRAG_EDGE_", {"DGRAG_EDGE_TOP_K": "9", "DGRAG_MODEL_DIR": "/m"})
    {'top_k': '9'}
    """
    return {name.removeprefix(prefix).lower(): value for name, value in environment.items() if name.startswith(prefix)}


def settings_that_start(environment: Mapping[str, str]) -> None:
    """Raise ValueError for variables with which a service would not start, or that none of them reads."""
    for prefix, service in SERVICES.items():
        given = given_to(prefix, environment)
        try:
            service.model_validate(given)
        except ValidationError as error:
            fault = error.errors()[0]
            where = [f"{prefix}{str(field).upper()} = {given.get(str(field))}" for field in fault["loc"][:1]]
            why = "no service reads it" if fault["type"] == "extra_forbidden" else fault["msg"].removeprefix("Value error, ")
            raise ValueError(": ".join([*where, why])) from error
