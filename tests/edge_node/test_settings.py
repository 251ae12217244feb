import pytest
from pydantic import ValidationError

from edge_node.settings import EdgeSettings


def test_the_finest_communities_may_be_as_large_as_the_parts_and_not_larger():
    assert EdgeSettings(community_entities=20, subgraph_entities=20).community_entities == 20
    with pytest.raises(ValidationError, match="at most subgraph_entities = 19"):
        EdgeSettings(community_entities=20, subgraph_entities=19)


def test_small_parts_need_no_other_setting():
    assert EdgeSettings(subgraph_entities=2).community_entities == 10  # a part is then not divided


@pytest.mark.parametrize(
    "wrong",
    [
        {"community_entities": 1},
        {"community_entities": 41, "subgraph_entities": 80},
        {"community_tie": 1.1},
        {"report_context_tokens": 199},
        {"report_tokens": 63},
        {"report_findings": 11},
    ],
)
def test_settings_of_reports_have_their_ranges(wrong):
    with pytest.raises(ValidationError):
        EdgeSettings(**wrong)


def test_languages_of_text_in_images_are_names_of_files_without_a_path():
    assert EdgeSettings(ocr_languages="deu, chi_sim,").ocr_languages == "deu,chi_sim"
    for wrong in ("../eng", "deu,deu", "de-AT", ",".join(f"l{number}" for number in range(9))):
        with pytest.raises(ValidationError, match="each once, as in deu,fra,chi_sim"):
            EdgeSettings(ocr_languages=wrong)
