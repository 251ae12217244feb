"""Documents that say one thing, and idle time in which something is made of them."""

from tests.support.settling import Bench

PLAIN = {"memory": "plain"}
BUILT = {"Orrin Mill": "1962", "Tarrow Bridge": "1871", "Heron Gate": "1998", "Fenlow Lock": "1790"}


def sentence(name, year=""):
    return f"{name} was built in {year or BUILT[name]}."


async def build(bench, name, year="", *, document="", more=""):
    """A document that says when something was built, and its id."""
    said = sentence(name, year)
    facts = [(0, len(said), name, "place", "was built", "build", "in", year or BUILT[name], "date", False)]
    return await bench.add(document or name, [name], text=f"{said}{more}", facts=facts)


async def idle(bench):
    """Until nothing waits; each turn leaves less to do."""
    await bench.settle()
    while before := bench.strategy.stale:
        await bench.refine()
        assert bench.strategy.stale < before


async def asked(bench, question, *, k=5, floor=0.9, withheld=frozenset(), others=False):
    """What is recalled for a question, best first."""
    vector = (await bench.tools.embedder.embed([question]))[0]
    return await bench.strategy.memories.recalled(question, vector, k=k, floor=floor, withheld=frozenset(withheld), others=others)


async def answers(bench, question, **limits):
    return [one.scored.memory.answer for one in await asked(bench, question, **limits)]


async def remembered(bench):
    """All that is remembered, as people see it."""
    return await bench.strategy.memories.page("", 1000)


def remembering(folder, **settings):
    return Bench.opened(folder, **(PLAIN | settings))
