"""Every regular expression of the product, and the strings that a backtracking search might run away on."""

from __future__ import annotations

import ast
import gc
import importlib
import itertools
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

PACKAGES = ("edge_node", "cloud_server", "shared", "deploy")
BY_HAND = "deploy.tools"  # run once by a developer, and needs what the product does not
OPERATIONS = {"search", "match", "fullmatch", "finditer"}
SAME = {"sub": "finditer", "subn": "finditer", "split": "finditer", "findall": "finditer"}
PROBES = "a1 A\t\n-.,:;()[]{}<>\"'`*_#|/\\@&!?=%$~^+é’–•中"
HAND = (
    *" 1aA\n\t-_.,()[]{}<>\"'`*#|/\\@&!?:;=’é",
    *(
        "[\\",
        "\u0301",
        "e\u0301",
        " \n",
        "\n ",
        "a ",
        "a-",
        "-\n",
        "1 ",
        "1.",
        "a.",
        "A.",
        "(a",
        "[1",
        "[1,",
        "](",
        "<!--",
        "<a ",
        "page 1   x",
        "\u2028",
    ),
)
ENDS = ("", "\x00", "\nx!", "x ")


@dataclass(frozen=True, slots=True)
class Used:
    """A pattern, where it stands, and how the code applies it."""

    place: str
    pattern: re.Pattern[Any]
    operations: frozenset[str]


class TooSlowError(Exception):
    """The CPU time is spent."""


def modules() -> Iterator[ModuleType]:
    """Every module of the product."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.startswith(BY_HAND) and not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def patterns_of_the_product() -> list[Used]:
    """Compiled ones in module variables, and the texts that ``re.sub`` and its like are called with."""
    loaded = list(modules())
    trees = {module.__name__: ast.parse(Path(str(module.__file__)).read_text()) for module in loaded}
    calls = {name: _operations(tree) for name, tree in trees.items()}
    found: dict[tuple[str | bytes, int], Used] = {}
    for module in loaded:
        held = [
            (name, pattern, calls[module.__name__].get(name, set())) for name, value in vars(module).items() for pattern in _held(value)
        ]
        inline = [("an inline pattern", pattern, {operation}) for operation, pattern in _inline(trees[module.__name__], module)]
        for name, pattern, used in [*held, *inline]:
            key = pattern.pattern, pattern.flags
            before = found[key].operations if key in found else frozenset()
            found[key] = Used(f"{module.__name__}.{name}", pattern, before | used)
    return [used if used.operations else replace(used, operations=frozenset({"finditer"})) for used in found.values()]


def _held(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(_held, value.values()))
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from itertools.chain.from_iterable(map(_held, value))


def _operations(tree: ast.AST) -> dict[str, set[str]]:
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and SAME.get(node.attr, node.attr) in OPERATIONS:
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            used.setdefault(name, set()).add(SAME.get(node.attr, node.attr))
    return used


def _inline(tree: ast.AST, module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any]]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr in {*OPERATIONS, *SAME}:
            names = {name.id for name in ast.walk(node.args[0]) if isinstance(name, ast.Name)}
            if names <= vars(module).keys():  # else it is made of a caller's words
                text = eval(compile(ast.Expression(node.args[0]), "pattern", "eval"), vars(module))
                flags = re.MULTILINE if "MULTILINE" in ast.dump(node) else 0
                yield SAME.get(node.func.attr, node.func.attr), re.compile(text, flags)


def hostile(pattern: re.Pattern[Any]) -> list[tuple[str, str, str]]:
    """What to begin with, what to repeat, what to end with: pieces that the pattern accepts, alone and in pairs, before what it refuses."""
    made: dict[tuple[str, str, str], None] = {}
    units = [unit for unit in _units(pattern) if 0 < len(unit[1]) <= 40]
    for before, unit in units:
        made.update({(before, unit, end): None for end in ENDS[:3]})
        made[("", before + unit, "\x00")] = None
    short = list(dict.fromkeys(unit for _, unit in units))[:8]
    made.update({("", one + two, "\x00"): None for one, two in itertools.permutations(short, 2)})
    made.update({(before, unit, "\x00"): None for before in ("", short[0] if short else "") for unit in HAND})
    return list(made)


def written(form: tuple[str, str, str], length: int, pattern: re.Pattern[Any]) -> str | bytes:
    """About so many characters of a form, as the pattern takes them."""
    before, unit, end = form
    text = before + unit * ((length - len(before)) // len(unit)) + end
    return text.encode() if isinstance(pattern.pattern, bytes) else text


def _units(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    text = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    found: list[tuple[str, str]] = []
    whole = _walk(_parser.parse(text, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags), "", found)
    return list(dict.fromkeys([*found, ("", whole)]))


def _walk(items: Any, before: str, found: list[tuple[str, str]]) -> str:
    """An example of what the items accept; notes each repeated piece with what stands before it."""
    begun = before
    for kind, value in items:
        before += _example(kind, value, before, found)
    return before[len(begun) :]


def _example(kind: Any, value: Any, before: str, found: list[tuple[str, str]]) -> str:
    if kind in {sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN}:
        return _character(kind, value)
    if kind is sre.BRANCH:
        first, *_ = [_walk(branch, before, found) for branch in value[1]]  # all of them, for what they repeat
        return first
    if kind is sre.SUBPATTERN:
        return _walk(value[3], before, found)
    if kind is sre.ATOMIC_GROUP:
        return _walk(value, before, found)
    if kind in {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}:
        return _repeated(*value, before, found)
    return ""


def _character(kind: Any, value: Any) -> str:
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.NOT_LITERAL:
        return next(probe for probe in PROBES if ord(probe) != value)
    return (_members(value) or ["x"])[0] if kind is sre.IN else "x"


def _repeated(least: Any, most: Any, body: Any, before: str, found: list[tuple[str, str]]) -> str:
    once = _walk(body, before, found)
    if most > 8:
        found.append((before, once))
        if len(body) == 1 and body[0][0] is sre.IN:
            found.extend((before, member) for member in _members(body[0][1])[1:4])
    return once * max(int(least), 1)


def _members(items: Any) -> list[str]:
    negated = items[0][0] is sre.NEGATE
    literal = [chr(value) for kind, value in items if kind is sre.LITERAL]
    return [
        probe for probe in dict.fromkeys(PROBES if negated else [*PROBES, *literal]) if any(_fits(item, probe) for item in items) != negated
    ]


def _fits(item: Any, probe: str) -> bool:
    kind, value = item
    if kind is sre.LITERAL:
        return ord(probe) == value
    if kind is sre.RANGE:
        return bool(value[0] <= ord(probe) <= value[1])
    if kind is sre.CATEGORY:
        kinds = {"DIGIT": str.isdigit, "SPACE": str.isspace, "WORD": lambda text: text.isalnum() or text == "_"}
        name = str(value).removeprefix("CATEGORY_")
        return bool(kinds[name.removeprefix("NOT_")](probe)) != name.startswith("NOT_")
    return False


def cpu_seconds(work: Callable[[], object], *, budget_s: float) -> float:
    """CPU time of this process for the work; raises TooSlowError when the budget is spent (the ``re`` engine looks for signals).

    No garbage is collected meanwhile: an error raised in a callback of the collector would be lost, and the work go on.
    """

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, stop)
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, budget_s)
    started = time.process_time()
    try:
        work()
        return time.process_time() - started
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.enable()


def applied(pattern: re.Pattern[Any], operation: str, text: str | bytes) -> None:
    """Apply the pattern as the code does, to the end of the text."""
    if operation == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, operation)(text)
