"""How the wheel is built: the packages of the repository stand in it as ``dgrag.shared``, ``dgrag.edge_node`` … (ADR 36)."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAMESPACE = "dgrag"
PACKAGES = ("shared", "edge_node", "cloud_server", "deploy")
SKIPPED = shutil.ignore_patterns("__pycache__", "namespace", "tools", "docker", "compose", "helm")  # what only a clone needs
_OURS = "|".join(PACKAGES)
_NAME = re.compile(rf"(?:{_OURS})(?:\.\w+)*(?::\w+)?")
_IMPORT = re.compile(rf"^(\s*(?:(?:>>>|\.\.\.) )?)(?:from (?=(?:{_OURS})\b)|import (?=(?:{_OURS})\.\S+ as ))", re.MULTILINE)
_BARE = re.compile(rf"^(\s*(?:(?:>>>|\.\.\.) )?)import ({_OURS})$", re.MULTILINE)


def moved(source: str) -> str:
    r"""A module's source with our packages under the one name: in its imports, and where a text is the name of a module.

    The key of a dict is never the name of a module.

    >>> print(moved('from shared.records import Evidence\nrun(["-m", "edge_node"], {"shared": 1})'))
    from dgrag.shared.records import Evidence
    run(["-m", "dgrag.edge_node"], {"shared": 1})
    """
    lines = source.encode().splitlines(keepends=True)
    for row, column in sorted(_names_of_modules(ast.parse(source)), reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[: column + 1] + f"{NAMESPACE}.".encode() + line[column + 1 :]
    text = _BARE.sub(rf"\1from {NAMESPACE} import \2", b"".join(lines).decode())
    return _IMPORT.sub(lambda found: f"{found[0]}{NAMESPACE}.", text)


def _names_of_modules(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Where a text begins that is the name of a module: line from 1, column in bytes from 0."""
    keys = {id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in keys and _NAME.fullmatch(node.value):
            yield node.lineno, node.col_offset


class OneNamespace(BuildHookInterface[Any]):
    """Puts the packages into the wheel, moved; an editable installation keeps the names of the repository."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it builds ``version``: ``standard`` or ``editable``."""
        if version == "editable":
            return
        root, target = Path(self.root), self._target
        shutil.copytree(root / "shared" / "namespace" / NAMESPACE, target, ignore=SKIPPED)
        for package in PACKAGES:
            shutil.copytree(root / package, target / package, ignore=SKIPPED)
        for module in target.rglob("*.py"):
            module.write_text(moved(module.read_text(encoding="utf-8")), encoding="utf-8")
        build_data["force_include"][str(target)] = NAMESPACE
        for entries in self.metadata.core.entry_points.values():  # hatchling writes them down after this
            for name, reference in entries.items():
                entries[name] = f"{NAMESPACE}.{reference}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Called when the wheel is written: the moved copy goes."""
        shutil.rmtree(self._target, ignore_errors=True)

    @property
    def _target(self) -> Path:
        return Path(self.directory) / "moved"
