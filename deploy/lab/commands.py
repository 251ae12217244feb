"""What can be asked of running links, and what they do. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from deploy.cluster.control import Command, Rows, Verb
from deploy.lab.links import Lane, Link, Star, hops
from deploy.lab.topology import parsed, words_of


def obeyed(star: Star, command: Command) -> Rows:
    """Do it, and return the state of the links that it was about, or the hops.

    Raises ClusterError for an edge without a link, and for words that say nothing; then nothing is changed.
    """
    links = star.chosen(command.edge)
    verbs: dict[Verb, Callable[[Sequence[Link], Command], None]] = {"set": _set, "cut": _cut, "heal": _heal}
    if command.do == "hops":
        edges = {link.edge for link in links}
        sent = [packet for packet in star.journal if packet.sent >= command.since and packet.edge in edges]
        return [asdict(hop) for hop in hops(sent)]
    if command.do in verbs:
        verbs[command.do](links, command)
    return [_told(link) for link in links]


def _set(links: Sequence[Link], command: Command) -> None:
    shapes = [parsed(command.words, link.up.shape) for link in links]
    for link, shape in zip(links, shapes, strict=True):
        link.up.shape = link.down.shape = shape


def _cut(links: Sequence[Link], _command: Command) -> None:
    for link in links:
        link.up.is_cut = link.down.is_cut = True


def _heal(links: Sequence[Link], _command: Command) -> None:
    for link in links:
        link.up.is_cut = link.down.is_cut = False


def _told(link: Link) -> dict[str, Any]:
    state = {"edge": link.edge, "cut": link.up.is_cut, "shape": words_of(link.up.shape)}
    return {**state, "up": _counted(link.up), "down": _counted(link.down)}


def _counted(lane: Lane) -> dict[str, int]:
    dropped = {"lost": lane.lost.packets, "full": lane.full.packets, "cut": lane.cut.packets}
    return {"bytes": lane.carried.bytes, "packets": lane.carried.packets, **dropped}
