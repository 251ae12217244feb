"""READ PATH, before passages are read: a question about a table is answered by a query over it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import takewhile

from edge_node.documents.text import row_sentence
from edge_node.plugins.tables.cells import shown
from edge_node.plugins.tables.matching import Match, Profile, match
from edge_node.plugins.tables.query import (
    Source,
    invented,
    literals,
    misranked,
    query_in,
    rank_query,
    row_queries,
    sources_of,
    tables_text,
    with_empty_last,
    with_limit,
    with_real_values,
    without,
)
from edge_node.plugins.tables.question import TableQuestion, question_of
from edge_node.plugins.tables.sandbox import QueryError, Result, Sandbox
from edge_node.plugins.tables.store import Passage, TableKey, TableStore
from edge_node.plugins.tables.wording import Cited, Outcome, doubt, is_empty, said
from shared.errors import ModelError
from shared.limits import Deadline
from shared.ports import Generator, Message, Prompt
from shared.records import Answer, Citation, EdgeId
from shared.telemetry.logs import redacted
from shared.telemetry.trace import Trace
from shared.text.fence import one_line
from shared.text.inert import inert
from shared.text.prompts import load_prompt

log = logging.getLogger("dgrag.edge.tables")
QUERY = load_prompt("edge_node.plugins.tables", "query")
QUERY_TOKENS = 160
QUERY_S = 2.0  # that a query may take; those of a few thousand rows take milliseconds
MOST_COUNTED = 10_000  # rows that a result may rest on
MOST_PROFILES = 1_000  # tables whose words are kept in memory
MOST_CITED = 8
MOST_QUOTE_CHARS = 600
TRIES = 2
TIME_SHARE = 0.5  # of the time that is left, for one query: the usual way needs some too


class TableStage:
    """Answers what rows of tables say, and nothing where it is not sure which tables are meant."""

    def __init__(self, edge: EdgeId, store: TableStore, generator: Generator) -> None:
        self._edge = edge
        self._store = store
        self._generator = generator
        self._profiles: dict[TableKey, Profile] = {}

    async def answer(
        self,
        question: str,
        query_id: str,
        withheld: frozenset[str],
        trace: Trace,
        deadline: Deadline,
    ) -> Answer | None:
        """None: the question goes on; without a call of the model where it fits no table.

        ``withheld``: documents and chunks that the asker may not read; of such a document no row
        is read. A model that fails is logged: the usual way tells the client.
        """
        asked = question_of(question)
        if asked is None:
            return None
        with trace.step("tables"):
            found = await asyncio.to_thread(self._found, asked, withheld)
        if found is None:
            return None
        try:
            outcome = await self._outcome(asked, found, trace, deadline)
        except ModelError as error:
            log.warning("no query was written: %s", redacted(error))
            return None
        if outcome is None:
            return None
        return await asyncio.to_thread(self._told, asked, outcome, query_id)

    def _found(self, asked: TableQuestion, withheld: frozenset[str]) -> Match | None:
        keys = self._store.keys(withheld)
        known = self._profiles
        profiles = list[Profile]()
        for key in keys:
            profile = known.get(key)
            if profile is None:
                stored = self._store.load(key)
                profile = None if stored is None else Profile(stored)
            if profile is not None:
                known[key] = profile
                profiles.append(profile)
        for key in list(known)[:-MOST_PROFILES]:
            known.pop(key, None)
        return match(asked, profiles)

    async def _outcome(
        self, asked: TableQuestion, found: Match, trace: Trace, deadline: Deadline
    ) -> Outcome | None:
        """What a query gives, if nothing speaks against it; a second one may mend the first."""
        sources, task = sources_of(found), ""
        for _ in range(TRIES):
            written = await self._written(asked, found, sources, task, trace, deadline)
            query = with_real_values(written, sources)
            if not query:
                return None
            with trace.step("run query"):
                outcome, why_not = await asyncio.to_thread(tried, query, asked, sources)
            if outcome is not None and not why_not:
                meant = set(literals(query)) - set(literals(written))
                return replace(outcome, read_as=tuple(sorted(meant)))
            log.info("a query gives no answer: %s", why_not.partition(":")[0])
            if outcome is not None:
                return None
            task = f"A wrong query: {query}\n{why_not}. Write another one."
        return None

    async def _written(
        self,
        asked: TableQuestion,
        found: Match,
        sources: Sequence[Source],
        task: str,
        trace: Trace,
        deadline: Deadline,
    ) -> str:
        messages = query_prompt(asked, found, sources, task)
        with trace.step("write query") as step:
            prompt = Prompt(messages, QUERY_TOKENS, stop=(";", "\n\n"))
            limit_s = TIME_SHARE * deadline.left_s()
            reply = step.model(await self._generator.generate(prompt, deadline_s=limit_s))
        return "" if any(reply.truncated) else query_in(reply.texts[0])

    def _told(self, asked: TableQuestion, outcome: Outcome, query_id: str) -> Answer:
        cited = outcome.rows[:MOST_CITED]
        citations = tuple(self._citation(n, row) for n, row in enumerate(cited, start=1))
        text = inert(said(asked, outcome, [f"[{citation.n}]" for citation in citations]))
        guesses = ", ".join(f"“{one_line(inert(text))}”" for text in outcome.read_as)
        reason = f"not certain: no cell has a word of the question, it was read as {guesses}"
        is_read = not guesses
        return Answer(
            query_id,
            text,
            citations,
            "local",
            certain=is_read,
            reason="" if is_read else reason,
        )

    def _citation(self, n: int, cited: Cited) -> Citation:
        stored = cited.source.profile.stored
        place = stored.table.place(cited.row)
        cells = ["" if cell is None else shown(cell) for cell in stored.table.rows[cited.row]]
        sentence = row_sentence(stored.table.headings, cells)
        quote = inert(one_line(sentence))[:MOST_QUOTE_CHARS]
        document = stored.key.document_id
        passage = (
            self._store.passages(document, (place,)).get(place)
            or self._store.saying(document, sentence)
            or Passage(self._store.first_chunk(document), (0, 0))
        )
        where = document, stored.document, passage.chunk_id, passage.span
        return Citation(n, self._edge, *where, quote, 1.0, place=place)


def query_prompt(
    asked: TableQuestion, found: Match, sources: Sequence[Source], task: str = ""
) -> tuple[Message, ...]:
    """The messages that ask for a query. Rules and examples come first: a server keeps them."""
    return QUERY.render(
        tables=one_line_each(tables_text(asked, found, sources)),
        question=one_line(asked.text),
        task=task,
    )


def one_line_each(text: str) -> str:
    """Each line without what no reader sees."""
    return "\n".join(one_line(line) for line in text.split("\n"))


def tried(
    query: str, asked: TableQuestion, sources: Sequence[Source]
) -> tuple[Outcome | None, str]:
    """What a query gives, and what speaks against it as an answer; None: another may give one."""
    conditions = list[str]()
    while condition := invented(query, asked, sources):
        conditions.append(condition)
        query = without(condition, query)
    if not query:
        return None, f"The question does not say: {' or '.join(conditions)}"
    if column := misranked(query, asked, sources):
        return None, f"It does not rank by what the question asks for: {column}"
    try:
        outcome = run(query, sources)
    except QueryError as error:
        return None, f"SQLite says: {error}"
    if is_empty(outcome):
        return None, "It finds no row"
    return outcome, doubt(asked, outcome)


def run(query: str, sources: Sequence[Source]) -> Outcome:
    """Run a query over these tables, and find the rows that it rests on. Raises QueryError."""
    with closing(Sandbox([source.sql for source in sources], seconds=QUERY_S)) as sandbox:
        query = _with_ties(with_empty_last(query), sandbox)
        result = sandbox.run(query)
        found = list[Cited]()
        for rows_of, width in row_queries(query, sources):
            try:
                rows = sandbox.run(rows_of, most=MOST_COUNTED)
            except QueryError as error:
                log.info("the rows of a query were not found: %s", redacted(error))
                continue
            found += _cited(rows, width, sources)
    names = {name for name, _ in result.read}
    read = tuple(source for source in sources if source.sql.name in names)
    return Outcome(query, result, read, tuple(dict.fromkeys(found)))


def _with_ties(query: str, sandbox: Sandbox) -> str:
    """A query for the first row in an order, for as many rows as share its rank."""
    ranks = sandbox.run(ranked).rows if (ranked := rank_query(query)) else ()
    ties = sum(1 for _ in takewhile(lambda rank: rank == ranks[0], ranks))
    return with_limit(query, ties) if ties > 1 else query


def _cited(rows: Result, width: int, sources: Sequence[Source]) -> list[Cited]:
    found = list[Cited]()
    for identity in (value for row in rows.rows for value in row[:width]):
        for source in sources:
            if isinstance(identity, int) and source.has_row(identity):
                found.append(Cited(source, identity - source.sql.first_id))
    return found
