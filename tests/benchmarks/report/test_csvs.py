from benchmarks.report.csvs import as_csv
from benchmarks.report.tables import Column, Table
from deploy.evaluation.intervals import Estimate


def test_an_estimate_takes_four_columns_and_a_share_stays_a_fraction():
    table = Table("t", "T", (Column("system"), Column("hit", "%")), (("a", Estimate(0.5, 0.25, 0.75, 8)), ("b", 0.5), ("c", None)))
    assert as_csv(table).splitlines() == ["system,hit,hit low,hit high,hit n", "a,0.5,0.25,0.75,8", "b,0.5,,,", "c,,,,"]


def test_commas_and_quotes_are_kept():
    table = Table("t", "T", (Column("why"),), (('a "b", c',),))
    assert as_csv(table) == 'why\n"a ""b"", c"\n'
