"""Asks services for a sign of life, beside the loop that keeps them: one that is stuck holds nobody else up."""

from __future__ import annotations

import http.client
import threading
import urllib.parse
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a service may be silent: ``misses`` times in a row ``timeout_s``, asked ``every_s``. A busy machine is no stuck one."""

    every_s: float = 10.0
    timeout_s: float = 30.0
    misses: int = 3


class Pulse:
    """Counts the silences of each service. A refused connection is none: who starts, or has ended, is not stuck."""

    def __init__(self, urls: Mapping[str, str], patience: Patience) -> None:
        """``urls``: of what answers at once, by the service's name."""
        self._urls = urls
        self._patience = patience
        self._silences = Counter[str]()
        self._ending = threading.Event()

    def start(self) -> None:
        """Begin to ask, in a thread that ends with the process."""
        threading.Thread(target=self._ask_all, name="pulse", daemon=True).start()

    def stop(self) -> None:
        """Ask no more."""
        self._ending.set()

    def is_stuck(self, name: str) -> bool:
        """True for a service that has been silent too often."""
        return self._silences[name] >= self._patience.misses

    def forgive(self, name: str) -> None:
        """Count anew, for a service that begins again."""
        self._silences[name] = 0

    def _ask_all(self) -> None:
        while not self._ending.wait(self._patience.every_s):
            for name, url in self._urls.items():
                if is_silent(url, timeout_s=self._patience.timeout_s):
                    self._silences[name] += 1
                else:
                    self.forgive(name)


def is_silent(url: str, *, timeout_s: float) -> bool:
    """True when a server takes the call and says nothing; ``url`` is plain HTTP, of this machine."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request("GET", parts.path)
        connection.getresponse().read()
    except TimeoutError:
        return True
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return False
