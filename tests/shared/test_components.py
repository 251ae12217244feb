import re
from pathlib import Path

from shared.components import CLOUD, COMPONENTS, OTHER, component_of

ROOT = Path(__file__).parents[2]
WITHOUT = {"cloud", "cloud: order"}  # the whole way to the cloud and back; a part of finding passages, which is no answer


def steps_named_in(package, prefix=""):
    """The steps that a package's code names in a call of ``step``."""
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / package).rglob("*.py")]
    return {prefix + name for text in texts for name in re.findall(r'trace\.step\("([^"]+)"\)', text)}


def test_no_step_belongs_to_two_components():
    steps = [step for group in COMPONENTS.values() for step in group]
    assert len(set(steps)) == len(steps)


def test_every_step_of_an_answer_has_a_component():
    steps = steps_named_in("edge_node") | steps_named_in("cloud_server", CLOUD)
    assert {"retrieve", "cloud: match"} <= steps
    assert {step for step in steps if component_of(step) == OTHER} == WITHOUT
