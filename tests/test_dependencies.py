"""What is installed may be handed on, and ``pyproject.toml`` says which versions will do."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PathDistribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
TOOLS = {"dev", "bench", "bertscore"}  # extras that no service imports
GPL = re.compile(r"\bA?GPL|Affero", re.IGNORECASE)
WORDS = re.compile(r"\s+(?:OR|AND)\s+|[()]")  # of an expression, between licences
ALLOWED = {
    *(
        "mit",
        "mit license",
        "mit-0",
        "mit-cmu",
        "isc",
        "academic free license (afl)",
        "isc license",
        "isc license (iscl)",
        "zlib",
        "unlicense",
        "cc0-1.0",
        "cnri-python",
    ),
    *("bsd", "bsd license", "0bsd", "bsd-2-clause", "bsd-3-clause", "bsd 2-clause license", "3-clause bsd license"),
    *("apache-2.0", "apache 2.0", "apache software license", "apache license, version 2.0"),
    "academic free license (afl)",
    *("psf-2.0", "psfl", "python software foundation license"),
    *("mpl-2.0", "mozilla public license 2.0 (mpl 2.0)"),  # asks for changes of its own files alone
}


def licences(package: Distribution) -> list[str]:
    """What a package names: its expression, else its classifiers, else the first line of its licence. Of a choice, all."""
    said = package.metadata
    classified = [line.split(" :: ")[-1] for line in said.get_all("Classifier") or () if line.startswith("License :: ")]
    if classified and "License-Expression" not in said:
        return classified
    written = said.get("License-Expression") or (said.get("License") or "").strip().partition("\n")[0]
    return [name.strip() for name in WORDS.split(written) if name.strip()]


def outside(packages: Iterable[Distribution]) -> dict[str, str]:
    """Packages that name no licence, or one that is not allowed: what they name, by name."""
    named = {canonicalize_name(package.name): licences(package) for package in packages}
    return {name: ", ".join(said) or "nothing" for name, said in named.items() if not said or {one.lower() for one in said} - ALLOWED}


def locked(file: str, root: Path = ROOT) -> dict[str, Version]:
    """The pins of a file, by the package's name."""
    pins = re.findall(r"^([\w.-]+)==([^\s;\\]+)", (root / file).read_text(encoding="utf-8"), re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in pins}


def exceptions(root: Path = ROOT) -> dict[str, str]:
    """The table of licences that may stay."""
    section = (root / "docs" / "dependencies.md").read_text(encoding="utf-8").split("## Licences")[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| ")]
    return {name: said for name, said, why in rows if name != "package" and why and not name.startswith("---")}


def requirements(root: Path = ROOT) -> dict[str, list[Requirement]]:
    """What the services need, by extra; "" is what all need."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [Requirement(line) for line in lines] for extra, lines in groups.items() if extra not in TOOLS}


def unbounded(needed: Iterable[Requirement], pins: Mapping[str, Version]) -> list[str]:
    """Requirements without a lower or an upper bound, or whose bounds do not admit the pin."""
    found = []
    for requirement in needed:
        operators = {bound.operator for bound in requirement.specifier}
        pin = pins.get(canonicalize_name(requirement.name))
        if not (operators >= {">=", "<"} or operators == {"=="}) or (pin is not None and pin not in requirement.specifier):
            found.append(str(requirement))
    return found


def test_each_licence_is_allowed_or_is_an_exception_with_a_reason():
    pins = locked("constraints.txt")
    installed = [package for package in distributions() if canonicalize_name(package.name) in pins]
    assert {canonicalize_name(one.name) for one in requirements()[""]} <= {canonicalize_name(package.name) for package in installed}
    assert outside(installed) == exceptions()


@pytest.mark.parametrize("image", ["edge", "cloud", "model"])
def test_no_image_holds_a_package_under_the_gpl(image):
    under = {name for name, said in exceptions().items() if GPL.search(said)}
    assert under >= {"igraph", "leidenalg"}
    assert "python-stdnum" not in under, "the LGPL is another licence"
    assert not under & locked(f"deploy/docker/{image}.lock").keys()


def test_only_the_extra_that_says_so_brings_the_gpl():
    under = {name for name, said in exceptions().items() if GPL.search(said)}
    brought = {extra for extra, needed in requirements().items() if under & {canonicalize_name(one.name) for one in needed}}
    assert brought == {"leiden-gpl"}


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ("License-Expression: AGPL-3.0-only", "AGPL-3.0-only"),
        ("License-Expression: MIT AND (Apache-2.0 OR SSPL-1.0)", "MIT, Apache-2.0, SSPL-1.0"),
        ("Classifier: License :: OSI Approved :: GNU Affero General Public License\nLicense: MIT", "GNU Affero General Public License"),
        ("License: Proprietary", "Proprietary"),
        ("Summary: says nothing", "nothing"),
        ("License-Expression: MIT AND (Apache-2.0 OR MPL-2.0)", None),
        ("Classifier: License :: OSI Approved :: BSD License", None),
    ],
)
def test_a_package_under_another_licence_is_found(tmp_path, metadata, said):
    folder = tmp_path / "made_up-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: made-up\nVersion: 1.0\n{metadata}\n")
    assert outside([PathDistribution(folder)]) == ({} if said is None else {"made-up": said})


def test_each_dependency_of_a_service_has_bounds_that_admit_its_pin():
    pins = locked("constraints.txt")
    assert {extra: unbounded(needed, pins) for extra, needed in requirements().items() if unbounded(needed, pins)} == {}


@pytest.mark.parametrize("line", ["httpx2", "httpx2>=0.28", "httpx2<1", "httpx2>=0.29,<1", "httpx2>=0.27,<0.28", "httpx2==0.27"])
def test_a_missing_or_a_wrong_bound_is_found(line):
    assert unbounded([Requirement(line)], {"httpx2": Version("0.28.1")}) == [str(Requirement(line))]
