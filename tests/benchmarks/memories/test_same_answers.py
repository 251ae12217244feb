import orjson

from benchmarks.memories.same_answers import SAME, Row, Told, bar, figures, near_of, read
from shared.models.fake import HashEmbedder

LEARNED = "Who built Orrin Mill?"


def sets(tmp_path):
    """A folder of one set with one question, beside another that was never learned; the file that names the first one."""
    (tmp_path / "mills").mkdir()
    rows = [{"id": "a", "question": "q", "answers": ["Ann Lee"], "decomposition": [{"question": LEARNED, "answer": "Ann Lee"}]}]
    rows.append({"id": "b", "question": "Where is the weir?", "answers": ["in Fenlow"]})
    (tmp_path / "mills" / "questions.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    file = tmp_path / "named.jsonl"
    near = {"differs": "relation", "question": "Who burnt Orrin Mill?"}
    file.write_bytes(orjson.dumps({"set": "mills", "id": "a", "step": 0, "again": ["Orrin Mill was built by who?"], "others": [near]}))
    return tmp_path, file


async def rows_of(tmp_path, *, again, near):
    learned, asked = read(*sets(tmp_path))
    found = await near_of(asked, learned, HashEmbedder())
    sure = {SAME: again, "relation": near}
    return learned, [
        Row(told, some, tuple((one, sure[told.kind]) for one in some if told.kind in sure)) for told, some in zip(asked, found, strict=True)
    ]


async def test_what_was_learned_is_near_its_other_words_and_nothing_is_near_another_question(tmp_path):
    learned, rows = await rows_of(tmp_path, again=0.9, near=0.5)
    assert [memory.question for memory in learned.values()] == [LEARNED]
    assert [row.told for row in rows[1:]] == [
        Told("a/0", "relation", "Who burnt Orrin Mill?"),
        Told("a", "further", "q"),
        Told("b", "further", "Where is the weir?"),
    ]
    assert [len(row.near) for row in rows] == [1, 1, 0, 0]


async def test_an_answer_to_a_question_that_asks_otherwise_is_false_and_the_bar_lies_above_it(tmp_path):
    learned, rows = await rows_of(tmp_path, again=0.9, near=0.8)
    assert bar(rows, learned) == 0.9
    told = figures(rows, learned, [20.0])
    assert told["product"]["again"]["mean"] == 1.0
    assert told["product"]["by_kind"] == {"further": [0, 2], "relation": [1, 1]}
    assert told["product"]["false"] == ["Who burnt Orrin Mill?"]
    assert told["p50_ms"] == 20.0
