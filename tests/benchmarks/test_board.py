from io import StringIO

from rich.console import Console

from benchmarks.board import COLUMNS, headline

SHARE, TOKENS = {"mean": 0.5, "low": 0.412, "high": 0.588, "n": 125}, {"mean": 1180.6, "low": 1037.1, "high": 1338.0, "n": 125}
OF_SYSTEM = dict.fromkeys(COLUMNS, SHARE) | {"cloud_tokens_in": TOKENS}
SYSTEM = {"split": "domain", "scenario": "out", "system": "dgrag-no-confidence", "errors": 2, "metrics": OF_SYSTEM}
FOUND = {"split": "2wikimultihopqa", "system": "federated-operator"} | dict.fromkeys(("recall@2", "recall@5", "recall@10"), SHARE)


def test_the_figures_of_a_run_fit_into_80_columns_and_no_name_or_number_is_cut():
    console = Console(file=StringIO(), width=80)
    for table in headline({"systems": [SYSTEM], "retrieval": [FOUND], "routing": [], "storage": [], "tokens": []}):
        console.print(table)
    told = console.file.getvalue()
    assert (told.count("0.500 n=125"), told.count("0.412–0.588"), "1037.1–1338.0" in told) == (7, 7, True)
    assert "federated-operator" in told
    assert "…" not in told
