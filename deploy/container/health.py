"""Whether a service answers: the health check of a container. It imports nothing of ours, as it runs every few seconds."""

from __future__ import annotations

import http.client
import ssl
from urllib.parse import urlsplit

PATIENCE_S = 10.0


def fault(url: str, ca: str | None = None) -> str:
    """What is wrong with the service at ``url``, "" where it answers 200. ``ca``: PEM file of its authority, for https://."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=PATIENCE_S, context=ssl.create_default_context(cafile=ca)
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
    try:
        connection.request("GET", parts.path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"{url}: {error}"
    finally:
        connection.close()
    return "" if status == http.client.OK else f"{url} answers {status}"
