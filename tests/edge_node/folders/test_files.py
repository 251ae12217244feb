"""What a folder holds, and what of it is no document."""

import os

import pytest

from edge_node.folders.files import MOST_PATTERNS, NO_FILE, OUTSIDE, Folder
from edge_node.folders.memory import Memory
from edge_node.folders.records import Entry, Held, Wishes
from edge_node.folders.syncing import apply, identified, look
from edge_node.records import document_id
from shared.errors import InputError
from shared.ports import SystemClock

AS_ROOT = os.geteuid() == 0


class At:
    """A clock that is so many seconds ahead of the system's."""

    def __init__(self, ahead):
        self.ahead = ahead

    def now(self):
        return SystemClock().now() + self.ahead


def folder(root, *, ahead=10.0, **options):
    return Folder(root, At(ahead), **{"most_bytes": 1000, **options})


def made(root, *places, text="The pump failed."):
    for place in places:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text)
    return root


def names(survey):
    return [entry.name for entry in survey.entries]


def test_readable_files_are_named_by_their_path(tmp_path):
    survey = folder(made(tmp_path, "b.md", "sub/a.txt", "picture.xyz"), prefix="reports/").survey()
    assert (names(survey), survey.left_out) == (["reports/b.md", "reports/sub/a.txt"], ("reports/picture.xyz",))


def test_hidden_and_temporary_files_and_those_that_a_pattern_names_are_left_out(tmp_path):
    made(tmp_path, "a.txt", ".git/x.md", "~$a.docx", ".~lock.b.txt", "drafts/c.md", "sub/drafts/d.md", "e.tmp", "sub/f.md")
    (tmp_path / ".dgragignore").write_text("/drafts/\nsub/*.md\n!sub/f.md\n")
    assert names(folder(tmp_path).survey()) == ["a.txt", "sub/drafts/d.md", "sub/f.md"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"!\n"])
def test_a_list_of_ignored_files_that_cannot_be_used_stops_the_run(tmp_path, content):
    (tmp_path / ".dgragignore").write_bytes(content)
    with pytest.raises(InputError, match="dgragignore"):
        folder(tmp_path).survey()


def test_a_list_of_ignored_files_is_read_as_any_file_of_the_folder(tmp_path):
    root, secret = made(tmp_path / "in", "a.txt", "list"), made(tmp_path / "out", "secret", text="!\n") / "secret"
    (root / ".dgragignore").symlink_to(root / "list")
    assert names(folder(root).survey()) == ["a.txt"]
    for lay, reason in (
        (lambda path: path.symlink_to(secret), OUTSIDE),
        (lambda path: path.symlink_to(path), "symbolic links"),
        (os.mkfifo, "no file"),
        (lambda path: path.write_text("x\n" * MOST_PATTERNS), "more than"),
    ):
        (root / ".dgragignore").unlink()
        lay(root / ".dgragignore")
        with pytest.raises(InputError, match=rf"dgragignore cannot be read: .*{reason}"):
            folder(root).survey()


def test_a_link_to_itself_stops_no_other_file(tmp_path):
    (made(tmp_path, "a.txt") / "loop.txt").symlink_to("loop.txt")
    survey = folder(tmp_path).survey()
    assert (names(survey), [problem.name for problem in survey.problems]) == (["a.txt"], ["loop.txt"])


def test_a_folder_that_is_not_there_is_no_empty_one(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        folder(tmp_path / "nowhere").survey()


def test_links_are_followed_within_the_folder_only(tmp_path):
    root, secret = made(tmp_path / "in", "a.txt", "sub/b.txt"), made(tmp_path / "out", "secret.txt") / "secret.txt"
    (root / "link.txt").symlink_to(root / "sub" / "b.txt")
    (root / "leak.txt").symlink_to(secret)
    (root / "round").symlink_to(root)
    (root / "away").symlink_to(tmp_path / "out")
    source = folder(root)
    survey = source.survey()
    assert names(survey) == ["a.txt", "link.txt", "sub/b.txt"]
    assert sorted((problem.name, problem.reason) for problem in survey.problems) == [("away/", OUTSIDE), ("leak.txt", OUTSIDE)]
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(secret)  # after it was listed
    with pytest.raises(OSError, match="not followed"):
        source.read(survey.entries[0])


def test_what_cannot_be_a_document_is_told_with_its_reason(tmp_path):
    made(tmp_path, "big.txt", text="x" * 1001)
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("x")
    survey = folder(tmp_path).survey()
    assert names(survey) == []
    assert sorted(problem.reason for problem in survey.problems) == ["it has more than 1,000 bytes", NO_FILE, "its name is no UTF-8"]


@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_told_and_not_taken_for_empty(tmp_path):
    locked = made(tmp_path, "locked/a.txt", "b.txt") / "locked"
    locked.chmod(0)
    survey = folder(tmp_path).survey()
    locked.chmod(0o700)
    assert (names(survey), survey.unseen, len(survey.problems)) == (["b.txt"], ("locked/",), 1)


def test_what_was_written_just_now_has_no_mark(tmp_path):
    made(tmp_path, "a.txt")
    assert folder(tmp_path, ahead=0).survey().entries[0].mark == ""
    assert folder(tmp_path).survey().entries[0].mark


class Counted:
    """A source that counts what is read of it."""

    def __init__(self, source):
        self.source = source
        self.read_names = []

    def read(self, entry):
        self.read_names.append(entry.name)
        return self.source.read(entry)


def test_only_what_has_changed_is_read_again(tmp_path):
    root, path = made(tmp_path / "in", "a.txt", "b.txt"), tmp_path / "memory" / "s.json"

    def run():
        source = Counted(folder(root))
        found, problems = identified(source, source.source.survey(), Memory(path), [])
        assert not problems
        return source.read_names, [file.document_id for file in found]

    first, before = run()
    assert (first, run()) == (["a.txt", "b.txt"], ([], before))
    (root / "a.txt").write_text("The pump works..")  # of the same size
    again, after = run()
    assert (again, after[1]) == (["a.txt"], before[1])
    assert after[0] != before[0]
    path.write_bytes(b"{damaged")
    assert run() == (["a.txt", "b.txt"], after)


def test_a_file_that_cannot_be_read_stops_no_other(tmp_path):
    root = made(tmp_path / "in", "a.txt", "b.txt")
    survey = folder(root).survey()
    (root / "a.txt").unlink()
    found, problems = identified(folder(root), survey, Memory(tmp_path / "s.json"), [])
    assert ([file.entry.name for file in found], [problem.name for problem in problems]) == (["b.txt"], ["a.txt"])


def was(root, path, **fields):
    """The old name by which the one file of a folder is known at an edge that has it as ``old.txt``."""
    [entry] = (source := folder(root)).survey().entries
    raw = source.read(entry)
    one = Held("old.txt", document_id("old.txt", raw), len(raw), "s", frozenset(), **fields)
    [file], _ = identified(source, source.survey(), Memory(path), [one])
    return file.was


def test_a_renamed_file_is_known_as_such_until_the_edge_has_its_new_name(tmp_path):
    root = made(tmp_path / "in", "new.txt")
    assert [was(root, tmp_path / "s.json") for _ in range(2)] == ["old.txt", "old.txt"]


class Refusing:
    """An edge that has one document and lets it have no other name."""

    def __init__(self, *held):
        self._held = {one.name: one for one in held}

    async def held(self):
        return self._held

    async def rename(self, identity, name, wishes):
        return f"{name} must wait"


async def test_a_rename_that_the_edge_refuses_is_told_and_tried_again_by_the_next_run(tmp_path):
    source, memory, wishes = folder(made(tmp_path / "in", "new.txt")), Memory(tmp_path / "s.json"), Wishes("s")
    raw = b"The pump failed."
    target = Refusing(Held("old.txt", document_id("old.txt", raw), len(raw), "s", frozenset()))
    for _ in range(2):
        done = await apply(await look(source, target, memory, wishes), source, target, memory, wishes)
        assert ([(one.name, one.reason) for one in done.problems], done.renamed) == ([("new.txt", "new.txt must wait")], 0)


def test_a_file_whose_document_is_damaged_is_no_renamed_one_but_sent_anew(tmp_path):
    assert was(made(tmp_path / "in", "new.txt"), tmp_path / "s.json", is_damaged=True) == ""


def test_a_mark_that_is_missing_recalls_nothing(tmp_path):
    assert Memory(tmp_path / "s.json").recall(Entry("a", "a", 1, "")) is None
