"""Every wrong use ends in one line that says what to do, and never in a traceback; and an edge's packages are taken by its verbs only."""

import subprocess
import sys
from pathlib import Path

import pytest

from deploy.cli.main import run

NOWHERE = "http://127.0.0.1:9"  # discard: nothing listens
WRONG = """
edge join --id w%20w --cloud URL --state STATE
edge join --id ward --cloud nonsense --state STATE
edge join --id ward --cloud http://cloud.example --state STATE
edge join --id ward --cloud URL --state STATE --token x
edge rotate --state STATE
edge identity --state STATE
edge check --state STATE
edge backup STATE/copy.db --state STATE
edge restore STATE/none.db --state STATE
edge reembed --state STATE
edge key add a%20b --state STATE
edge key add ops --role king --state STATE
edge key add ops --state FILE/absent
edge key revoke nobody --state STATE
edge key list --state FILE
cloud key list --state STATE/absent
cloud edges --url nonsense
cloud edges --url http://[::1
cloud edges --url URL
cloud edges --state STATE
cloud expel a%0Ab --url URL
cloud match why --url ftp://x
cloud invite ward --url URL
cloud invite ward --ttl 0 --url URL
cloud invites --url URL
cloud withdraw ward --url URL
cloud quarantine ward --url URL
cloud release ward --url URL
cloud readmit ward --url URL
audit list --state STATE
audit export STATE/x.csv --state STATE
audit export STATE/x.pdf --state STATE
audit export STATE/absent/x.csv --state STATE
audit verify --state STATE
audit verify --cloud --state STATE
policy show --state STATE
policy check STATE/none.toml
policy check FILE
policy check STATE
policy init --state STATE/absent
policy try --state STATE
ask why --edge URL
documents --edge nonsense --state STATE
status --state FILE
add FILE --edge URL --state STATE
nonsense
edge nonsense
policy
"""
NEEDED_BY_EDGES = ("filelock", "graspologic_native", "networkx", "phonenumbers", "rapidfuzz", "scipy", "spacy", "sse_starlette", "stdnum")
WITHOUT = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {NEEDED_BY_EDGES}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from deploy.cli.main import run
run(sys.argv[1:])
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_a_wrong_use_ends_in_words(tmp_path, capsys, monkeypatch, line):
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "file.toml").write_text("nonsense = [")
    places = {"STATE": str(tmp_path), "FILE": str(tmp_path / "file.toml"), "URL": NOWHERE}
    arguments = [word.replace("%20", " ").replace("%0A", "\n") for word in line.split()]
    for name, place in places.items():
        arguments = [argument.replace(name, place) for argument in arguments]
    with pytest.raises(SystemExit) as ended:
        run(arguments)
    said = "".join(capsys.readouterr())
    assert ended.value.code in range(1, 7)
    assert "Traceback" not in said
    assert said.strip()
    assert ended.value.code == 2 or len(said.strip().splitlines()) == 1, said
    if arguments[:2] == ["edge", "join"] and "w w" in arguments:
        assert not (tmp_path / "identity").exists()


def test_a_setting_that_is_none_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("DGRAG_EDGE_PORT", "many")
    with pytest.raises(SystemExit) as ended:
        run(["policy", "try", "--state", str(tmp_path)])
    assert ended.value.code == 1
    assert "port" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--help"], 0, "policy"),
        (["cloud", "--help"], 0, "invite"),
        (["cloud", "key", "list", "--state", "."], 0, "created"),
        (["edge", "list"], 1, "pip install 'dgrag[edge]'"),
    ],
)
def test_where_only_the_cloud_is_installed_its_verbs_run(tmp_path, arguments, code, told):
    program = [sys.executable, "-c", WITHOUT, *arguments]
    source = {"PYTHONPATH": str(Path(__file__).parents[3]), "COLUMNS": "200"}
    ended = subprocess.run(program, cwd=tmp_path, env=source, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == code, ended.stderr
    assert told in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
