"""Messages count as people do."""

import pytest

from deploy.cli import render
from deploy.cli.sending import EdgeStatus
from shared.plural import counted
from shared.records import EdgeId, EdgeReport
from shared.reduce import coverage, coverage_alone


@pytest.mark.parametrize(("number", "said"), [(0, "0 memories"), (1, "1 memory"), (2, "2 memories"), (1000, "1,000 memories")])
def test_one_thing_is_not_several(number, said):
    assert counted(number, "memory", "memories") == said


def test_what_a_person_reads_of_one_thing_is_in_the_singular():
    kept = {"summaries": 1, "all_summaries": 1, "documents": 1, "all_documents": 1}
    kept["holds"] = [{"rule": "types", "documents": 0, "passages": 1, "line": "", "advice": "wait"}]
    status = EdgeStatus("ward", policy={"kept_back": kept}, memory={"template": 1})
    assert render.kept_back(status) == [
        "ward: its sharing policy lets 0 of 1 summary and 0 of 1 document leave",
        "  types, holds 1 passage; wait",
    ]
    assert render.memory_line(status).startswith("remembers 1 question (")
    assert "0 of 1 summary leave" in render.withheld_line({"edge": "ward", "summaries": 0, "withheld": 1})
    assert coverage_alone(read=1, there=1) == "this site alone: 1 of 1 report"
    report = EdgeReport(EdgeId("ward"), "reports", "answered", 1.0, 9, 1, reports=1, reports_there=1)
    assert coverage([report]) == "1 of 1 site answered: ward (1 of 1 report)"
