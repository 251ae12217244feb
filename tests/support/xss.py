"""Two hundred texts that would run in a page which does not escape them, and services whose pages are full of them.

The texts are those of ``tests/security/xss.txt``, in five places each. Those of ``together`` hold twenty each, so a
page that is looked at ten times has met all.
"""

import copy
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from types import SimpleNamespace

from jinja2 import Environment, nodes
from pydantic import BaseModel

from shared.http.console.pages import Pages

FILE = Path(__file__).parent.parent / "security" / "xss.txt"
PLACES = ("{}", '"> {}', "'> {}", "</textarea></script></title> {}", "--> ]]> {}")  # text, attributes of both quotes, raw text, comments
ADDRESSES = ("javascript:", "data:")
TEXTS = 5
OURS = frozenset({  # words that the services choose themselves, and by which a page tells cases apart; hashes and ids of ours
    "status", "route", "decision", "share", "breaker", "state", "states", "view_box", "curve", "escalation", "cloud", "fast", "here",
    "level", "role", "mode", "hash", "token", "query_id", "job_id", "receipt_id", "outcome", "key_id", "wanted", "next", "ticks", "width",
    "address",
})  # fmt: skip
BY_NAME = frozenset(["names", "disclosed", "places", "rules"])  # whose keys are foreign too


def payloads():
    """All of them, each once."""
    return [place.format(text) for text in bare() for place in PLACES]


def together():
    """All of them in ten texts; what could be an address stands at the beginning of one, where alone it would be one."""
    found = sorted(bare(), key=lambda text: not text.startswith(ADDRESSES))
    return [" ".join(place.format(text) for text in found[row::TEXTS] for place in PLACES) for row in range(TEXTS)]


def bare():
    """The payloads as they stand in the file."""
    return FILE.read_text(encoding="utf-8").splitlines()


def hostile(value, text, *, fill, name=""):
    """The same value with ``text`` at the beginning of every text in it; ``fill``: of empty ones too. What was equal stays equal."""

    def inner(one, inner_name=name):
        return hostile(one, text, fill=fill, name=inner_name)

    match value:
        case Enum():
            return value
        case str():
            return value if name in OURS or not (value or fill) else f"{text} {value}"
        case dict():
            return {f"{text} {key}" if name in BY_NAME else key: inner(one, str(key)) for key, one in value.items()}
        case list() | tuple():
            return type(value)(map(inner, value)) if not hasattr(value, "_fields") else value
        case BaseModel():
            return value.model_copy(update={key: inner(one, key) for key, one in value if name not in OURS})
        case _ if hasattr(value, "fingerprint"):  # an embedding model
            return SimpleNamespace(fingerprint=f"{text}/{value.fingerprint}", dimensions=value.dimensions)
        case _ if is_dataclass(value):
            changed = copy.copy(value)
            for field in fields(value):
                object.__setattr__(changed, field.name, inner(getattr(value, field.name), field.name))
            return changed
    return value


class Marking(Environment):
    """Templates that tell which of their lines with a ``{{ … }}`` were filled in."""

    def _parse(self, source, name, filename):
        tree = super()._parse(source, name, filename)
        lines = source.splitlines()
        for output in tree.find_all(nodes.Output):
            output.nodes = [self._marked(one, f"{name}: {lines[one.lineno - 1].strip()}") for one in output.nodes]
        return tree

    def _marked(self, one, place):
        if isinstance(one, nodes.TemplateData):
            return one
        self.places.add(place)
        return nodes.Filter(one, "mark", [nodes.Const(place)], [], None, None, lineno=one.lineno)


class HostilePages(Pages):
    """Pages whose every value begins with ``foreign``, the name of the service and of the caller too."""

    foreign = ""
    fill = False

    @classmethod
    def of(cls, app):
        """Take the place of an app's pages, before the first is made."""
        pages = copy.copy(app.state.pages)
        pages.__class__, pages._templates.__class__ = cls, Marking
        pages._templates.places, pages.filled, pages.site = set(), set(), pages._templates.globals["site"]
        pages._templates.filters["mark"] = lambda value, place: pages.filled.add(place) or value
        app.state.pages = pages
        return pages

    def text(self, request, template, **values):
        self._templates.globals["site"] = f"{self.foreign} {self.site}"
        if (caller := getattr(request.state, "caller", None)) is not None:
            request.state.caller = replace(caller, name=f"{self.foreign} {caller.name}")
        return super().text(request, template, **hostile(values, self.foreign, fill=self.fill))

    def not_filled(self, but):
        """The lines of templates of this service that nothing has filled; ``but``: the beginnings of those that are left out."""
        for name in self._templates.list_templates(["html"]):
            self._templates.get_template(name)
        return sorted(place for place in self._templates.places - self.filled if not place.startswith(but))


# What a page looks like to who looks for something that could run: no handler, no script but ours, no address but ours.
LOOK = """
const active = (root) => [...root.querySelectorAll("*")].flatMap((one) => [...one.attributes].flatMap(({ name, value }) => {
  const said = value.replace(/[\\s\\u0000-\\u001f]/g, "").toLowerCase();
  const runs = /^(hx-)?on/.test(name) || name === "srcdoc" || (name === "id" && value === "bait");
  const leads = /^(href|src|action|formaction|data|xlink:href)$/.test(name) && /^(javascript:|data:(?!,$)|\\/\\/)/.test(said);
  const asks = /^hx-(get|post|put|delete|patch)$/.test(name) && !/^\\/(console\\/|$)/.test(value);
  return runs || leads || asks ? [`${one.tagName} ${name}=${value.slice(0, 80)}`] : [];
})).concat([...root.querySelectorAll("script, object, embed, base, style, meta[http-equiv]")]
  .filter((one) => !one.getAttribute("src")?.startsWith("/console/static/")).map((one) => one.outerHTML.slice(0, 80)));
"""
# Pages side by side, each unfolded; those of before go when the new ones stand. Then who was run, and what could be.
FRAMES = (
    "async (paths) => {"
    + LOOK
    + """
  const before = [...document.querySelectorAll("iframe.seen")], found = [];
  const frames = await Promise.all(paths.map((path) => new Promise((done) => {
    const frame = Object.assign(document.createElement("iframe"), { className: "seen", width: 1200, height: 800 });
    frame.onload = () => done([path, frame]);
    frame.src = path;
    document.body.append(frame);
  })));
  for (const [path, { contentDocument }] of frames) {
    for (const folded of contentDocument?.querySelectorAll("details") ?? []) folded.open = true;
    for (const bait of contentDocument?.querySelectorAll("#bait, [href^='javascript:' i]") ?? []) bait.click();
    found.push(...(contentDocument ? active(contentDocument) : ["no document"]).map((one) => `${path}: ${one}`));
  }
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  for (const frame of document.querySelectorAll("iframe.seen")) if (frame.contentWindow.run) found.push(`${frame.src} has run`);
  if (window.run) found.push("a page has run in its parent");
  for (const frame of before) frame.remove();
  return found;
}"""
)
# Pieces of pages, one after the other, as htmx puts them into a page.
PIECES = (
    "async (pieces) => {"
    + LOOK
    + """
  const made = Object.assign(document.createElement("div"), { id: "pieces" }), found = [];
  const place = document.getElementById("pieces") ?? document.querySelector("main").appendChild(made);
  for (const [method, path, values, select] of pieces) {
    place.replaceChildren();
    await htmx.ajax(method, path, { target: "#pieces", swap: "innerHTML", values, select, headers: headers() });
    for (const folded of place.querySelectorAll("details")) folded.open = true;
    for (const bait of place.querySelectorAll("#bait, [href^='javascript:' i]")) bait.click();
    await new Promise(requestAnimationFrame);
    found.push(...active(document.body).map((one) => `${path}: ${one}`));
    if (window.run) found.push(`${path} has run`);
    const refused = document.getElementById("messages").textContent.trim().slice(-200);
    if (!place.children.length && !path.endsWith("/nothing")) found.push(`${path}: no piece, but ${refused}`);
  }
  return found;
}"""
)
