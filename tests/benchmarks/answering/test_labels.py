import math
from pathlib import Path

import orjson
import pytest

from benchmarks.answering import labels
from benchmarks.answering.labels import LABELS, Labelled, auc, fingerprint, labelled, measured
from benchmarks.errors import BenchmarkError
from shared.ports import Reply

TEXTBOOKS = Path(__file__).parents[3] / "../shared/data/standin_textbooks"
REFERENCE = "Ann Lee repaired the pump, and Bo Orr wrote the report."
ROW = {"_id": "q", "input": "What happened?", "answers": [REFERENCE], "context": "Ann Lee repaired the pump. It rained."}


def pair(text, says, kind="claims", statement="The pump was repaired."):
    return Labelled(kind, text, "What happened?", text, statement, says)


def test_a_score_that_puts_each_yes_above_each_no_has_an_auc_of_one_and_a_constant_one_of_a_half():
    pairs = [pair("a", True), pair("b", False), pair("c", True), pair("d", False)]
    assert auc(pairs, [0.9, 0.1, 0.8, 0.2])["mean"] == 1.0
    assert auc(pairs, [0.5] * 4)["mean"] == 0.5
    assert auc(pairs, [0.1, 0.9, 0.2, 0.8])["mean"] == 0.0


async def test_a_model_that_knows_is_told_from_one_that_always_says_yes():
    pairs = [pair(f"{kind}{number}", number < 3, kind, f"It is {number}.") for kind in ("claims", "support") for number in range(6)]

    class Knowing:
        async def generate(self, prompt, *, deadline_s):
            says = any(f"It is {number}." in prompt.messages[-1].content for number in range(3))
            return Reply(("Yes",), 9, 1, first_token={"Yes": math.log(0.7 if says else 0.3), "No": math.log(0.3 if says else 0.7)})

    class Agreeing:
        async def generate(self, prompt, *, deadline_s):
            return Reply(("Yes",), 9, 1, first_token={"Yes": math.log(0.9), "No": math.log(0.1)})

    knowing, agreeing = await measured(pairs, Knowing()), await measured(pairs, Agreeing())
    assert [knowing[kind]["auc"]["model"]["mean"] for kind in ("claims", "support")] == [1.0, 1.0]
    assert [agreeing[kind]["auc"]["model"]["mean"] for kind in ("claims", "support")] == [0.5, 0.5]


def test_a_text_that_is_not_the_one_that_was_labelled_is_an_error(tmp_path, monkeypatch):
    text, stated = "Ann Lee repaired the pump.", labels.statements(ROW, None)
    line = {"question": "q", "by": "picked", "spans": [[0, 26]], "says": [1, None], "sha": fingerprint(text, stated)}
    (tmp_path / "claims.jsonl").write_bytes(orjson.dumps(line))
    (tmp_path / "support.jsonl").write_bytes(b"")
    monkeypatch.setattr(labels, "LABELS", tmp_path)
    (found,) = labelled({"q": ROW})  # what was not labelled is left out
    assert (found.statement, found.text, found.says) == (stated[0], text, True)
    with pytest.raises(BenchmarkError, match="not those that were labelled"):
        list(labelled({"q": ROW | {"context": "Bo Orr repaired the pump. It rained."}}))


@pytest.mark.parametrize("kind", ["claims", "support"])
def test_at_least_a_hundred_pairs_are_labelled_both_ways(kind):
    rows = [orjson.loads(line) for line in (LABELS / f"{kind}.jsonl").read_bytes().splitlines()]
    says = [one for row in rows for one in row["says"] if one is not None]
    assert len(says) >= 100
    assert 30 <= sum(says) <= len(says) - 30


@pytest.mark.skipif(not TEXTBOOKS.is_dir(), reason="needs the evaluation data")
def test_the_labels_belong_to_the_data_that_is_there():
    lines = [orjson.loads(line) for file in sorted(TEXTBOOKS.glob("*.jsonl")) for line in file.read_bytes().splitlines()]
    assert len(list(labelled({row["_id"]: row for row in lines}))) > 200
