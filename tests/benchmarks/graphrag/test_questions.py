import re

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.graphrag.questions import CONFIGS, Asked, asked_for, description_of, listed, row_of
from benchmarks.journal import Journal
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator


class Writer:
    """Lists as they are asked for; breaks off before a call of a number."""

    def __init__(self, breaks_at=99):
        self.prompts = []
        self.breaks_at = breaks_at

    def __call__(self, prompt):
        if len(self.prompts) == self.breaks_at:
            raise ModelUnavailable("it is away")
        said = prompt.messages[-1].content
        self.prompts.append(said)
        if "different questions" in said:
            task = re.search(r"task: (.*)", said)[1]
            return f"1. What do the notes say of {task}?\n2. Which theme is most common in the notes?"
        if "different tasks" in said:
            return f"1. Sorting what {re.search(r'studies it: (.*)', said)[1]} needs\n2. Counting what {len(self.prompts)} of them need"
        return "Here are two kinds:\n1. Teacher of a class\n2. Keeper of records"


async def made(tmp_path, writer):
    with Journal(tmp_path / "journal.jsonl") as journal:
        return await asked_for("notes", "Notes of a harbour.", ScriptedGenerator(writer), journal, n=2)


async def test_two_users_with_two_tasks_each_are_seven_calls_and_what_all_ask_is_asked_once(tmp_path):
    """1 + 2 + 4 calls, 8 questions; "which theme" comes four times and counts once."""
    writer = Writer()
    found = await made(tmp_path, writer)
    assert len(writer.prompts) == 7
    assert len(found) == 5
    assert found[0] == Asked(
        "notes-000",
        "What do the notes say of Sorting what Teacher of a class needs?",
        "Teacher of a class",
        "Sorting what Teacher of a class needs",
    )
    assert [one.question_id for one in found] == ["notes-000", "notes-001", "notes-010", "notes-100", "notes-110"]
    assert all("Notes of a harbour." in prompt for prompt in writer.prompts)


@pytest.mark.parametrize("breaks_at", [0, 1, 4, 6])
async def test_a_broken_run_goes_on_without_asking_twice(tmp_path, breaks_at):
    broken, rest = Writer(breaks_at), Writer()
    with pytest.raises(ModelUnavailable):
        await made(tmp_path / "a", broken)
    found = await made(tmp_path / "a", rest)
    assert len(broken.prompts) + len(rest.prompts) == 7
    assert len(found) == len(await made(tmp_path / "b", Writer()))


@pytest.mark.parametrize(
    ("reply", "items", "unread"),
    [
        ("", (), 0),
        ("1) What is told of gates?\n(2) What is told of pumps?", ("What is told of gates?", "What is told of pumps?"), 0),
        ("Why?\nQuestions:\n* **What is told of gates?**", ("What is told of gates?",), 2),
        ("How are pumps kept?\nHow are pumps kept?\nWhere are gates?\nWho is there?", ("How are pumps kept?", "Where are gates?"), 0),
    ],
)  # fmt: skip
def test_ugly_lists_are_read(reply, items, unread):
    found = listed(reply, most=2, end="?")
    assert (found.items, found.unread) == (items, unread)


def test_a_line_of_the_file_is_a_question_of_a_set_without_answers():
    row = row_of(Asked("notes-000", "What is told?", "Teacher", "Sorting"), "small")
    assert (row["id"], row["answers"], row["gold_doc_ids"], row["model"]) == ("notes-000", [], [], "small")


def test_the_shipped_descriptions_can_be_read_and_another_set_is_refused(root):
    file = root / CONFIGS / "descriptions.toml"
    assert all(description_of(name, file) for name in ("multihop_rag", "podcast"))
    with pytest.raises(BenchmarkError, match="does not describe 'letters'"):
        description_of("letters", file)
