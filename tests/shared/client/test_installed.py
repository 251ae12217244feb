"""What a program imports that installs the wheel."""

import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process
LOOK = """
import sys
sys.path.insert(0, sys.argv[1])
import dgrag.client, shared.client
from dgrag.client import AsyncClient, Client, TooMany
heavy = ("torch", "spacy", "fastapi", "starlette", "igraph", "numpy", "onnxruntime", "edge_node", "cloud_server")
print(dgrag.client.__file__.startswith(sys.argv[1]), Client is shared.client.Client, [name for name in heavy if name in sys.modules])
"""


def test_the_wheel_has_the_client_under_its_name_and_it_brings_nothing_of_a_service(root, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(root / "shared", source / "shared", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(root / name, source)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(tmp_path),
        str(source),
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    seen = subprocess.run([sys.executable, "-I", "-c", LOOK, str(wheel)], check=True, capture_output=True, text=True)
    assert seen.stdout.strip() == "True True []"
