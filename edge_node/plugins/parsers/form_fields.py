"""What form fields show: ticks, choices, and what was filled in."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from edge_node.plugins.parsers.package import Element

FORM = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
FIELD = "{urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0}"
CHECK_BOX, CHOICE = 1, 2  # kinds of a field of Word ([MS-DOC] FFData, iType; RTF's \fftype)
_UNSET = 25  # the result of a field that shows its default
_DATA_HEAD = 0x44  # bytes before the field in Word's stream of data
_IS_FIELD = 0xFFFF_FFFF  # what its data begin with; those of a link do not
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
_UNREAD = frozenset({"button", "file", "frame", "hidden", "image", "image-frame", "password"})


def tick(is_set: bool, label: str = "") -> str:
    """A box with or without its cross, and what stands beside it.

    >>> tick(True), tick(False, "Fasting")
    ('☒', '☐ Fasting')
    """
    return f"{'☒' if is_set else '☐'} {label}".rstrip()


def choice(entries: Sequence[str], at: int) -> str:
    """The chosen one of the entries, "" for none."""
    return entries[at] if 0 <= at < len(entries) else ""


def word_field(kind: int, result: int, default: int, entries: Sequence[str] = ()) -> str:
    """What a field of Word shows where that is no text of the document.

    >>> word_field(CHECK_BOX, 25, 1), word_field(CHOICE, 1, 0, ["oral", "s.c."])
    ('☒', 's.c.')
    """
    number = default if result == _UNSET else result
    if kind == CHECK_BOX:
        return tick(number == 1)
    return choice(entries, number) if kind == CHOICE else ""


def stored_field(data: bytes, at: int) -> str:
    """As ``word_field``, of a field in a .doc's stream of data ([MS-DOC] 2.9.78).

    Raises ``struct.error`` where it is cut off.
    """
    at += _DATA_HEAD
    mark, bits = struct.unpack_from("<IH", data, at)
    kind, result = bits & 3, bits >> 2 & 31
    if mark != _IS_FIELD or kind not in (CHECK_BOX, CHOICE):
        return ""
    at += 10
    _, at = _text(data, at, end=2)
    (default,) = struct.unpack_from("<H", data, at)
    at += 2
    for _ in range(5):  # format, help, status, macros
        _, at = _text(data, at, end=2)
    entries = list[str]()
    if kind == CHOICE:
        _, count, _ = struct.unpack_from("<3H", data, at)
        at += 6
        for _ in range(count):
            entry, at = _text(data, at)
            entries.append(entry)
    return word_field(kind, result, default, entries)


def _text(data: bytes, at: int, end: int = 0) -> tuple[str, int]:
    """A text behind its length, and where the next one begins; ``end``: bytes that close it."""
    (length,) = struct.unpack_from("<H", data, at)
    start = at + 2
    stop = start + 2 * length
    return data[start:stop].decode("utf-16-le", "replace"), stop + end


def open_controls(content: Element) -> dict[str, Element]:
    """The controls of an OpenDocument's forms by their identifiers."""
    controls = dict[str, Element]()
    for form in content.iter(f"{FORM}form"):
        for control in form:
            for identifier in (control.get(f"{FORM}id"), control.get(_XML_ID)):
                if identifier:
                    controls[identifier] = control
    return controls


def open_value(control: Element) -> str:
    """What a control of an OpenDocument's form shows; nothing of a password or a button."""
    kind = control.tag.rpartition("}")[2]
    label: str = control.get(f"{FORM}label", "").strip()
    if kind in _UNREAD:
        return ""
    if kind == "checkbox":
        state = control.get(f"{FORM}current-state") or control.get(f"{FORM}state", "")
        return tick(state == "checked", label)
    if kind == "radio":
        return tick(_is_selected(control), label)
    if kind == "listbox":
        options = _selected(control.iter(f"{FORM}option"))
        return ", ".join(filter(None, options))
    if kind == "fixed-text":
        return label
    value: str = control.get(f"{FORM}current-value") or control.get(f"{FORM}value", "")
    return value.strip()


def open_field(mark: Element) -> str:
    """As ``word_field``, of a field of Word that LibreOffice stored as OpenDocument."""
    values = dict[str, list[str]]()
    for parameter in mark.iter(f"{FIELD}param"):
        name, value = parameter.get(f"{FIELD}name", ""), parameter.get(f"{FIELD}value", "")
        values.setdefault(name, []).append(value)
    kind = mark.get(f"{FIELD}type", "").rpartition(".")[2]
    if kind == "FORMCHECKBOX":
        return tick(values.get("Checkbox_Checked") == ["true"])
    if kind != "FORMDROPDOWN":
        return ""
    at = values.get("Dropdown_Selected", [""])[0]
    return choice(values.get("Dropdown_ListEntry", []), int(at)) if at.isdecimal() else ""


def _selected(options: Iterable[Element]) -> list[str]:
    return [option.get(f"{FORM}label", "") for option in options if _is_selected(option)]


def _is_selected(element: Element) -> bool:
    state = element.get(f"{FORM}current-selected") or element.get(f"{FORM}selected", "")
    return bool(state == "true")
