"""Calendars (.ics, RFC 5545) and cards (.vcf, RFC 6350): lines of a name and a value."""

from __future__ import annotations

import binascii
import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

from edge_node.documents.blocks import Block, ParsedDocument, TextBlock
from edge_node.documents.parsers import Parser
from edge_node.documents.text import stem
from edge_node.plugins.parsers.charsets import decoded
from shared.errors import UnreadableDocument
from shared.plural import counted

MAX_COMPONENTS = 20_000  # events, tasks or cards
_LINE = re.compile(r"(?:[\w-]+\.)?([\w-]+)((?:;(?:\"[^\"]*\"|[^\":;])*)*):(.*)", re.DOTALL)
_FOLD = re.compile(r"\r?\n[ \t]")
_CALENDAR_NAME = re.compile(r"^X-WR-CALNAME:([^\r\n]{1,200})", re.MULTILINE)
_SOFT_BREAK = re.compile(r"=\r?\n")  # of quoted-printable, in cards of version 2.1
_PARAMETER = re.compile(r";([\w-]+)=(\"[^\"]*\"|[^;:]*)|;([\w-]+)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?(Z?))?")
_DAY = re.compile(r"\d{8}")
_PERIOD_END = re.compile(r"/[^,]*")
_COMMA = re.compile(r"(?<!\\),\s*")
_DURATION = re.compile(r"([+-]?)P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:\d+S)?)?")
_EVENT = (
    ("SUMMARY", "What"),
    ("DTSTART", "When"),
    ("DTEND", "Until"),
    ("DUE", "Due"),
    ("DURATION", "Duration"),
    ("RRULE", "Repeats"),
    ("RDATE", "Also on"),
    ("EXDATE", "Not on"),
    ("RECURRENCE-ID", "Instead of"),
    ("LOCATION", "Where"),
    ("ORGANIZER", "Organizer"),
    ("ATTENDEE", "Attendees"),
    ("CONTACT", "Contact"),
    ("RESOURCES", "Resources"),
    ("STATUS", "Status"),
    ("PERCENT-COMPLETE", "Percent complete"),
    ("COMPLETED", "Completed"),
    ("PRIORITY", "Priority"),
    ("CATEGORIES", "Categories"),
    ("URL", "Address"),
    ("COMMENT", "Comment"),
    ("DESCRIPTION", "Description"),
)
_CARD = (
    ("FN", "Name"),
    ("NICKNAME", "Nickname"),
    ("ORG", "Organization"),
    ("TITLE", "Title"),
    ("ROLE", "Role"),
    ("TEL", "Phone"),
    ("EMAIL", "Mail"),
    ("ADR", "Address"),
    ("URL", "Web address"),
    ("BDAY", "Birthday"),
    ("CATEGORIES", "Categories"),
    ("NOTE", "Note"),
)
_METHODS = {"CANCEL": "Cancelled", "REPLY": "Reply to an invitation", "REQUEST": "Invitation"}
_MOMENTS = frozenset(
    {"BDAY", "COMPLETED", "DTEND", "DTSTART", "DUE", "EXDATE", "RDATE", "RECURRENCE-ID"}
)
_LISTS = frozenset({"CATEGORIES", "RESOURCES"})
_PEOPLE = frozenset({"ORGANIZER", "ATTENDEE"})
_ENCODINGS = frozenset({"7BIT", "8BIT", "BASE64", "QUOTED-PRINTABLE"})
_STRUCTURED = frozenset({"ADR", "ORG", "N"})  # parts parted by ";"


@dataclass(frozen=True, slots=True)
class _Property:
    name: str
    parameters: dict[str, str]
    value: str


@dataclass
class _Component:
    """An event, a task, a card: its properties in order."""

    kind: str
    properties: list[_Property] = field(default_factory=list)


def parse_calendar(name: str, data: bytes) -> ParsedDocument:
    """Each event and task of a calendar: what, when, where, who. Raises UnreadableDocument."""
    source = decoded(name, data)
    blocks = tuple(calendar_blocks(source.text))
    if not blocks:
        raise _unreadable(name, "calendar")
    shortfalls = (*source.shortfalls, *_skipped(source.text, "BEGIN:VEVENT"))
    title = _CALENDAR_NAME.search(_FOLD.sub("", source.text))
    return ParsedDocument(blocks, title.group(1) if title else stem(name), shortfalls)


def parse_cards(name: str, data: bytes) -> ParsedDocument:
    """Each person or firm of a file of cards. Raises UnreadableDocument."""
    source = decoded(name, data)
    components = _components(_SOFT_BREAK.sub("", source.text), ("VCARD",))
    blocks = tuple(_component_block(each, _CARD) for each in components)
    if not blocks:
        raise _unreadable(name, "card")
    shortfalls = (*source.shortfalls, *_skipped(source.text, "BEGIN:VCARD"))
    return ParsedDocument(blocks, stem(name), shortfalls)


def _unreadable(name: str, kind: str) -> UnreadableDocument:
    message = f"holds no {kind}"
    return UnreadableDocument(
        name, "bad_calendar", message, next_step="export it again, or as text"
    )


def _skipped(text: str, begin: str) -> Iterator[tuple[str, str]]:
    if (others := text.upper().count(begin) - MAX_COMPONENTS) > 0:
        yield "part_unread", f"{counted(others, 'more entry', 'more entries')} were not read."


def calendar_blocks(text: str) -> Iterator[Block]:
    r"""A paragraph for each event and task.

    >>> source = "BEGIN:VEVENT\nSUMMARY:Round\nDTSTART:20240503T0900\nLOCATION:Room 12\nEND:VEVENT"
    >>> [block.text for block in calendar_blocks(source)]
    ['What: Round.\nWhen: 2024-05-03 09:00.\nWhere: Room 12.']
    """
    method = re.search(r"^METHOD:([A-Za-z]+)", text, re.MULTILINE)
    if method and (heading := _METHODS.get(method.group(1).upper())):
        yield TextBlock("paragraph", f"{heading}:")
    for component in _components(text, ("VEVENT", "VTODO", "VJOURNAL")):
        yield _component_block(component, _EVENT)


def _components(text: str, kinds: tuple[str, ...]) -> Iterator[_Component]:
    component: _Component | None = None
    inner = 0  # how many alarms and the like are open in it
    count = 0
    for line in _FOLD.sub("", text).splitlines():
        keyword, _, kind = line.strip().upper().partition(":")
        if keyword == "BEGIN" and component is None and kind in kinds:
            component = _Component(kind)
        elif keyword == "BEGIN":
            inner += component is not None
        elif keyword == "END" and inner:
            inner -= 1
        elif keyword == "END" and component is not None:
            yield component
            component = None
            count += 1
            if count == MAX_COMPONENTS:
                return
        elif component is not None and not inner and (found := _property(line)):
            component.properties.append(found)
    if component is not None:
        yield component


def _property(line: str) -> _Property | None:
    found = _LINE.match(line)
    if found is None:
        return None
    parameters = dict[str, str]()
    for key, value, flag in _PARAMETER.findall(found.group(2)):
        name = key.upper()
        if flag:  # of version 2.1 of cards: an encoding, or a type
            name, value = ("ENCODING" if flag.upper() in _ENCODINGS else "TYPE"), flag
        before = parameters.get(name, "") if name == "TYPE" else ""
        parameters[name] = ",".join(filter(None, (before, value.strip('"'))))
    value = found.group(3)
    if parameters.get("ENCODING", "").upper() == "QUOTED-PRINTABLE":
        value = _unquoted(value, parameters.get("CHARSET", ""))
    return _Property(found.group(1).upper(), parameters, value)


def _unquoted(value: str, label: str) -> str:
    try:
        raw = quopri.decodestring(value.encode("latin-1", errors="replace"))
        return decoded("", raw, label).text
    except (binascii.Error, UnreadableDocument):
        return value


def _component_block(component: _Component, fields: tuple[tuple[str, str], ...]) -> TextBlock:
    """Its fields as lines, each a sentence: "Where: Room 12."."""
    lines = list[str]()
    for name, label in fields:
        values = [_shown(each, component) for each in component.properties if each.name == name]
        values = [value for value in dict.fromkeys(values) if value]
        if name == "FN" and not values:
            values = [_name(each) for each in component.properties if each.name == "N"]
        if values:
            line = f"{label}: {', '.join(values)}"
            lines.append(line if line.endswith((".", "!", "?")) else f"{line}.")
    return TextBlock("paragraph", "\n".join(lines))


def _shown(item: _Property, component: _Component) -> str:
    if item.name == "DTEND" and _DAY.fullmatch(item.value.strip()):
        return _last_day(item, component)
    if item.name in _PEOPLE:
        return _person(item)
    if item.name in _MOMENTS:
        return _moment(item)
    if item.name == "RRULE":
        return _rule(item.value)
    if item.name == "DURATION":
        return _duration(item.value)
    if item.name in _STRUCTURED:
        parts = [_plain(part) for part in re.split(r"(?<!\\);", item.value)]
        return ", ".join(filter(None, parts))
    if item.name in _LISTS:
        return ", ".join(map(_plain, _COMMA.split(item.value)))
    kind = item.parameters.get("TYPE", "").lower() if item.name in ("TEL", "EMAIL") else ""
    value = _plain(item.value).removeprefix("tel:").removeprefix("mailto:")
    kinds = [each for each in kind.split(",") if each not in ("", "internet", "pref", "voice")]
    return f"{value} ({', '.join(kinds)})" if kinds else value


def _plain(value: str) -> str:
    return _ESCAPE.sub(lambda found: "\n" if found[1] in "nN" else found[1], value).strip()


def _name(item: _Property) -> str:
    family, given, *_ = [*map(_plain, item.value.split(";")), "", ""]
    return f"{given} {family}".strip()


def _person(item: _Property) -> str:
    mail = re.sub(r"^mailto:", "", item.value.strip(), flags=re.IGNORECASE)
    name = item.parameters.get("CN", "")
    answer = item.parameters.get("PARTSTAT", "").lower()
    shown = f"{name} <{mail}>" if name and name != mail and "@" in mail else name or mail
    return f"{shown} ({answer})" if answer in ("accepted", "declined", "tentative") else shown


def _moment(item: _Property) -> str:
    """As a person writes it, with its zone: "2024-05-03 09:00 Europe/Berlin"."""
    moments = list[str]()
    for year, month, day, hour, minute, utc in _MOMENT.findall(_PERIOD_END.sub("", item.value)):
        zone = "UTC" if utc else item.parameters.get("TZID", "")
        clock = f" {hour}:{minute} {zone}".rstrip() if hour else ""
        moments.append(f"{year}-{month}-{day}{clock}")
    return ", ".join(moments) or _plain(item.value)


def _last_day(item: _Property, component: _Component) -> str:
    """Of an event of whole days, whose stated end is the day behind (RFC 5545, 3.6.1)."""
    starts = [each.value.strip() for each in component.properties if each.name == "DTSTART"]
    try:
        day = date.fromisoformat(item.value.strip()) - timedelta(days=1)
    except (OverflowError, ValueError):
        return _moment(item)
    last = f"{day:%Y%m%d}"
    start = starts[0] if starts and _DAY.fullmatch(starts[0]) else last
    return _moment(_Property(item.name, item.parameters, max(start, last)))


def _rule(value: str) -> str:
    pairs = [part.split("=", 1) for part in value.split(";") if "=" in part]
    return ", ".join(f"{key.lower()} {each.lower()}" for key, each in pairs)


def _duration(value: str) -> str:
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        return _plain(value)
    units = zip(found.groups()[1:], ("week", "day", "hour", "minute"), strict=True)
    return " ".join(counted(int(number), unit) for number, unit in units if number)


CALENDAR = Parser("calendar", 2, parse_calendar, media_types={".ics": "text/calendar"})
CARDS = Parser("cards", 2, parse_cards, media_types={".vcf": "text/vcard"})
