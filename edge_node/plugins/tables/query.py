"""SQL for and of a model: tables as it is shown them, and its reply as a query with its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from edge_node.plugins.tables.cells import MONTHS, Column, Value, shown
from edge_node.plugins.tables.matching import Hint, Match, Profile, stems_of
from edge_node.plugins.tables.question import Asked, TableQuestion
from edge_node.plugins.tables.sandbox import SqlTable
from edge_node.plugins.tables.vocabulary import UNITS, folded, is_same, meanings, stem, words_of

SAMPLE_ROWS = 2
MOST_CELL_CHARS = 40
MOST_NAME_CHARS = 32
FIRST_ID = 1_000_000  # the rowids of table k begin at k + 1 times this
LEAST_NEAR = (
    0.75  # difflib's ratio, from which on a text that no cell has is taken for one that a cell has
)
KEYWORDS = frozenset(
    """
    abort action add after all alter always analyze and as asc attach autoincrement before begin
    between by cascade case cast check collate column commit conflict constraint create cross
    current database default deferrable deferred delete desc detach distinct do drop each else
    end escape except exclude exclusive exists explain fail filter first following for foreign
    from full generated glob group groups having if ignore immediate in index indexed initially
    inner insert instead intersect into is isnull join key last left like limit match
    materialized natural no not nothing notnull null nulls of offset on or order others outer
    over partition plan pragma preceding primary query raise range recursive references regexp
    reindex release rename replace restrict returning right rollback row rows savepoint select
    set table temp temporary then ties to transaction trigger unbounded union unique update
    using vacuum values view virtual when where window with without
    """.split()  # noqa: SIM905
)
_TYPES = {"number": "REAL", "date": "TEXT COLLATE NOCASE", "text": "TEXT COLLATE NOCASE"}
_SHOWN_TYPES = {"date": "DATE", "text": "TEXT"}
_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\[[^\[\]]*\]|[\w.]+|<=|>=|<>|!=|==|\|\||[^\s\w]"
)
_CLAUSES = ("select", "from", "where", "group", "having", "order", "limit", "offset", "window")
_SETS = frozenset({"union", "intersect", "except"})
_EQUAL = re.compile(
    r"(?<![\w.\"`])(?P<column>[\w.\"`]++)\s*+(?:==?|IS\b)\s*+'(?P<text>(?:[^']|'')*)'",
    re.IGNORECASE,
)
_LIKE = re.compile(
    r"(?<![\w.\"`])(?P<column>[\w.\"`]++)\s++LIKE\s++'(?P<text>(?:[^']|'')*)'", re.IGNORECASE
)
_AGES = re.compile(
    r"\b(?:oldest|newest|youngest|earliest|latest|(?:ältest|neuest|jüngst|frühest|spätest)\w+)\b",
    re.IGNORECASE,
)
_AGE_HEADING = re.compile(
    r"\bage\b|year|date|time|alter|jahr|datum|zeit|monat|month", re.IGNORECASE
)
_SUMMARISED = re.compile(r"\b(?:count|sum|avg|total|group_concat)\s*\(", re.IGNORECASE)
_EXTREME = re.compile(r"\b(?:min|max)\s*\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table as the model and SQL know it. ``columns``: by SQL name."""

    profile: Profile
    sql: SqlTable
    columns: Mapping[str, Column]

    def has_row(self, identity: int) -> bool:
        """Whether a rowid is of this table."""
        return 0 <= identity - self.sql.first_id < len(self.sql.rows)


def sources_of(found: Match) -> list[Source]:
    """The tables of a match, each under a short name of its own."""
    made, taken = list[Source](), set[str]()
    for at, profile in enumerate(found.tables):
        stored = profile.stored
        stem = stored.document.rpartition("/")[2].rpartition(".")[0] or stored.document
        sheet = stored.table.name.rpartition(", ")[2].rpartition(".")[0] or stored.table.name
        name = _unique(identifier(sheet or stem, fallback="t"), taken)
        columns, names = dict[str, Column](), set[str]()
        for number, column in enumerate(profile.data.columns, start=1):
            columns[_unique(identifier(column.heading, fallback=f"column_{number}"), names)] = (
                column
            )
        kinds = tuple((sql_name, _TYPES[column.kind]) for sql_name, column in columns.items())
        rows = tuple(zip(*(column.values for column in columns.values()), strict=True))
        made.append(Source(profile, SqlTable(name, kinds, rows, (at + 1) * FIRST_ID), columns))
    return made


def identifier(text: str, *, fallback: str) -> str:
    """A heading as a name that SQL reads without quotes.

    >>> texts = ("Lead time (days)", "Water losses %", "No.", "2025 actual", "–")
    >>> [identifier(text, fallback="c1") for text in texts]
    ['lead_time_days', 'water_losses_percent', 'no_value', 'y2025_actual', 'c1']
    """
    plain = (
        folded(text)
        .replace("ß", "ss")
        .replace("%", " percent ")
        .replace("µ", "u")
        .replace("μ", "u")
    )
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:MOST_NAME_CHARS].rstrip("_")
    if not name:
        return fallback
    name = f"y{name}" if name[0].isdigit() else name
    return f"{name}_value" if name in KEYWORDS else name


def _unique(name: str, taken: set[str]) -> str:
    number, found = 2, name
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found


def tables_text(asked: TableQuestion, found: Match, sources: Sequence[Source]) -> str:
    """The tables as the prompt shows them: columns, some rows, and what the question names."""
    lines = list[str]()
    for source, hints in zip(sources, found.hints, strict=True):
        stored = source.profile.stored
        columns = ", ".join(
            f"{name} {_shown_type(column)}" for name, column in source.columns.items()
        )
        about = ", ".join(filter(None, (stored.document.rpartition("/")[2], stored.table.name)))
        lines.append(
            f"CREATE TABLE {source.sql.name} ({columns}) -- {len(source.sql.rows)} rows of {about}"
        )
        lines += [f"-- {_row_text(row)}" for row in source.sql.rows[:SAMPLE_ROWS]]
        lines += [f"-- {line}" for line in _hint_lines(asked, source, hints)]
    return "\n".join(lines)


def _hint_lines(asked: TableQuestion, source: Source, hints: Sequence[Hint]) -> Iterator[str]:
    names = list(source.columns)
    for hint in hints:
        said, name = " ".join(sorted(hint.words)), names[hint.column]
        pattern = _pattern(hint) if len(hint.values) > 1 else ""
        if pattern:
            yield f"{said}: {name} LIKE {_literal(pattern)}"
        else:
            yield f"{said}: {name} = {_literal(hint.values[0])}"
    for word in asked.words:
        if word.month:
            yield from _day_lines(asked, word, source)
        elif not word.is_name:
            columns = [names[at] for at in source.profile.heading_columns(word)]
            if len(columns) == 1 and folded(word.word) not in columns:
                yield f"{word.word}: {columns[0]}"


def _day_lines(asked: TableQuestion, word: Asked, source: Source) -> Iterator[str]:
    """How each column of dates says a month that is named, its day, or what is before or after."""
    months = sorted(day for day in source.profile.days if day[5:] == f"{word.month:02}")
    years = [one.word for one in asked.words if re.fullmatch(r"(?:19|20)\d\d", one.word)]
    named = [f"{year}-{word.month:02}" for year in years]
    month = next((one for one in named if one in months), (months or named or [""])[-1])
    day = asked.days.get(word.month)
    for name, column in source.columns.items():
        if month and column.kind == "date":
            said = f"{day} {word.word}" if day else word.word
            yield f"{said}: {name} {_comparison(month, day, asked.bound(word))}"


def _comparison(month: str, day: int | None, bound: str) -> str:
    """What a date is compared with.

    >>> [_comparison("2026-05", None, bound) for bound in ("", "before", "after")]
    ["LIKE '2026-05%'", "< '2026-05-01'", "> '2026-05-31'"]
    >>> [_comparison("2026-05", 4, bound) for bound in ("", "since", "until")]
    ["= '2026-05-04'", ">= '2026-05-04'", "<= '2026-05-04'"]
    """
    if not bound:
        return f"= '{month}-{day:02}'" if day else f"LIKE '{month}%'"
    at_end = bound in ("after", "until")
    sign = {"before": "<", "since": ">=", "after": ">", "until": "<="}[bound]
    return f"{sign} '{month}-{day or (31 if at_end else 1):02}'"


def _pattern(hint: Hint) -> str:
    """What LIKE finds those texts by: the words that all of them share with the question."""
    words = [
        word
        for word in words_of(hint.values[0])
        if any(_is_form(word, named) for named in hint.words)
    ]
    pattern = f"%{'%'.join(words)}%"
    matcher = re.compile(".*".join(re.escape(folded(word)) for word in words))
    return pattern if words and all(matcher.search(folded(value)) for value in hint.values) else ""


def _is_form(word: str, named: str) -> bool:
    return stem(word) in meanings(named) or is_same(stem(word), stem(named))


def _shown_type(column: Column) -> str:
    if column.kind != "number":
        return _SHOWN_TYPES[column.kind]
    return (
        "INTEGER"
        if all(value is None or float(value).is_integer() for value in column.values)
        else "REAL"
    )


def _row_text(row: Sequence[Value]) -> str:
    cells = (
        "NULL" if value is None else _quoted(value) if isinstance(value, str) else shown(value)
        for value in row
    )
    return ", ".join(cells)


def _quoted(text: str) -> str:
    cut = text if len(text) <= MOST_CELL_CHARS else text[: MOST_CELL_CHARS - 1] + "…"
    return "'" + cut.replace("'", "''") + "'"


def query_in(reply: str) -> str:
    r"""The first query of a reply; "" where there is none.

    >>> query_in("```sql\nSELECT a FROM t WHERE b = ';';\n```\nThis lists a."), query_in("No.")
    ("SELECT a FROM t WHERE b = ';'", '')
    """
    text = re.sub(r"```(?:sql|sqlite)?", "\n", reply)
    found = re.search(r"\b(?:SELECT|WITH)\b", text, re.IGNORECASE)
    if found is None:
        return ""
    depth_free = re.match(r"(?:'(?:[^']|'')*'|\"[^\"]*\"|[^;'\"])*", text[found.start() :])
    query = depth_free[0] if depth_free else ""
    return _over_rows(_in_brackets(" ".join(re.split(r"\n\s*\n", query)[0].split())))


def _over_rows(query: str) -> str:
    """A column less itself is 0 in each row; what is meant is how far its rows are apart.

    >>> _over_rows('SELECT "a day" - "a day", car FROM fleet')
    'SELECT MAX("a day") - MIN("a day"), car FROM fleet'
    >>> _over_rows("SELECT km - least_km, least_km - km FROM fleet")
    'SELECT km - least_km, least_km - km FROM fleet'
    """
    column = r'(?P<column>"[^"]{1,200}"|`[^`]{1,200}`|\w{1,200})'
    return re.sub(
        rf"(?<![\w.]){column} - (?P=column)(?!\w)", r"MAX(\g<column>) - MIN(\g<column>)", query
    )


def _in_brackets(query: str) -> str:
    """Queries between which a sign stands, as one; a model forgets their brackets.

    >>> _in_brackets("SELECT a FROM t WHERE b = 'x' - SELECT a FROM t WHERE b = 'y'")
    "SELECT (SELECT a FROM t WHERE b = 'x') - (SELECT a FROM t WHERE b = 'y')"
    """
    parts = re.split(r"(?<!\s)\s++([-+*/])\s++(?=SELECT\b)", query, flags=re.IGNORECASE)
    if len(parts) == 1 or "(" in query:
        return query
    terms = [part if at % 2 else f"({part})" for at, part in enumerate(parts)]
    return f"SELECT {' '.join(terms)}"


def with_real_values(query: str, sources: Sequence[Source]) -> str:
    """A query whose texts that no cell has are those of cells that have or resemble them.

    A text that stands in cells beside other words is looked for with LIKE; one that is misspelt
    becomes the nearest one.
    """

    def texts(column: str) -> list[str]:
        name = column.rpartition(".")[2].strip('"`').casefold()
        columns = [one.columns[name] for one in sources if name in one.columns]
        return [
            value
            for one in columns
            for value in dict.fromkeys(one.values)
            if isinstance(value, str)
        ]

    def equal(found: re.Match[str]) -> str:
        text, cells = found["text"].replace("''", "'"), texts(found["column"])
        if not cells or folded(text) in map(folded, cells):
            return found[0]
        if text and any(folded(text) in folded(cell) for cell in cells):
            return f"{found['column']} LIKE '%{found['text']}%'"
        near = _nearest(text, cells)
        return f"{found['column']} = {_literal(near)}" if near else found[0]

    def like(found: re.Match[str]) -> str:
        text, cells = found["text"].replace("''", "'").strip("%"), texts(found["column"])
        if (
            not cells
            or "%" in text
            or "_" in text
            or any(folded(text) in folded(cell) for cell in cells)
        ):
            return found[0]
        near = _nearest(text, cells) or _nearest(
            text, [word for cell in cells for word in cell.split()]
        )
        return f"{found['column']} LIKE {_literal(f'%{near}%')}" if near else found[0]

    return _LIKE.sub(like, _EQUAL.sub(equal, query))


def _nearest(text: str, cells: Sequence[str]) -> str:
    by_fold = {folded(cell): cell for cell in cells}
    near = get_close_matches(folded(text), list(by_fold), n=1, cutoff=LEAST_NEAR)
    has_digits = any(map(str.isdigit, text))
    return by_fold[near[0]] if near and not has_digits else ""


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literals(query: str) -> list[str]:
    """The texts and numbers that a query compares with.

    >>> literals("SELECT a2 FROM t WHERE b = 'x y' AND c > 4.5 LIMIT 1")
    ['x y', '4.5', '1']
    """
    tokens = _TOKEN.findall(query)
    texts = [token[1:-1].replace("''", "'").strip("%") for token in tokens if token.startswith("'")]
    return texts + [token for token in tokens if re.fullmatch(r"\d+(?:\.\d+)?", token)]


_CONDITION = re.compile(
    r"(?<![-+*/]\s)(?<![-+*/\w.])(?P<column>[A-Za-z_][\w.]*)\s*"
    r"(?:<=|>=|<>|!=|==|=|<|>|(?:NOT )?LIKE|IS(?: NOT)?)\s*"
    r"(?P<value>'(?:[^']|'')*'|\d+(?:\.\d+)?)",
    re.IGNORECASE,
)


def invented(query: str, asked: TableQuestion, sources: Sequence[Source]) -> str:
    """The first condition of a query whose column and value the question names neither; or ""."""
    words = {
        one for word in words_of(asked.text) for one in (*meanings(word), stem(word))
    } | stems_of(asked.text)
    words |= {name for name, month in MONTHS.items() for word in asked.words if month == word.month}
    for found in _CONDITION.finditer(query):
        name, value = found["column"].rpartition(".")[2].casefold(), found["value"]
        columns = [source.columns[name] for source in sources if name in source.columns]
        if not columns:
            continue
        if value.startswith("'") and re.match(r"'%?\d{4}", value) and columns[0].kind == "date":
            is_said = _is_said_date(value.strip("'%"), asked)
        else:
            plain = {
                one
                for one in stems_of(columns[0].heading)
                if one not in UNITS and not one.isdecimal()
            }
            texts = {one for one in stems_of(value) if not one.isdecimal() or one not in "01"}
            is_said = any(
                one in words or any(is_same(one, word) for word in words) for one in plain | texts
            )
        if not is_said:
            return found[0]
    return ""


def misranked(query: str, asked: TableQuestion, sources: Sequence[Source]) -> str:
    """By what a query should rank, or not, where the question names something else; or ""."""
    orders = [select["order"] for select in selects(query) if select["limit"]]
    extremes = re.findall(r"\b(?:min|max)\s*\(([^()]*)\)", query, re.IGNORECASE)
    ranking = {
        name.casefold() for text in (*orders, *extremes) for name in re.findall(r"\w+", text)
    }
    columns = [one for source in sources for one in source.columns.items() if one[0] in ranking]
    if _AGES.search(asked.text) and columns and not any(_has_time(one) for _, one in columns):
        return "no column of dates or years"
    named, others = set[str](), set[str]()
    for source in sources:
        said = {at for word in asked.words for at in source.profile.heading_columns(word)}
        for at, (name, column) in enumerate(source.columns.items()):
            if column.kind != "text" and at in said:
                named.add(name)
            elif name in ranking:
                others.add(name)
    return f"not by {min(others)}" if named and others and not named & ranking else ""


def _has_time(column: Column) -> bool:
    """Whether a column says when: dates, years, or an age."""
    numbers = [value for value in column.values if isinstance(value, int | float)]
    has_years = bool(numbers) and all(1800 <= number <= 2200 for number in numbers)
    return column.kind == "date" or has_years or _AGE_HEADING.search(column.heading) is not None


def without(condition: str, query: str) -> str:
    """A query without one of the conditions that must all hold; "" where OR or NOT binds them.

    >>> without("b = 'x'", "SELECT a FROM t WHERE b = 'x' AND c > 1 ORDER BY a")
    'SELECT a FROM t WHERE c > 1 ORDER BY a'
    >>> without("b = 'x'", "SELECT a FROM t WHERE b = 'x' LIMIT 1")
    'SELECT a FROM t LIMIT 1'
    >>> without("b = 1", "SELECT a FROM t WHERE b = 1 OR c = 2")
    ''
    """
    one = re.escape(condition)
    end = r"(?=\s*(?:$|\)|\b(?:AND|ORDER|GROUP|LIMIT|HAVING)\b))"
    for pattern, left in (
        (rf"\bWHERE\s+{one}\s+AND\b", "WHERE"),
        (rf"\s+AND\s+{one}{end}", ""),
        (rf"\s+WHERE\s+{one}(?!\s+AND){end}", ""),
    ):
        shorter = re.sub(pattern, left, query, count=1, flags=re.IGNORECASE)
        if shorter != query and not re.search(r"\bOR\b|\bNOT\b", query, re.IGNORECASE):
            return shorter
    return ""


def _is_said_date(text: str, asked: TableQuestion) -> bool:
    """Whether the question has a query's day, or that day begins or ends a month."""
    parts = text.split("-")
    days = {str(int(number)) for number in re.findall(r"\d{1,2}", asked.text)}
    return (
        len(parts) < 3
        or not parts[2][:2].isdigit()
        or parts[2][:2] in ("01", "28", "29", "30", "31")
        or str(int(parts[2][:2])) in days
    )


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT of a query by clause, each without its keyword; "" where it has none.

    ``depth``: how many brackets it stands in.
    """

    clauses: Mapping[str, str]
    depth: int

    def __getitem__(self, clause: str) -> str:
        return self.clauses.get(clause, "")

    @property
    def summarises(self) -> bool:
        """Whether it counts, sums or groups rows."""
        return (
            bool(self["group"]) or _SUMMARISED.search(_without_brackets(self["select"])) is not None
        )

    @property
    def has_extreme(self) -> bool:
        """Whether it takes the least or the most of a column."""
        return _EXTREME.search(_without_brackets(self["select"])) is not None


def _without_brackets(text: str) -> str:
    """A select list without the queries in it."""
    return re.sub(r"\(\s*SELECT\b.*\)", "", text, flags=re.IGNORECASE | re.DOTALL)


def selects(query: str) -> list[Select]:
    """Every SELECT of a query, in the order of their first words.

    >>> found = selects("SELECT (SELECT a FROM t WHERE b = 'x') - 1")
    >>> [(one["select"], one["from"], one["where"]) for one in found]
    [("( SELECT a FROM t WHERE b = 'x' ) - 1", '', ''), ('a', 't', "b = 'x'")]
    """
    words = _TOKEN.findall(query)
    depths, depth = list[int](), 0
    for word in words:
        depth -= word == ")"
        depths.append(depth)
        depth += word == "("
    starts = [at for at, word in enumerate(words) if word.casefold() == "select"]
    return [Select(_clauses(words, depths, start), depths[start]) for start in starts]


def _clauses(tokens: Sequence[str], depths: Sequence[int], start: int) -> dict[str, str]:
    found, clause = dict[str, list[str]](), "select"
    for token, depth in zip(tokens[start + 1 :], depths[start + 1 :], strict=True):
        word = token.casefold()
        if depth < depths[start] or (depth == depths[start] and word in _SETS):
            break
        if depth == depths[start] and word in _CLAUSES:
            clause = word
        elif not (
            depth == depths[start]
            and word == "by"
            and clause in ("group", "order")
            and clause not in found
        ):
            found.setdefault(clause, []).append(token)
    return {name: " ".join(words) for name, words in found.items()}


def with_empty_last(query: str) -> str:
    """A query for the least of something that takes no empty cell for it.

    >>> with_empty_last("SELECT a FROM t ORDER BY b LIMIT 1")
    'SELECT a FROM t ORDER BY b NULLS LAST LIMIT 1'
    >>> with_empty_last("SELECT a FROM t ORDER BY b DESC LIMIT 1")
    'SELECT a FROM t ORDER BY b DESC LIMIT 1'
    """
    return re.sub(
        r"(\bORDER\s+BY\s+[\w.]+(?:\s+ASC)?)(?=\s+LIMIT\b)",
        r"\1 NULLS LAST",
        query,
        flags=re.IGNORECASE,
    )


def rank_query(query: str) -> str:
    """For a query of the first row in an order: what rows are ordered by; "" for any other."""
    first = min(selects(query), key=lambda select: select.depth)
    if (
        first["limit"].strip() != "1"
        or not first["order"]
        or (first.summarises and not first["group"])
    ):
        return ""
    ordered = re.split(r"\b(?:ASC|DESC|NULLS)\b", first["order"], flags=re.IGNORECASE)[0]
    clauses = (
        ("where", "WHERE"),
        ("group", "GROUP BY"),
        ("having", "HAVING"),
        ("order", "ORDER BY"),
    )
    rest = " ".join(f"{keyword} {first[name]}" for name, keyword in clauses if first[name])
    return "" if "," in ordered else f"SELECT {ordered} FROM {first['from']} {rest}"


def with_limit(query: str, rows: int) -> str:
    """A query that ends with "LIMIT 1", for more rows."""
    return re.sub(r"\bLIMIT\s+1\s*$", f"LIMIT {rows}", query, flags=re.IGNORECASE)


def row_queries(query: str, sources: Sequence[Source]) -> list[tuple[str, int]]:
    """Queries for the rows that a query's result rests on, of its outermost SELECT with a table.

    The first columns are rowids; each query comes with the number of these.
    """
    found, outermost = list[tuple[str, int]](), None
    for select in selects(query):
        names = _row_names(select["from"], sources)
        if not names or (outermost is not None and select.depth > outermost):
            continue
        outermost = select.depth
        found.append((_row_query(select, ", ".join(names)), len(names)))
        found += row_queries(select["select"], sources)
    return found


def _row_query(select: Select, names: str) -> str:
    where = f" WHERE {select['where']}" if select["where"] else ""
    rows = f"FROM {select['from']}"
    if select["group"]:
        having = f" HAVING {select['having']}" if select["having"] else ""
        key, only = select["group"], select["where"] or 1
        groups = f"SELECT {key} {rows}{where} GROUP BY {key}{having}{_ordered(select)}"
        return f"SELECT {names} {rows} WHERE ({only}) AND ({key}) IN ({groups})"
    if select.summarises:
        return f"SELECT {names} {rows}{where}"
    if select.has_extreme:  # SQLite takes other columns from the row of a single MIN or MAX
        return f"SELECT {names}, {select['select']} {rows}{where}"
    return f"SELECT {names} {rows}{where}{_ordered(select)}"


def _ordered(select: Select) -> str:
    order = f" ORDER BY {select['order']}" if select["order"] else ""
    return order + (f" LIMIT {select['limit']}" if select["limit"] else "")


def _row_names(tables: str, sources: Sequence[Source]) -> list[str]:
    """What names the rowid of each table of a FROM; none where it has a query in brackets."""
    if re.search(r"\bselect\b", tables, re.IGNORECASE):
        return []
    known, found = {source.sql.name for source in sources}, list[str]()
    for part in re.split(r",|\bjoin\b", tables, flags=re.IGNORECASE):
        words = [word.strip('"`') for word in re.split(r"\s+", part.strip())]
        if words[0].casefold() not in known:
            continue
        after = [word for word in words[1:3] if word.casefold() != "as"]
        is_alias = bool(after) and after[0].casefold() not in KEYWORDS and after[0].isidentifier()
        found.append(f"{after[0] if is_alias else words[0]}.rowid")
    return found


def _first_list(expression: str) -> str:
    """The columns that the queries within an expression select, and what stands outside of them."""
    return re.sub(r"\bWHERE\b[^()]*|\bFROM\b\s+\w+", " ", expression, flags=re.IGNORECASE)


def label(name: str, sources: Sequence[Source]) -> str:
    """What a column of a result is, in the words of the headings.

    A name that the query gave, as in ``AS total``, stays, with blanks for its underscores.
    """
    headings = {
        sql_name: column.heading
        for source in sources
        for sql_name, column in source.columns.items()
    }
    bare = re.sub(r"\b\w+\.(?=\w)", "", name).strip('"`')
    if bare.casefold() in headings:
        return headings[bare.casefold()]
    if re.fullmatch(r"\w+", bare):
        return bare.replace("_", " ")
    if re.search(r"\bselect\b", bare, re.IGNORECASE):
        named = (
            headings[word.casefold()]
            for word in re.findall(r"[A-Za-z_]\w*", _first_list(bare))
            if word.casefold() in headings
        )
        return " − ".join(dict.fromkeys(named)) or "…"
    return re.sub(r"[A-Za-z_]\w*", lambda word: headings.get(word[0].casefold(), word[0]), bare)
