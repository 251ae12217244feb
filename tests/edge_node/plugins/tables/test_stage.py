"""Questions about tables: a whole edge, its routes and store, with a model that writes the queries it is given."""

import pytest

from edge_node.answering.answerer import Ask
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.telemetry.trace import Trace
from tests.support.running_edge import running_edge

STOCK = """Article,Description,Stock,Minimum,Checked
IS-200,Infusion set,340,400,2026-04-03
IS-310,Infusion set light protected,120,100,2026-04-09
SY-50,Syringe 50 ml,,80,2026-03-30
HEP-25,Heparin vial,18,60,2026-04-09
"""
LOOKUP = "SELECT Stock FROM stock WHERE Article = 'IS-200'"
SLOW = "The rules say it [1]."


class Model:
    """Answers requests for a query with the next of these texts, and all else with ``SLOW``."""

    def __init__(self, *queries):
        self.queries = list(queries)
        self.asked = []
        self.generator = ScriptedGenerator(self.reply, lambda _: {"Yes": -0.1, "No": -3.0})

    def reply(self, prompt):
        if not prompt.messages[0].content.startswith("You write one SQLite query"):
            return [SLOW] * prompt.n
        self.asked.append(prompt.messages[-1].content)
        query = self.queries.pop(0)
        if isinstance(query, Exception):
            raise query
        return [query]


async def add(edge, name, text, **fields):
    """Send a file, which its reader reads."""
    reply = await edge.http.post("/v1/documents", files={"file": (name, text.encode())}, data=fields)
    assert reply.status_code == 202, reply.text
    await edge.settled()
    return reply.json()


async def asked(folder, question, *queries, documents=(("stock.csv", STOCK),)):
    model = Model(*queries)
    async with running_edge(folder, generator=model.generator, memory="off") as edge:
        for name, text in documents:
            await add(edge, name, text)
        return await edge.ask(question), model


async def test_a_list_says_its_values_first_and_cites_each_row_with_its_place_and_passage(tmp_path):
    model = Model("SELECT Article, Stock, Minimum FROM stock WHERE Stock < Minimum")
    async with running_edge(tmp_path, generator=model.generator, memory="off") as edge:
        await add(edge, "stock.csv", STOCK)
        answer = await edge.ask("Which articles are below their minimum stock?")
        first, second = answer["citations"]
        start, end = first["span"]
        text = edge.node.documents.text(first["document_id"], start=start, end=end)[0]
    assert answer["answer"] == "IS-200 (Stock: 340; Minimum: 400) [1]; HEP-25 (Stock: 18; Minimum: 60) [2] – Article"
    assert (answer["route"], answer["answered"], first["place"], second["place"]) == ("local", True, "row 2", "row 5")
    assert first["quote"] == text == "Article: IS-200; Description: Infusion set; Stock: 340; Minimum: 400; Checked: 2026-04-03."
    assert [step["step"] for step in answer["trace"]] == ["tables", "write query", "run query"]


@pytest.mark.parametrize(
    ("question", "query", "said", "places"),
    [
        ("How many IS-200 are in stock?", LOOKUP, "340 (Stock; Article: IS-200) [1]", ["row 2"]),
        (
            "What is the stock of heparine?",
            "SELECT Stock FROM stock WHERE Description = 'heparine vial'",
            "18 (Stock; Article: HEP-25) [1]",
            ["row 5"],
        ),
        (
            "What is the total stock of infusion sets?",
            "```sql\nSELECT SUM(Stock) FROM stock WHERE Description LIKE '%infusion set%';\n```",
            "460 (sum of Stock; over 2 rows) [1][2]",
            ["row 2", "row 3"],
        ),
        ("Which article has the lowest stock?", "SELECT Article FROM stock ORDER BY Stock LIMIT 1", "HEP-25 (Article) [1]", ["row 5"]),
        ("What is the lowest stock?", "SELECT MIN(Stock) FROM stock", "18 (lowest Stock; Article: HEP-25) [1]", ["row 5"]),
        (
            "Which article was checked last?",
            "SELECT Article FROM stock ORDER BY Checked DESC LIMIT 1",
            "IS-310 [1]; HEP-25 [2] – Article",
            ["row 3", "row 5"],
        ),
        (
            "By how much is the stock of IS-200 higher than of IS-310?",
            "SELECT (SELECT Stock FROM stock WHERE Article = 'IS-200') - (SELECT Stock FROM stock WHERE Article = 'IS-310')",
            "220 (Stock; over 2 rows) [1][2]",
            ["row 2", "row 3"],
        ),
        (
            "Which articles were checked in March?",
            "SELECT Article FROM stock WHERE Checked LIKE '2026-03%' AND Minimum = 80",
            "SY-50 (Article) [1]",
            ["row 4"],
        ),
    ],
    ids=["lookup", "misspelt", "sum", "an empty cell is not the lowest", "minimum", "ties", "difference", "an invented condition"],
)  # fmt: skip
async def test_what_a_query_gives_is_said_with_the_rows_that_it_rests_on(tmp_path, question, query, said, places):
    answer, _ = await asked(tmp_path, question, query)
    assert (answer["answer"], [one["place"] for one in answer["citations"]]) == (said, places)


WELLS = (("Well", "Max. yield (m3/h)", "Remark"), ("4", "110", "oldest"), ("7", "95", "seen by camera"))
WEB_PAGE = "<h1>Wells</h1><table>" + "".join(f"<tr><td>{'<td>'.join(row)}</tr>" for row in WELLS) + "</table>"
MARKDOWN = "\n".join(["# Wells", "", f"|{'|'.join(WELLS[0])}|", "|---|---|---|", *(f"|{'|'.join(row)}|" for row in WELLS[1:])])


@pytest.mark.parametrize(("name", "text"), [("wells.html", WEB_PAGE), ("wells.md", MARKDOWN)])
async def test_a_row_of_a_document_without_places_is_cited_where_it_stands_and_a_column_may_be_called_max(tmp_path, name, text):
    model = Model("SELECT Max_yield_m3_h FROM wells WHERE Well = 7")
    async with running_edge(tmp_path, generator=model.generator, memory="off") as edge:
        await add(edge, name, text)
        answer = await edge.ask("What is the maximum yield of well 7?")
        (cited,) = answer["citations"]
        said = edge.node.documents.text(cited["document_id"], start=cited["span"][0], end=cited["span"][1])[0]
    assert answer["answer"].startswith("95")
    assert cited["quote"] == said == "Well: 7; Max. yield (m3/h): 95; Remark: seen by camera."


async def test_a_query_that_fails_is_written_once_more_with_what_sqlite_says(tmp_path):
    queries = "SELECT amount FROM stock WHERE Article = 'IS-200'", LOOKUP
    answer, model = await asked(tmp_path, "How many IS-200 are in stock?", *queries)
    assert (answer["answer"], len(model.asked)) == ("340 (Stock; Article: IS-200) [1]", 2)
    assert "no such column: amount" in model.asked[1]


@pytest.mark.parametrize(
    ("question", "queries"),
    [
        ("How many IS-200 are in stock?", ["SELECT x FROM stock", "SELECT y FROM stock"]),
        ("How many IS-200 are in stock?", ["I cannot."]),
        ("How many IS-200 are in stock?", ["SELECT Stock FROM stock WHERE Article = 'HEP-25'"] * 2),
        ("How many IS-200 are in stock?", ["DELETE FROM stock"] * 2),
        ("Which articles are below their minimum stock?", ["SELECT * FROM stock"]),
        ("Which article has the lowest stock?", ["SELECT Article FROM stock WHERE Stock > 0"]),
        ("How many IS-200 are in stock?", [ModelUnavailable("the model server is away")]),
    ],
    ids=["it fails twice", "no query", "another article", "a deletion", "the whole table", "no order", "a model that fails"],
)
async def test_all_else_goes_the_usual_way(tmp_path, question, queries):
    answer, model = await asked(tmp_path, question, *queries)
    assert model.asked
    assert "retrieve" in [step["step"] for step in answer["trace"]]


@pytest.mark.parametrize(
    "question",
    [
        "Why is the stock of IS-200 below its minimum?",
        "How are infusion sets sterilised?",
        "Who wrote the policy on infusion pumps?",
        "How many IS-500 are in stock?",
        "What does an IS-200 weigh?",
        "How many IS-200 are in stock, and who orders them?",
        "Is there enough stock of IS-200?",
    ],
)
async def test_a_question_that_no_table_answers_makes_no_call_for_a_query(tmp_path, question):
    _, model = await asked(tmp_path, question)
    assert model.asked == []


async def test_rows_go_with_the_version_that_is_replaced_and_with_the_document(tmp_path):
    model = Model(LOOKUP, LOOKUP)
    async with running_edge(tmp_path, generator=model.generator, memory="off") as edge:
        await add(edge, "stock.csv", STOCK)
        added = await add(edge, "stock.csv", STOCK.replace("340", "99"))
        assert (await edge.ask("How many IS-200 are in stock?"))["answer"].startswith("99 (Stock")
        tables = edge.node.documents.database.rows("SELECT count(*) AS n FROM document_tables")
        rows = edge.node.documents.database.rows("SELECT count(*) AS n FROM table_rows")
        assert (tables[0]["n"], rows[0]["n"]) == (1, 4)
        assert (await edge.http.delete(f"/v1/documents/{added['document_id']}")).status_code < 300
        await edge.settled()
        await edge.ask("How many IS-200 are in stock?")
        assert edge.node.documents.database.rows("SELECT 1 FROM table_rows") == []
    assert len(model.asked) == 1


async def test_rows_of_documents_that_the_asker_may_not_read_are_never_looked_at(tmp_path):
    model = Model(LOOKUP)
    async with running_edge(tmp_path, generator=model.generator, memory="off") as edge:
        await add(edge, "stock.csv", STOCK, labels="pharmacy")
        await add(edge, "wards.md", "Wards keep infusion sets.")
        question = "How many IS-200 are in stock?"
        for labels in (frozenset(), frozenset({"nurses"})):
            await edge.node.answerer.answer(Ask(question, mode="local", labels=labels), Trace())
        assert model.asked == []
        told = await edge.node.answerer.answer(Ask(question, mode="local", labels=frozenset({"pharmacy"})), Trace())
        assert told.answer.startswith("340")


async def test_a_damaged_row_is_found_and_its_document_read_again(tmp_path):
    model = Model(LOOKUP)
    async with running_edge(tmp_path, memory="off") as edge:
        await add(edge, "stock.csv", STOCK)
        with edge.node.documents.database.write() as tx:
            tx.execute("UPDATE table_rows SET cells = replace(cells, '340', '999')")
    async with running_edge(tmp_path, generator=model.generator, memory="off") as edge:
        await edge.settled()
        assert (await edge.ask("How many IS-200 are in stock?"))["answer"].startswith("340")
