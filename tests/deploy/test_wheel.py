"""An installed release claims one name in site-packages."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from deploy.tools.wheel import PACKAGES, moved

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
EXTRAS = {"dgrag.client.langchain", "dgrag.client.llama_index"}  # their libraries take seconds to import
IMPORT_ALL = f"""
import importlib, pkgutil, sys
import dgrag
for module in pkgutil.walk_packages(dgrag.__path__, "dgrag."):
    if not module.name.endswith("__main__") and module.name not in {EXTRAS!r}:
        importlib.import_module(module.name)
print(sorted({{name.partition(".")[0] for name in sys.modules}} & {set(PACKAGES)!r}))
"""
READ = """
from dgrag.edge_node.documents.readers import __main__ as readers
from dgrag.edge_node.strategies.index import METHODS
from dgrag.shared.sqlite import migrations_of
from dgrag.shared.text.prompts import load_prompt
from dgrag.edge_node.documents.readers import PARSERS, read
assert read("ward.html", b"<p>28 beds</p>").text == "28 beds" and len(PARSERS.loaded) == len(PARSERS.suffixes) > 20
assert load_prompt("dgrag.edge_node.plugins.tables", "query").fields
assert all(path.startswith("dgrag.edge_node.strategies.") for path in METHODS.values()), METHODS
assert migrations_of("dgrag.edge_node.database") and migrations_of("dgrag.cloud_server.database", "migrations/postgres")
print(load_prompt("dgrag.shared", "draft").name)
"""

CLIENT = """
import sys
from dgrag.client import AsyncClient, Client, TooMany
heavy = ("torch", "spacy", "fastapi", "starlette", "igraph", "numpy", "onnxruntime", "dgrag.edge_node", "dgrag.cloud_server")
print(Client.__module__.startswith("dgrag.shared.client"), [name for name in heavy if name in sys.modules])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The wheel, unpacked as in site-packages."""
    made, folder = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-c", BUILD, str(made)], cwd=ROOT, check=True, capture_output=True)
    [wheel] = made.iterdir()
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(folder)], check=True)
    return folder


def run(site, *words):
    """Python with the wheel and what it needs, without the packages of this clone: no `.pth` of an editable installation is read."""
    path = os.pathsep.join([str(site), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    command = [sys.executable, "-S", "-P", *words]
    return subprocess.run(command, cwd=site, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_the_wheel_has_one_name_at_the_top_and_nothing_of_the_tests_or_benchmarks(site):
    assert {entry.name for entry in site.iterdir()} == {"dgrag", *(entry.name for entry in site.glob("dgrag-*.dist-info"))}
    assert {entry.name for entry in (site / "dgrag").iterdir() if entry.is_dir()} == {*PACKAGES, "client"}
    assert (site / "dgrag" / "deploy" / "samples" / "hospital").is_dir()


@pytest.mark.process
def test_no_module_of_the_wheel_imports_by_a_name_of_the_clone(site):
    done = run(site, "-c", IMPORT_ALL)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


@pytest.mark.process
def test_names_of_modules_in_texts_are_those_of_the_wheel(site):
    done = run(site, "-c", READ)
    assert done.stdout.strip() == "draft", done.stderr


@pytest.mark.process
def test_a_program_that_imports_the_client_imports_nothing_of_a_service(site):
    done = run(site, "-c", CLIENT)
    assert done.stdout.strip() == "True []", done.stderr


@pytest.mark.process
def test_the_command_of_the_wheel_runs(site):
    done = run(site, "-m", "dgrag", "edge", "run", "--help")
    assert "DGRAG_EDGE" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("import shared\n", "from dgrag import shared\n"),
        ("import shared.text as text\n", "import dgrag.shared.text as text\n"),
        ('"""\n>>> from shared.records import Evidence\n"""\n', '"""\n>>> from dgrag.shared.records import Evidence\n"""\n'),
        ("a = 'é', 'edge_node.strategies.naive:Naive'\n", "a = 'é', 'dgrag.edge_node.strategies.naive:Naive'\n"),
        ("from shared_things import a\n", "from shared_things import a\n"),
        ("a = 'deploy/samples', {'deploy': 'shared memory'}\n", "a = 'deploy/samples', {'deploy': 'shared memory'}\n"),
    ],
)
def test_imports_and_names_of_modules_move_and_nothing_else(source, wanted):
    assert moved(source) == wanted
