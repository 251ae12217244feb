"""Goal S14: what no line of the project may do, found in its syntax tree; each rule is shown to fail on a bad example."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("shared", "edge_node", "cloud_server", "deploy", "benchmarks")
BANNED_MODULES = {"pickle", "cPickle", "dill", "shelve", "marshal", "joblib", "jwt", "xml.etree.ElementTree", "telnetlib", "ftplib"}
BANNED_CALLS = frozenset(
    [
        "eval",
        "exec",
        "compile",
        "__import__",
        "yaml.load",
        "yaml.unsafe_load",
        "torch.load",
        "numpy.load",
        "np.load",
        "os.system",
        "os.popen",
        "ssl._create_unverified_context",
        "tempfile.mktemp",
        "hashlib.md5",
        "hashlib.sha1",
    ]
)
BANNED_ARGUMENTS = {("verify", False), ("shell", True), ("check_hostname", False), ("follow_redirects", True), ("allow_pickle", True)}
ALLOWED = {
    "shared/models/fetch.py": "follow_redirects=True",  # a model hub sends on to its store; each file is checked by SHA-256
    "shared/models/sentence_encoder.py": "np.load",  # with allow_pickle=False, of a file that is checked by SHA-256
}
BANNED_NAMES = {"CERT_NONE", "OP_LEGACY_SERVER_CONNECT", "PROTOCOL_TLSv1", "PROTOCOL_TLSv1_1", "PROTOCOL_SSLv23"}


def faults(source):
    """What a source text does that none may, with its line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name in BANNED_MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in BANNED_MODULES:
            yield node.lineno, node.module
        elif isinstance(node, ast.Attribute) and node.attr in BANNED_NAMES:
            yield node.lineno, node.attr
        elif isinstance(node, ast.Call):
            if (name := ast.unparse(node.func)) in BANNED_CALLS:
                yield node.lineno, name
            for keyword in node.keywords:
                if isinstance(keyword.value, ast.Constant) and (keyword.arg, keyword.value.value) in BANNED_ARGUMENTS:
                    yield node.lineno, f"{keyword.arg}={keyword.value.value}"


def test_no_line_does_what_none_may():
    found = [
        f"{path.relative_to(ROOT)}:{line} {what}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, what in faults(path.read_text(encoding="utf-8"))
        if ALLOWED.get(str(path.relative_to(ROOT))) != what
    ]
    assert found == []


@pytest.mark.parametrize(
    "bad",
    [
        "import pickle",
        "from pickle import loads",
        "import marshal",
        "eval(text)",
        "exec(text)",
        "yaml.load(text)",
        "torch.load(path)",
        "np.load(path)",
        "os.system(command)",
        "httpx2.get(url, verify=False)",
        "subprocess.run(command, shell=True)",
        "httpx2.AsyncClient(follow_redirects=True)",
        "context.verify_mode = ssl.CERT_NONE",
        "hashlib.md5(raw)",
    ],
)
def test_a_bad_line_is_found(bad):
    assert list(faults(bad))
