"""``dgrag policy``: init, check, show, try."""

import hashlib
import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cloud_server.settings import CloudSettings
from deploy.cli import policy, policy_text
from deploy.cli.main import app
from edge_node.build import Adapters
from edge_node.egress.bodies import body_of, reply_body
from edge_node.egress.dry_run import Shown
from edge_node.policy.rules import STANDARD, first_policy, parse
from shared.errors import Conflict, InputError
from shared.models.fake import HashEmbedder, WordTokenizer
from shared.wire import POINTS_MAX_BYTES, EvidenceBody, EvidenceReply, MemoryBody, MemoryDelta
from tests.support.running_edge import running_edge, scripted
from tests.support.telling import Teller

WARDS = """version = 1
questions = "ask"
[labels]
patients = "summary"
[[exceptions]]
labels = ["patients"]
edges = ["ward-*"]
share = "evidence"
[redact]
types = ["person"]
names = ["Maristow"]
[daily]
replies = 3
"""


def dgrag(*arguments):
    return CliRunner().invoke(app, ["policy", *map(str, arguments)], env={"COLUMNS": "80"})


def test_init_writes_the_commented_standard_once(tmp_path):
    assert "is written" in " ".join(dgrag("init", "--state", tmp_path).stdout.split())
    assert (tmp_path / "policy.toml").read_text() == first_policy("summary")
    again = dgrag("init", "--state", tmp_path).exception
    assert isinstance(again, Conflict)
    assert again.next_step == "edit it"


def test_init_and_show_take_an_edge_of_a_cluster(tmp_path):
    for name in ("ward", "bank"):
        (tmp_path / "edges" / name).mkdir(parents=True)
    assert dgrag("init", "--state", tmp_path, "--edge", "bank").exit_code == 0
    assert (tmp_path / "edges" / "bank" / "policy.toml").read_text() == first_policy("summary")
    assert dgrag("show", "--state", tmp_path, "--edge", "bank").exit_code == 0
    assert isinstance(dgrag("show", "--state", tmp_path, "--edge", "ward").exception, InputError)


def test_init_in_a_folder_that_is_not_there_says_so(tmp_path):
    assert isinstance(dgrag("init", "--state", tmp_path / "absent").exception, InputError)


@pytest.mark.parametrize(("kind", "warned"), [("person", False), ("persn", True)])
def test_check_warns_of_a_type_that_no_detector_gives(tmp_path, kind, warned):
    (tmp_path / "new.toml").write_text(f'version = 1\n[redact]\ntypes = ["{kind}"]\n')
    told = dgrag("check", tmp_path / "new.toml")
    assert (told.exit_code, "knows no type persn" in " ".join(told.output.split())) == (0, warned)


@pytest.mark.parametrize(("replies", "warned"), [(1, False), (0, True)])
def test_check_warns_where_all_requesters_together_have_no_limit(tmp_path, replies, warned):
    (tmp_path / "old.toml").write_text(f"version = 1\n[daily_all]\nreplies = {replies}\npassages = 0\nbytes = 0\nshare = 0\n")
    told = " ".join(dgrag("check", tmp_path / "old.toml").output.split())
    assert ("[daily_all] has no limit" in told) is warned


def test_a_file_of_before_is_shown_with_the_limits_that_hold(tmp_path):
    (tmp_path / "policy.toml").write_text("version = 1\n")
    told = " ".join(dgrag("show", "--state", tmp_path).output.split())
    assert "a requester a day 1,000 replies, 10,000 passages, 20,000,000 bytes" in told
    assert "all of them a day 5,000 replies, 50,000 passages, 100,000,000 bytes" in told


def test_check_says_how_status_and_ledger_name_a_readable_file(tmp_path):
    (tmp_path / "new.toml").write_text(STANDARD)
    told = " ".join(dgrag("check", tmp_path / "new.toml").stdout.split())
    assert told.endswith(f"status and ledger name it policy {parse(STANDARD).key}")


@pytest.mark.parametrize(
    ("content", "said"), [("version = 1\nqestions = 'no'", "line 2: qestions: there is no such field; did you mean q")]
)
def test_check_names_the_line_and_the_field_that_was_meant(tmp_path, content, said):
    (tmp_path / "new.toml").write_text(content)
    assert said in dgrag("check", tmp_path / "new.toml").exception.message


def test_check_of_a_file_that_is_not_there_says_so(tmp_path):
    assert "there is no file" in dgrag("check", tmp_path / "absent.toml").exception.message


def test_show_is_a_table_for_people_in_80_columns(tmp_path):
    (tmp_path / "policy.toml").write_text(WARDS)
    told = dgrag("show", "--state", tmp_path).stdout
    assert max(map(len, told.splitlines())) <= 80
    for words in ("label patients", "facts in summaries", "ward-*", "any other label", "said yes", "names of person", "3 replies"):
        assert words in told


@pytest.mark.parametrize(
    ("memories", "said"),
    [
        ("", "memories stay here"),
        ("share = 'hints'", "at most 2,000: as hints; in hints each name of person, organization, place, group exchanged once, epsilon 2"),
        (
            "share = 'answers'\nnames = []",
            "answers where all may quote the documents, else hints; in hints each name of no kind exchanged once",
        ),
        ("share = 'hints'\nepsilon = 2.5", "epsilon 2.5; epsilon is over its budget of 2: no further name is drawn"),
    ],
)
def test_show_says_what_memories_may_tell(tmp_path, memories, said):
    (tmp_path / "policy.toml").write_text(f"version = 1\n[memories]\n{memories}")
    told = dgrag("show", "--state", tmp_path).stdout
    assert max(map(len, told.splitlines())) <= 80
    assert said in " ".join(told.replace("│", " ").split())


def test_show_for_scripts_is_one_json(tmp_path):
    (tmp_path / "policy.toml").write_text(WARDS)
    shown = json.loads(dgrag("show", "--state", tmp_path, "--json").stdout)
    assert (shown["labels"], len(shown["key"])) == ({"patients": "summary"}, 12)


@pytest.fixture
async def tried(tmp_path, monkeypatch):
    """What a store with one document tries under a policy."""
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump. Juniper Ward uses the Maristow Pump.")
    parts = Adapters(scripted(), HashEmbedder(), WordTokenizer(), None)
    monkeypatch.setattr(policy, "build_generator", lambda *_: parts.generator)
    monkeypatch.setattr(policy, "build_embedder", lambda _: parts.embedder)
    monkeypatch.setattr(policy, "build_tokenizer", lambda _: parts.tokenizer)
    return tmp_path


def attempt(folder, content, *more):
    (folder / "policy.toml").write_text(content)
    ran = dgrag("try", "--state", folder, "--question", "Who makes the pump?", "--requester", "ward-1", *more)
    assert ran.exception is None, ran.exception
    return ran.stdout


def test_try_for_scripts_prints_each_body_with_its_size_and_hash(tried):
    bodies = [json.loads(line) for line in attempt(tried, "version = 1", "--json").splitlines()]
    assert [body["kind"] for body in bodies] == ["summaries", "evidence"]
    for body in bodies:
        content = body["body"].encode()
        assert (body["bytes"], body["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())


def test_try_for_people_shows_summaries_and_passages_in_80_columns(tried):
    told = attempt(tried, "version = 1", "--purpose", "treatment")
    assert max(map(len, told.splitlines())) <= 80
    for words in ("Next sync, body 1 of 1", "Brackwell Works", "bytes, SHA-256", "passage 1 of pump.md, may be quoted"):
        assert words in told


def test_try_for_people_says_what_is_refused_and_that_nothing_is_new(tried):
    told = attempt(tried, 'version = 1\nunlabelled = "never"')
    assert "Brackwell" not in told
    assert "refused: the sharing policy of this site" in told


@pytest.mark.parametrize(
    ("question", "content", "said"),
    [
        ("Who makes the pump?", 'version = 1\nunlabelled = "never"', "the policy: 1 passage of those nearest to the question, of pump.md"),
        ("Who makes the pump?", "version = 1", "Of the 1 passage nearest to the question the policy holds back none."),
        ("Is jazz loud?", 'version = 1\nunlabelled = "never"', "No passage here is near to the question, so the policy holds none back."),
    ],
)
def test_try_tells_what_the_policy_holds_back_from_what_is_not_here(tried, question, content, said):
    assert said in " ".join(attempt(tried, content, "--question", question).split())


def test_try_shows_a_policy_that_cannot_be_read_as_it_acts_in_the_end(tried):
    assert "Brackwell" not in attempt(tried, "version = ")


def test_try_of_a_file_that_is_not_in_force_shows_what_would_change(tried, tmp_path):
    closed = tmp_path / "closed.toml"
    closed.write_text('version = 1\nunlabelled = "never"')
    assert "Brackwell" in attempt(tried, "version = 1")
    assert "Brackwell" not in attempt(tried, "version = 1", "--policy", closed)
    assert (tried / "policy.toml").read_text() == "version = 1"


@pytest.mark.parametrize("content", [None, "version = "])
def test_try_of_a_file_that_cannot_be_read_says_so(tmp_path, content):
    if content:
        (tmp_path / "new.toml").write_text(content)
    assert isinstance(dgrag("try", "--state", tmp_path, "--policy", tmp_path / "new.toml").exception, InputError)


def test_try_asks_as_a_cloud_does_by_default(tried):
    as_default = attempt(tried, "version = 1", "--json", "--budget", str(CloudSettings().evidence_budget_tokens))
    assert passages(as_default) == passages(attempt(tried, "version = 1", "--json"))


def test_try_shows_points_of_reports_to_people_and_how_many_were_read(tried):
    told = attempt(tried, "version = 1", "--task", "reports", "--level", "0")
    assert max(map(len, told.splitlines())) <= 80
    for words in ("passage 1 of pump.md, may be quoted", "told in report", "1 of 1 report read"):
        assert words in told


def test_try_asks_for_points_as_a_cloud_does_by_default(tried):
    most = CloudSettings().global_reply_bytes
    as_default = attempt(tried, "version = 1", "--json", "--task", "reports", "--max-bytes", str(most), "--level", "dynamic")
    assert passages(as_default) == passages(attempt(tried, "version = 1", "--json", "--task", "reports"))
    assert most == POINTS_MAX_BYTES


def test_a_point_is_shown_with_what_a_model_wrote_of_it_and_what_else_it_rests_on():
    place = {"document_id": "d", "document": "pump.md", "chunk_id": "d:0", "span": (0, 4), "text": "Pumps fail."}
    point = EvidenceBody(**place, quotable=False, point="They tend to fail.", report="c0ffee", chunk_ids=["e:0", "f:1"])
    reply = EvidenceReply(evidence=[point], reports=3, reports_there=9)
    console = Console(width=80, file=io.StringIO())
    console.print(policy_text.shown([Shown.of("evidence", reply_body(reply))]))
    told = console.file.getvalue()
    for words in ("not to be quoted", "a model's words for it: They tend to fail.", "report c0ffee, further passages: 2", "3 of 9 reports"):
        assert words in told


def passages(told):
    return json.loads(told.splitlines()[1])["body"].split('"trace"')[0]


def told_of(*parts):
    console = Console(width=80, file=io.StringIO())
    for part in parts:
        console.print(part)
    return " ".join(console.file.getvalue().split())


def test_memories_of_the_next_sync_are_shown_answers_first_and_hints_as_what_they_are():
    told = [
        MemoryBody(memory_id="h", question="Who built Milton?", direct=False),
        MemoryBody(memory_id="a", question="Who built Orrin Mill?", answer="Ann Lee", direct=True),
    ]
    delta = MemoryDelta(epoch="e", base_version=1, version=2, upserts=told, removals=["x", "y"])
    told = told_of(policy_text.shown([Shown.of("memories", body_of(delta))]))
    assert "Next sync of memories" in told
    assert "answer: Who built Orrin Mill? Ann Lee hint, not true by design: Who built Milton? 2 memories withdrawn" in told


def spender(tmp_path):
    teller = Teller(tmp_path, '[memories]\nshare = "hints"')
    teller.mill()
    teller.mill("Who is Maristow?", "nobody")
    teller.database.close()


def test_epsilon_says_what_was_told_of_each_name_and_why_memories_stay(tmp_path):
    spender(tmp_path)
    told = " ".join(dgrag("epsilon", "--state", tmp_path).stdout.split())
    for words in ("Orrin Mill", "Memories that stay here: 1 (name)", "epsilon 2"):
        assert words in told


def test_epsilon_for_scripts_is_one_json(tmp_path):
    spender(tmp_path)
    told = json.loads(dgrag("epsilon", "--state", tmp_path, "--json").stdout)
    assert [name["name"] for name in told["names"]] == ["Orrin Mill"]
    assert (told["hints"][0]["epsilon"], told["stayed"], told["rules"]["share"]) == (2.0, {"name": 1}, "hints")
