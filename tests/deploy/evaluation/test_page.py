"""The page of an evaluation."""

import re
from dataclasses import replace

from deploy.evaluation.figures import Change
from deploy.evaluation.page import page
from deploy.evaluation.questions import OwnQuestion
from deploy.evaluation.verdicts import Reply, judged
from shared.records import Answer, ChunkId, Citation, DocumentId, EdgeId, TraceStep

HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}\"'"


def test_no_text_of_a_file_or_of_a_service_becomes_markup():
    asked = OwnQuestion(2, HOSTILE, HOSTILE, (HOSTILE,))
    citation = Citation(1, EdgeId(HOSTILE), DocumentId("d"), HOSTILE, ChunkId("d:0"), (0, 9), HOSTILE, 0.5)
    answer = Answer("q", HOSTILE, (citation,), "local", reason=HOSTILE, trace=(TraceStep("a", 1.0),))
    failed = judged(replace(asked, question="Why?"), Reply("Why?", 1.0, None, HOSTILE))
    text = page([judged(asked, Reply(HOSTILE, 1.0, answer)), failed], {"edge": HOSTILE}, [Change(HOSTILE, 1.0, 0.0)])
    assert re.findall(r"<(?:script|img|link|iframe|a|form)\b|\son\w+=[^&]|\sstyle=|@import|url\(", text.replace("onerror=alert", "")) == []
    assert "{{ 7 * 7 }}" in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 10
    assert "default-src 'none'" in text
    assert ".card > :first-child { margin-top: 0; }" in text, "the style sheet stands there as it is"


def test_each_question_shows_what_was_expected_what_came_and_why_it_counts():
    asked = OwnQuestion(2, "Which lot?", "Lot L-7713, and Line Three made it.", ("plant",))
    citation = Citation(1, EdgeId("plant"), DocumentId("d"), "report.md", ChunkId("d:0"), (0, 9), "Lot L-7713 failed.", 0.5)
    right = judged(asked, Reply("Which lot?", 1.25, Answer("q", "Lot L-7713 failed [1].", (citation,), "cloud")))
    text = page([right], {"edge": "ward", "mode": "auto"}, None)
    told = re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL))
    for said in ("1 question to ward", "not correct", "told Lot L-7713", "not told Line Three made it", "1 of 1 sentences supported"):
        assert said in told
    assert "[1] plant · report.md – “Lot L-7713 failed.”" in told
    assert "other run" not in told
