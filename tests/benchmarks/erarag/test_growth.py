"""What a growing tree costs, counted on an edge with models that take no time."""

from collections import Counter

from benchmarks.erarag.growth import Growing
from benchmarks.erarag.growth_models import Counting, Remembering
from benchmarks.instant_edge import running
from shared.models.fake import HashEmbedder, WordTokenizer


class Listening(Counting):
    """Keeps what it was asked to summarise."""

    def __init__(self):
        super().__init__(WordTokenizer())
        self.asked = Counter()

    async def generate(self, prompt, *, deadline_s):
        listed = [line for line in prompt.messages[-1].content.splitlines() if line.startswith("- ")]
        self.asked["\n".join(listed)] += 1
        return await super().generate(prompt, deadline_s=deadline_s)


async def test_every_text_is_paid_for_once_and_none_is_left_for_the_next_step(tmp_path):
    models, tree = Listening(), {"tree_min": 2, "tree_max": 3}
    edge = Growing(tmp_path, models, Remembering(HashEmbedder()), WordTokenizer(), tree)
    documents = [(f"{number}.txt", f"Unit {number} stands beside gate {number % 4}. It is number {number}.") for number in range(13)]
    async with running(edge.node):
        first = await edge.add(documents[:12])
        second = await edge.add(documents[12:])
        assert edge.node.strategy.stale == 0
    assert max(models.asked.values()) == 1
    assert first.calls + second.calls == models.calls
    assert 0 < second.calls < first.calls
