"""The sandbox of queries: it reads its tables, and nothing else for any time."""

import sqlite3

import pytest

from edge_node.plugins.tables.sandbox import QueryError, Sandbox, SqlTable

WARDS = SqlTable("wards", (("ward", "TEXT COLLATE NOCASE"), ("beds", "REAL")), (("Juniper", 28), ("Rowan", 30)), 1_000_000)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
FORBIDDEN = [
    "DELETE FROM wards",
    "INSERT INTO wards VALUES ('Ash', 1)",
    "UPDATE wards SET beds = 0",
    "DROP TABLE wards",
    "CREATE TABLE others (a)",
    "ATTACH ':memory:' AS other",
    "PRAGMA user_version = 3",
    "PRAGMA table_info(wards)",
    "SELECT * FROM pragma_table_info('wards')",
    "SELECT sql FROM sqlite_master",
    "SELECT zeroblob(100)",
    "VACUUM",
    "BEGIN",
]


@pytest.fixture
def sandbox():
    made = Sandbox([WARDS], seconds=5)
    yield made
    made.close()


def test_a_query_reads_rows_in_any_case_and_says_which_columns_it_read(sandbox):
    result = sandbox.run("SELECT beds FROM wards WHERE ward = 'rowan'")
    assert (result.rows, result.names, result.read) == (((30,),), ("beds",), {("wards", "beds"), ("wards", "ward")})


@pytest.mark.parametrize("query", FORBIDDEN)
def test_nothing_but_reading_its_tables_is_allowed(sandbox, query):
    with pytest.raises(QueryError):
        sandbox.run(query)
    assert len(sandbox.run("SELECT * FROM wards").rows) == 2


@pytest.mark.parametrize("query", FORBIDDEN)
def test_a_connection_without_the_guard_runs_each_of_these(query):
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE wards (ward, beds)")
    connection.execute(query).fetchall()
    connection.close()


def test_two_statements_are_none(sandbox):
    with pytest.raises(QueryError):
        sandbox.run("SELECT 1; SELECT 2")


def test_a_query_that_runs_for_ever_is_stopped():
    sandbox = Sandbox([WARDS], seconds=0.0)
    with pytest.raises(QueryError, match="interrupted"):
        sandbox.run(ENDLESS)
    sandbox.close()


def test_a_long_result_is_cut(sandbox):
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT i FROM n"
    assert len(sandbox.run(many, most=7).rows) == 7
