import pytest

from edge_node.policy.persons import may_be_persons
from edge_node.policy.redaction import Redactor
from edge_node.policy.rules import Redact


def found(text):
    return [text[start:end] for start, end in may_be_persons(text)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("| Resident | Diet |\n|---|---|\n| Hui-Ling Chang | soft |", ["Hui-Ling Chang"]),
        ("Kind regards\nLeila Fairfax\nHead of Service", ["Leila Fairfax"]),
        ("Tarrow, Beatrice\nEze, Ike; 1974\nIn Exeter, Dundee and Cardiff it rained.", ["Tarrow, Beatrice", "Eze, Ike", "Tarrow", "Eze"]),
        ("J. R. Hetherington, the nurse Nair and BEATRICE TARROW RN came.", ["J. R. Hetherington", "nurse Nair", "BEATRICE TARROW RN"]),
        ("Bea Tarrow MD and Mohammed bin Saleh left. Saleh's bed is free.", ["Bea Tarrow", "Mohammed bin Saleh", "Saleh"]),
        ("The report of the whole month was signed by Bea\nTarrow.", ["Bea\nTarrow"]),
        ("Stanmore Hospital Dr Tarrow", ["Dr Tarrow"]),
    ],
)
def test_a_name_is_seen_in_rows_letters_registers_and_running_text(text, names):
    assert found(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "Caldwell Bank and Harrow Instruments Ltd met at Juniper Ward in New York on Good Friday.",
        "The Miami Dolphins beat the Kansas City Chiefs.",
        "The pump of Lot L stood in Line Three of Exeter. Then it broke.",
        "Monday\nExeter\nGoogle's office",
    ],
)
def test_null_control_what_is_plainly_a_thing_is_no_person(text):
    assert found(text) == []


def test_such_names_are_masked_in_english_under_a_mask_of_persons_alone():
    text = "Bea Tarrow met Leila Fairfax."
    assert Redactor.of(Redact(types=["person"])).mask(text) == "[name]████ met [name]███████."
    assert Redactor.of(Redact(types=["place"]), ["Exeter"]).mask(text) == text
    assert Redactor.of(Redact(types=["person"])).mask_question("Wann kam Chefarzt Tarrow?") == "Wann kam Chefarzt Tarrow?"
