"""Goal P3: within a cell what is told says no more than epsilon, and it is told once: one draw a name for ever."""

import hashlib
import json
from collections import Counter

import numpy as np
import pytest

from edge_node.egress.memory_sharing import installed_surrogates
from edge_node.policy.rules import NAME_KINDS
from edge_node.policy.surrogates import CELL, NAMES, Drawing, drawn, key_of, name_key_of, responded
from shared.text.sentences import sentences

LIST = installed_surrogates()
RELEASED_LISTS = {
    1: "3857c3978b5a31a2c750aa14a2587a3f3b86cc63ceca619d276a82428bea401e"
}  # version to SHA-256: a list that was released is never edited
NAME, KIND = "Orrin Hale", "person"


def draw(name=NAME, kind=KIND, *, secret=b"a secret", epsilon=2.0):
    return drawn(name, kind, LIST, secret=secret, epsilon=epsilon)


def drawing(released=(), *, epsilon=2.0, budget=2.0):
    return Drawing(LIST, b"a secret", epsilon, budget, {name.name_key: name for name in released})


def cell_of(kind, name):
    row = LIST.names[kind].index(name)
    return LIST.names[kind][row - row % CELL : row - row % CELL + CELL]


def chances(n, seed=3):
    return np.random.default_rng(seed).integers(0, 2**64, size=(n, 2), dtype=np.uint64)


def counted(n, seed=3, epsilon=2.0, releases=1, fresh=False):
    """How often each name of a cell (row) leads to each guess (column) of who sees some releases of it and takes the most frequent."""
    counts = np.zeros((CELL, CELL), dtype=np.int64)
    for place in range(CELL):
        bits = chances(n * (releases if fresh else 1), seed=seed + place).reshape(n, -1, 2)
        told = responded(np.full(bits[..., 0].size, place), bits.reshape(-1, 2), epsilon=epsilon).reshape(n, -1)
        seen = told if fresh else np.repeat(told, releases, axis=1)
        guesses = np.stack([(seen == other).sum(axis=1) for other in range(CELL)]).argmax(axis=0)
        counts[place] = np.bincount(guesses, minlength=CELL)
    return counts


def tells_too_much(counts, epsilon):
    """The pairs of names that some output tells apart by more than e^epsilon, and three standard errors of that ratio."""
    found = []
    for one in range(CELL):
        for other in range(CELL):
            for output in range(CELL):
                a, b = counts[one, output], counts[other, output]
                sigma = np.sqrt(1 / max(a, 1) + 1 / max(b, 1))
                if a > max(b, 1) * np.exp(epsilon) * (1 + 3 * sigma):
                    found.append((one, other))
    return found


# ------------------------------------------------------------ the list


@pytest.mark.parametrize("kind", NAME_KINDS)
def test_a_list_has_256_names_in_whole_cells_and_no_two_are_one_name(kind):
    names = LIST.names[kind]
    assert (len(names), len({key_of(name) for name in names}), len(names) % CELL) == (NAMES, NAMES, 0)
    assert [name for name in names if not name.istitle() or sentences(name) != [(0, len(name))]] == []


def test_a_list_that_was_released_is_never_edited():
    told = json.dumps({kind: LIST.names[kind] for kind in sorted(LIST.names)}).encode()
    assert RELEASED_LISTS[LIST.version] == hashlib.sha256(told).hexdigest()


# ------------------------------------------------------------ the mechanism


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_in_a_million_draws_no_output_tells_two_names_of_a_cell_apart_by_more_than_e_to_the_epsilon(epsilon):
    assert tells_too_much(counted(125_000, epsilon=epsilon), epsilon) == []


def test_in_a_million_draws_each_name_of_a_cell_leads_to_each_as_often_as_it_should():
    counts = counted(125_000)
    keep = np.exp(2.0) / (np.exp(2.0) + CELL - 1)
    expected = counts.sum(axis=1, keepdims=True) * np.where(np.eye(CELL, dtype=bool), keep, (1 - keep) / (CELL - 1))
    chi_squared = ((counts - expected) ** 2 / expected).sum(axis=1)  # 7 degrees of freedom each
    assert chi_squared.max() < 24.3  # 0.999


def test_a_response_that_is_kept_a_little_too_often_is_found():
    assert tells_too_much(counted(125_000, epsilon=2.05), 2.0) != []


@pytest.mark.parametrize("epsilon", [1e-6, 2.0, 10.0])
def test_a_response_stays_in_the_cell_whatever_chance_says(epsilon):
    edges = np.array([[a, b] for a in (0, 2**63, 2**64 - 1) for b in (0, 2**63, 2**64 - 1)], dtype=np.uint64)
    for place in range(CELL):
        told = responded(np.full(len(edges), place), edges, epsilon=epsilon)
        assert set(told) <= set(range(CELL))
        assert set(told[6:]) <= set(range(CELL)) - {place}  # the highest chances keep nothing


def test_draws_by_the_secret_are_as_those_by_chance():
    names = LIST.names["place"][8:16]
    told = Counter(draw(names[3], "place", secret=b"%d" % n).surrogate for n in range(20_000))
    assert set(told) == set(names)
    keep = np.exp(2.0) / (np.exp(2.0) + CELL - 1)
    expected = [20_000 * (keep if name == names[3] else (1 - keep) / (CELL - 1)) for name in names]
    assert sum((told[name] - mean) ** 2 / mean for name, mean in zip(names, expected, strict=True)) < 24.3


def test_the_stand_ins_of_names_that_are_not_in_the_list_are_spread_over_all_cells():
    rows = Counter(
        LIST.names["person"].index(draw(f"Orrin Hale{letter}{other}").surrogate) // CELL for letter in LETTERS for other in LETTERS
    )
    assert len(rows) == NAMES // CELL
    assert sum((n - 676 / 32) ** 2 / (676 / 32) for n in rows.values()) < 61.1  # 31 degrees of freedom, 0.999


LETTERS = "abcdefghijklmnopqrstuvwxyz"


# ------------------------------------------------------------ one draw a name, for ever


def test_twenty_releases_say_what_one_says():
    assert tells_too_much(counted(12_500, releases=20), 2.0) == []
    assert (counted(12_500, releases=20) == counted(12_500)).all()


def test_twenty_draws_with_fresh_chance_tell_the_name():
    """The null control: the same guess, from a draw for each release."""
    counts = counted(2_000, releases=20, fresh=True)
    assert len(tells_too_much(counts, 2.0)) == CELL * (CELL - 1)
    assert np.diag(counts).sum() / counts.sum() > 0.95


@pytest.mark.parametrize("spelling", [NAME, "ORRIN HALE", "the Orrin Hale", "Orrin  Hale's", "Órrin Hale", "Orrin\u00ad Hale"])
def test_all_spellings_of_a_name_are_one_name(spelling):
    assert draw(spelling) == draw()


def test_a_name_that_is_typed_otherwise_later_is_still_told_as_before():
    before = draw()
    assert drawing([before]).of(NAME, "place") == before
    assert before.surrogate in LIST.names["person"]


def test_a_ledger_that_was_lost_brings_the_same_draw():
    first = drawing().of(NAME, KIND)
    assert (drawing().of(NAME, KIND), drawing([first]).of(NAME, KIND)) == (first, first)


def test_another_epsilon_never_draws_a_name_again():
    names = [f"{first} Hale" for first in LETTERS]
    before = [draw(name, epsilon=0.1) for name in names]
    assert [drawing(before, epsilon=2.0).of(name, KIND) for name in names] == before
    assert [draw(name).surrogate for name in names] != [name.surrogate for name in before]  # it would be another one


def test_draws_of_one_name_with_two_epsilons_hang_together_by_nothing():
    """Else a name that is kept at one and exchanged at the other, once both are told, is known for certain."""
    (cell,) = {cell_of("place", LIST.names["place"][0])}
    pairs = Counter(
        tuple(cell.index(draw(cell[2], "place", secret=b"%d" % n, epsilon=epsilon).surrogate) for epsilon in (0.5, 2.0))
        for n in range(8_000)
    )
    low, high = (np.exp(e) / (np.exp(e) + CELL - 1) for e in (0.5, 2.0))
    mean = 8_000 * (1 - low) / (CELL - 1) * (1 - high) / (CELL - 1)
    others = [pairs[a, b] for a in range(CELL) for b in range(CELL) if 2 not in (a, b)]
    assert sum((n - mean) ** 2 / mean for n in others) < 85.4  # 49 degrees of freedom, 0.999
    assert min(pairs[2, b] for b in range(CELL)) > 50  # kept at the low one only


def test_above_the_budget_no_name_is_drawn_and_those_that_were_stay():
    before = draw()
    stopped = drawing([before], epsilon=2.5, budget=2.0)
    assert (stopped.of(NAME, KIND), stopped.of("Ida Quill", KIND)) == (before, None)


def test_a_draw_at_the_budget_costs_its_epsilon_and_no_more():
    assert drawing(epsilon=2.0, budget=2.0).of(NAME, KIND) == draw()
    assert draw().epsilon == 2.0


# ------------------------------------------------------------ what the ledger holds


def test_the_ledger_has_neither_the_name_nor_what_can_be_made_without_the_secret():
    told = draw()
    assert NAME.split()[1] not in repr(told)
    assert len({name_key_of(NAME, secret) for secret in (b"a", b"b")}) == 2
    assert told.name_key == name_key_of("orrin hale", b"a secret")


def test_what_is_told_is_of_a_cell_that_the_secret_chooses_and_not_the_name():
    cells = {cell_of("person", draw(secret=b"%d" % n).surrogate) for n in range(400)}
    assert len(cells) == NAMES // CELL


def test_a_kind_that_is_missing_in_the_list_is_noticed():
    with pytest.raises(KeyError, match="organization"):
        type(LIST).parse("version = 1\nperson = [['Ada Haldrey']]")
