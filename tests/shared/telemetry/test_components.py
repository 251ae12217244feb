import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from shared.records import TraceStep
from shared.telemetry.trace import CLOUD, COMPONENTS, ESCALATED, OTHER, component_of, transmission_ms

WITHOUT = {"cloud"}  # the whole way to the cloud and back


ROOT = Path(__file__).parents[3]


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


MS = st.floats(0, 1e6)


@given(MS, st.lists(MS, min_size=1), st.lists(st.tuples(st.sampled_from(["samples", "cloud: law: retrieve"]), MS)))
def test_transmission_is_what_the_clouds_own_steps_leave_of_the_wait_and_never_negative(waited, did, others):
    own = [TraceStep("cloud: generate", ms) for ms in did]
    told = transmission_ms([TraceStep(ESCALATED, waited), *own, *(TraceStep(*other) for other in others)])
    assert told == max(0.0, waited - sum(did))


@given(MS, MS)
def test_without_both_sides_there_is_no_transmission(waited, did):
    assert transmission_ms([TraceStep(ESCALATED, waited), TraceStep("cloud: law: match", did)]) is None
    assert transmission_ms([TraceStep("cloud: match", did)]) is None
