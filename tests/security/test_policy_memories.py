"""Goals S11, P3, P5 of memories: what everybody may not have of a document, or what hides a name, is in nothing that leaves."""

import random
import re

from edge_node.egress.memory_sharing import installed_surrogates
from edge_node.memory.records import Support, memory_of
from edge_node.memory.release import MemoryRelease
from edge_node.policy.hints import Names
from edge_node.policy.redaction import Redactor
from edge_node.policy.rules import Policy, parse
from edge_node.policy.surrogates import Drawing
from shared.records import EntityMention
from tests.support.planting import KINDS, planted, traces
from tests.support.policies import EDGES, LABELS, PURPOSES, RandomPolicy

POLICIES = 300
DOCUMENTS = 6
PLANTED = 1_000
SECRET = b"a secret"


def shared_text(found):
    return "\n".join(f"{memory.question} {memory.answer}" for memory in found.leaving)


def released(policy, labels, memories, mentions=(), ledger=()):
    """What leaves under a policy. labels: of each document."""
    levels = {document: policy.level_for_all(of_it) for document, of_it in labels.items()}
    rules = policy.memories
    drawing = Drawing(installed_surrogates(), SECRET, rules.epsilon, rules.epsilon_budget, {name.name_key: name for name in ledger})
    names = Names.of([EntityMention("", name, kind, "", f"{document}:0") for name, kind, document in mentions], levels)
    return MemoryRelease(rules, policy.minimum_support, levels, names, Redactor.of(policy.redact), drawing).released(memories)


def word(number):
    return f"zq{'abcdefgh'[number]}w"


def site(rng):
    """Documents with labels, and memories that each rest on one or two of them and hold their canaries."""
    labels = {f"d{n}": tuple(rng.sample([*LABELS, "unheard-of"], rng.choice((0, 1, 1, 2)))) for n in range(DOCUMENTS)}
    memories = []
    for number in range(2 * DOCUMENTS):
        rests_on = rng.sample(range(DOCUMENTS), rng.choice((1, 1, 2)))
        question = f"Who moved the {' and the '.join(map(word, rests_on))} pump of Orrin Mill to {number}?"
        supports = [Support(f"d{n}:0", 0, number) for n in rests_on]
        memories.append((rests_on, memory_of("template", question, "Ann Lee", supports, [])))
    return labels, memories


def wrongly_told(policy, text, labels, memories, found):
    """The memories that left of documents that somebody may not have, by an oracle that asks for each requester and purpose."""
    asked = [(requester, purpose) for requester in EDGES for purpose in PURPOSES]
    may = {document: min(policy.summary(of_it), *(policy.evidence(of_it, *who) for who in asked)) for document, of_it in labels.items()}
    left = {memory.memory_id: memory for memory in found.leaving}
    for rests_on, memory in memories:
        least = min(may[f"d{n}"] for n in rests_on)
        if (shared := left.get(memory.memory_id)) and least < (3 if shared.direct else 1):
            yield memory.question
    closed = {word(n) for n in range(DOCUMENTS) if may[f"d{n}"] < 1}
    yield from (canary for canary in closed if canary in shared_text(found))
    yield from (name for name in policy.masked if name in shared_text(found))
    if "share = 'hints'" in text:
        yield from (name for name in ("Orrin", "Ann Lee") if name in shared_text(found))


def campaign(policies):
    rng, wrong, direct, hints = random.Random(17), [], 0, 0
    mentions = [("Orrin Mill", "place", "d0"), ("Ann Lee", "person", "d0"), ("Orrin Mill", "place", "d1"), ("Ann Lee", "person", "d1")]
    for _ in range(policies):
        labels, memories = site(rng)
        policy = RandomPolicy.drawn(rng, [word(n) for n in range(DOCUMENTS)])
        text = f"version = 1\n{policy.text()}\n[memories]\nshare = {rng.choice(('answers', 'hints', 'off'))!r}"
        found = released(parse(text), labels, [memory for _, memory in memories], mentions)
        wrong += wrongly_told(policy, text, labels, memories, found)
        direct += sum(memory.direct for memory in found.leaving)
        hints += sum(not memory.direct for memory in found.leaving)
    assert min(direct, hints) > policies / 10  # it told something
    return wrong


def test_no_memory_leaves_of_a_document_that_somebody_may_not_have():
    assert campaign(POLICIES) == []


def test_exceptions_that_are_not_looked_at_let_memories_out(monkeypatch):
    monkeypatch.setattr(Policy, "level_for_all", Policy.summary_level)
    assert campaign(POLICIES // 10) != []


def test_of_1000_planted_identifiers_none_is_in_a_memory_that_leaves():
    rng, memories, secrets = random.Random(19), [], []
    for number in range(PLANTED):
        code = planted(KINDS[number % len(KINDS)], rng)
        secrets += traces(KINDS[number % len(KINDS)], code)
        memories.append(
            memory_of("model", f"Who wrote {code} on form {'i' * (number % 40)}?", f"the {code} nurse", [Support("d:0", 0, number)], [])
        )
    policy = parse(f"version = 1\n[redact]\nidentifiers = {list(KINDS)}\n[memories]\nshare = 'answers'")
    text = shared_text(released(policy, {"d": ()}, memories))
    assert text.count("Who wrote") > 30
    assert [secret for secret in secrets if secret in text] == []


def test_without_redaction_a_hint_holds_no_digit_no_address_and_no_name_that_nobody_knows():
    rng, memories = random.Random(23), []
    for number in range(PLANTED):
        code = planted(KINDS[number % len(KINDS)], rng)
        name = rng.choice(["Orrin Hale", "orrin Hale", "McHale", "H. Ek", "李", "the USS Hale", "Ødegård", "Ann Leeson", "Lee, Ann B."])
        question = rng.choice(
            [f"Who wrote {code}?", f"Who told {name} of it?", f"Where is {name}, {code}?", f"What has Ann Lee of {name}?"]
        )
        memories.append(memory_of("model", question, rng.choice([name, code, "the ward", "Ann Lee"]), [Support("d:0", 0, number)], []))
    policy = parse("version = 1\n[memories]\nshare = 'hints'")
    found = released(policy, {"d": ()}, memories, [("Ann Lee", "person", "d")])
    (lee,) = found.drawn
    rest = re.sub(r"(?m)^(Who|Where|What)\b", "", shared_text(found).replace(lee.surrogate, ""))
    assert len(found.leaving) > 4
    assert [character for character in rest if character.isdigit() or character.isupper() or character in "@李"] == []


def life(number, ledger, *, kind="person", epsilon=2.0):
    """What a site tells of a name that it reads in another document each time."""
    policy = parse(f"version = 1\n[memories]\nshare = 'hints'\nepsilon = {epsilon}")
    memories = [memory_of("template", f"Who is Ann Lee {'of' * number}?", "", [Support(f"d{number}:0", 0, 9)], [])]
    return released(policy, {f"d{number}": ()}, memories, [("Ann Lee", kind, f"d{number}")], ledger)


def test_a_name_that_is_read_again_is_told_by_one_surrogate_also_from_a_backup_without_it():
    lives = [life(number, ()) for number in range(20)]
    assert len({name for found in lives for name in found.drawn}) == 1


def test_a_name_in_the_ledger_is_told_by_one_surrogate_whatever_the_policy_and_the_graph_say_of_it():
    first = life(0, ()).drawn
    lives = [
        life(number, first, kind=kind, epsilon=epsilon) for number in range(5) for kind in ("person", "place") for epsilon in (0.1, 5.0)
    ]
    assert {name for found in lives for memory in found.leaving for name in memory.names} == set(first)
    assert all(found.leaving and not found.drawn for found in lives)
