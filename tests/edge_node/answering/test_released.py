"""The index of masked passages follows the names that are masked, and is ready before the first question from elsewhere."""

import random

import httpx2
import pytest

from edge_node.answering.released import ReleasedPassages
from edge_node.egress.policy_file import NAME
from edge_node.policy.redaction import Redactor
from edge_node.policy.rules import Redact
from tests.support.running_edge import running_edge
from tests.support.settling import Bench
from tests.support.waiting import until

NAMES = ["Ann Lee", "Lee Ward", "Quentin von Obermayer", "Ayşe Yılmaz", "Mortar", "Q. Ward", "Nightin Gale"]
SAYINGS = [
    "Ann Lee met L. Ward",
    "the ward by the lee",
    "Lee,\nAnn",
    "Quen\u00adtin von Obermayer",
    "A. Lee and Ayse Yilmaz",
    "a mortar",
    "Nightin-\ngale",
    "QUENTIN Ward",
    "",
]


@pytest.mark.parametrize("seed", range(4))
async def test_after_any_changes_of_names_the_masked_passages_are_those_of_a_fresh_build(tmp_path, seed):
    rng = random.Random(seed)
    async with Bench.opened(tmp_path) as bench:
        for row in range(40):
            text = f"Report {row}: {rng.choice(SAYINGS)} and {rng.choice(SAYINGS)} in room {row}."
            await bench.add(f"{row}.md", ("room",), text=text, title=rng.choice(SAYINGS))
        released = ReleasedPassages(bench.tools, bench.tools.releases)
        for _ in range(6):
            redactor = Redactor.of(Redact(types=["person"]), rng.sample(NAMES, rng.randrange(len(NAMES))), rng.sample(["lee", "ward"], 1))
            fresh = ReleasedPassages(bench.tools, bench.tools.releases)
            await released.renew(redactor)
            await fresh.renew(redactor)
            assert released._known == fresh._known
            for word in ("name", "lee", "ann", "ward", "obermayer", "yilmaz", "gale", "mortar"):
                assert dict(released._words.matches(word).top(99)) == pytest.approx(dict(fresh._words.matches(word).top(99)))


async def test_a_new_name_has_only_the_passages_masked_anew_that_say_a_word_of_it(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path) as bench:
        for row in range(30):
            await bench.add(f"{row}.md", ("room",), text=f"Room {row} was cleaned by {'Ann Lee' if row < 3 else 'the staff'}.")
        released = ReleasedPassages(bench.tools, bench.tools.releases)
        await released.renew(Redactor.of(Redact(types=["person"]), ["Jo Gray"]))
        asked = noted(monkeypatch)
        await released.renew(Redactor.of(Redact(types=["person"]), ["Jo Gray", "Ann Lee"]))
        assert len(asked) == 3


async def test_an_edge_has_its_passages_masked_before_anybody_asks(tmp_path, monkeypatch):
    (tmp_path / NAME).write_text('version = 1\n[redact]\nnames = ["Ann Lee"]\n')
    async with running_edge(tmp_path) as edge:
        await edge.add("a.md", "Ann Lee cleaned the room on Monday.")
    asked = noted(monkeypatch)
    away = httpx2.AsyncClient(base_url="http://cloud", transport=httpx2.MockTransport(lambda _: httpx2.Response(503)))
    async with away, running_edge(tmp_path, cloud=away):
        await until(lambda: asked)


def noted(monkeypatch):
    """The passages that are masked from now on."""
    asked, masked = [], ReleasedPassages.masked
    monkeypatch.setattr(ReleasedPassages, "masked", lambda self, keys, redactor: asked.extend(keys) or masked(self, keys, redactor))
    return asked
