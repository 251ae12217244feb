"""Goals S9 and P4: what leaves a service holds no vector, and what comes from elsewhere is checked where it is shown."""

import re
import types
import typing

import pydantic
import pytest

from shared import wire
from shared.records import Answer, Citation

VECTOR = re.compile(r"vector|embedding|float32|matrix", re.IGNORECASE)
NUMBERS = (int, float)


def bodies():
    """Every body of the wire."""
    return [kind for kind in vars(wire).values() if isinstance(kind, type) and issubclass(kind, wire.Wire) and kind is not wire.Wire]


def lists_of_numbers(annotation):
    """Whether a type may hold a list of numbers of any length; a span of two is none."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return lists_of_numbers(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return any(lists_of_numbers(argument) for argument in arguments)
    if origin is tuple and Ellipsis not in arguments:
        return len(arguments) > 2 and any(is_number(argument) for argument in arguments)
    if origin in (list, tuple, set, frozenset, dict):
        return any(is_number(argument) or lists_of_numbers(argument) for argument in arguments)
    return annotation in (bytes, typing.Any, list, tuple, dict)


def is_number(annotation):
    return annotation in NUMBERS or (typing.get_origin(annotation) is typing.Annotated and typing.get_args(annotation)[0] in NUMBERS)


@pytest.mark.parametrize("body", bodies(), ids=lambda body: body.__name__)
def test_no_field_of_the_wire_can_hold_a_vector(body):
    for name, field in body.model_fields.items():
        assert not VECTOR.search(name)
        assert not lists_of_numbers(field.annotation), name


@pytest.mark.parametrize("body", bodies(), ids=lambda body: body.__name__)
def test_a_body_with_a_field_too_many_is_refused(body):
    with pytest.raises(pydantic.ValidationError) as refused:
        body.model_validate({"vector": [0.1] * 384})
    assert ("vector",) in [fault["loc"] for fault in refused.value.errors() if fault["type"] == "extra_forbidden"]


@pytest.mark.parametrize("bad", [list[float], tuple[float, ...], list[float] | None, dict[str, float], bytes, list[list[int]]])
def test_a_field_that_could_hold_one_is_found(bad):
    assert lists_of_numbers(bad)


def test_an_answer_has_no_vector_either():
    hints = typing.get_type_hints(Answer) | typing.get_type_hints(Citation)
    assert not [name for name, hint in hints.items() if VECTOR.search(name) or lists_of_numbers(hint)]
