"""What is asked of edges with and without a tree, and what the model is seen to read."""

import orjson

from benchmarks.erarag.tree import Listening, TreeSet, figures
from shared.models.fake import ScriptedGenerator
from shared.ports import Message, Prompt


def written(folder, documents, questions):
    corpus = [{"doc_id": name, "title": name, "text": f"{name} stands at the quay."} for name in documents]
    asked = [{"id": str(n), "question": f"Q{n}?", "answers": ["quay"], "gold_doc_ids": gold} for n, gold in enumerate(questions)]
    for name, rows in (("corpus.jsonl", corpus), ("questions.jsonl", asked)):
        (folder / name).write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return folder


def test_a_bounded_set_holds_what_its_questions_need_and_keeps_another_document_for_last(tmp_path):
    folder = written(tmp_path, "abcde", [["b", "d"], ["a"], ["c", "e"], []])
    found = TreeSet.read(folder, documents=3, questions=9)
    assert [name for name, _ in found.documents] == ["a", "b", "d"]
    assert found.last[0] == "c"
    assert {one.key for one in found.questions} == {"0", "1"}


def test_all_documents_are_read_and_the_last_of_them_comes_by_itself(tmp_path):
    found = TreeSet.read(written(tmp_path, "abc", [["a"]]), documents=None, questions=9)
    assert ([name for name, _ in found.documents], found.last[0]) == (["a", "b"], "c")


async def test_what_stood_above_the_question_is_kept_and_a_prompt_without_passages_does_not_replace_it():
    heard = Listening(ScriptedGenerator(lambda _: "Yes."))
    said = "Passages:\n[1] The pump failed.\n\nSummaries of several passages:\n[2] Pumps.\nQuestion: Which?"
    for content in (said, "Summarise this."):
        await heard.generate(Prompt((Message("user", content),), 8), deadline_s=1.0)
    assert heard.read == "Passages:\n[1] The pump failed.\n\nSummaries of several passages:\n[2] Pumps."
    assert heard.calls == 2


def test_shares_are_told_by_system_with_their_intervals():
    row = {"system": "tree", "right": True, "covered": True, "covered_by_summaries": False, "answer": "quay"}
    row |= {"summaries": 2, "cited": 1, "calls": 1, "tokens": 10, "seconds": 1.0}
    told = figures([row, {**row, "right": False}])
    assert list(told) == ["tree"]
    assert told["tree"]["right"][0] == 0.5
    assert told["tree"]["right"][1] < 0.5 < told["tree"]["right"][2]
