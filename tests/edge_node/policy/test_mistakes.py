"""A policy that cannot be read is told of by line, with the field that was meant."""

import pytest

from edge_node.policy.patterns import line_of
from edge_node.policy.rules import parse
from shared.errors import InputError

FILE = """version = 1
unlabelled = "full"

[labels]
public = "full"
"two words" = "never"

[[exceptions]]
edges = ["ward-*"]
share = "full"

[[exceptions]]
edges = [
  "bank",
]
share = "full"

[redact]
names = ["x = y"]
"""


@pytest.mark.parametrize(
    ("where", "line"),
    [
        (("unlabelled",), 2),
        (("labels", "public"), 5),
        (("labels", "two words"), 6),
        (("exceptions", 0, "share"), 10),
        (("exceptions", 1, "share"), 16),
        (("exceptions", 1), 12),
        (("exceptions", 1, "edges", 0), 13),
        (("redact", "types"), 18),
        (("daily", "replies"), None),
        ((), None),
    ],
)
def test_a_field_is_found_or_the_part_around_it(where, line):
    assert line_of(FILE, where) == line


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('unlabeled = "full"', "line 2: unlabeled: there is no such field; did you mean unlabelled?"),
        ("\n[redact]\nidentifers = []", "line 4: redact identifers: there is no such field; did you mean identifiers?"),
        ("[daily]\nzzz = 1", "line 3: daily zzz: there is no such field"),
        ('[labels]\npublic = "ful"', "line 3: labels public: Input should be 'never', 'summary', 'evidence' or 'full'"),
        ('[[exceptions]]\nshare = "full"', "line 2: exceptions 1: an exception needs edges or purposes"),
        ("[labels\n", "Expected ']' at the end of a table declaration (at line 2, column 8)"),
        ('fault = "mine"', "fault: not a field"),
    ],
)
def test_a_mistake_is_told_with_its_line(wrong, said):
    with pytest.raises(InputError) as raised:
        parse(f"version = 1\n{wrong}")
    assert raised.value.message == f"the sharing policy cannot be read: {said}"


def test_several_mistakes_are_told_at_once():
    with pytest.raises(InputError, match=r"line 2: .*line 3: "):
        parse('version = 1\nquestions = "maybe"\nunlabelled = "much"')
