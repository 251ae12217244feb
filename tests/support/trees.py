"""Trees over documents whose words place them beside some others."""

import json

from edge_node.records import silent
from tests.support.settling import Bench

SMALL = {"strategy": "erarag", "tree_min": 2, "tree_max": 3, "tree_bits": 8}
PLACES = (
    "ward",
    "gate",
    "mill",
    "bank",
    "port",
    "farm",
    "lake",
    "road",
    "hill",
    "yard",
    "dock",
    "barn",
    "vault",
    "tower",
    "field",
    "house",
)


def text_of(number):
    """A text whose words place it beside some others; one word is its own."""
    near, far = PLACES[number % 16], PLACES[number // 2 % 16]
    return f"The {near} has a {far} and unit{number}. Nobody walks from the {far} to the {near}."


async def add(bench, number):
    await bench.add(f"{number}.md", (f"Unit {number}",), text=text_of(number))


def tree_of(bench):
    """What is stored, without vectors."""
    rows = bench.database.rows("SELECT node_id, level, members, made_of, by_model, text FROM tree_nodes ORDER BY node_id")
    return [tuple(row) for row in rows]


def shown(bench):
    """The same as the grower has it."""
    [method] = bench.strategy.methods
    nodes = method._grower.view.nodes.values()
    return sorted((one.node_id, one.level, json.dumps(one.members), json.dumps(one.made_of), int(one.by_model), one.text) for one in nodes)


def leaves_of(bench):
    return sorted(member for row in tree_of(bench) if row[1] == 1 for member in json.loads(row[2]))


async def built(folder, numbers, **more):
    async with Bench.opened(folder, **SMALL | more) as bench:
        for number in sorted(numbers):
            await add(bench, number)
        await bench.settle()
        return tree_of(bench)


def said(prompt):
    return "The passages tell of wards and gates. They name some units."


async def refined(bench):
    while bench.strategy.stale:
        await bench.strategy.refine(silent)


async def opened_by_model(folder, count=12, **more):
    bench = Bench(folder, None, None, SMALL | {"summaries": "model", "subgraph_entities": 40} | more)
    bench.reply = said
    await bench.strategy.open()
    for number in range(count):
        await add(bench, number)
    await bench.settle()
    return bench
