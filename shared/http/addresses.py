"""Whose address a request is counted by: the client's, where a proxy that is known says so (RFC 7239, and X-Forwarded-For)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.datastructures import Headers

Network = IPv4Network | IPv6Network
NETWORK_BITS = 64  # of an IPv6 address, that one customer is given whole
FORWARDED_FOR = re.compile(r'\s*for\s*=\s*"?([^";]+)"?\s*', re.IGNORECASE)
WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([^:]+):\d+")  # [2001:db8::1]:4711, 192.0.2.7:4711


def network_of(address: str) -> str:
    """Who shares one count: an IPv4 address, or all of an IPv6 network; "" for what is no address.

    >>> network_of("203.0.113.9"), network_of("::ffff:203.0.113.9"), network_of("2001:db8::1") == network_of("2001:db8::2")
    ('203.0.113.9', '203.0.113.9', True)
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or int(parsed) >> (parsed.max_prefixlen - NETWORK_BITS))


def client_network(peer: str, headers: Headers, *, proxies: Sequence[Network], header: str) -> str:
    """``network_of`` who asks: a proxy of ``proxies`` has written the address last into ``header``.

    One hop is believed. What others have written, and what is no address, counts for nothing: then it is the ``peer``'s.

    >>> from ipaddress import ip_network
    >>> sent = Headers({"x-forwarded-for": "10.9.9.9, 203.0.113.7"})
    >>> proxies = [ip_network("10.0.0.0/8")]
    >>> client_network("10.0.0.2", sent, proxies=proxies, header="x-forwarded-for")
    '203.0.113.7'
    >>> client_network("198.51.100.1", sent, proxies=proxies, header="x-forwarded-for")
    '198.51.100.1'
    """
    own = network_of(peer) or peer
    if not _is_in(peer, proxies):
        return own
    last = ",".join(headers.getlist(header)).rpartition(",")[2]
    written = _forwarded_for(last) if header == "forwarded" else last.strip()
    if match := WITH_PORT.fullmatch(written):
        written = match[1] or match[2]
    return network_of(written) or own


def _is_in(peer: str, networks: Sequence[Network]) -> bool:
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:  # a socket file has no address
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return any((mapped or address) in network for network in networks)


def _forwarded_for(element: str) -> str:
    """The ``for`` of one element of ``Forwarded``, as it stands there."""
    found = map(FORWARDED_FOR.fullmatch, element.split(";"))
    return next((match[1] for match in found if match), "")
