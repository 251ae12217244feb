"""``python -m edge_node.extraction FD MODEL``: parses passages for the edge, which speaks on the socket ``FD``, until that is closed.

It holds the packs' models and nothing else: no key, no store, no other socket. Each message names a method of ``LanguagePacks``, with
its arguments, and each gets what that returns, or the OSError or ImportError of a model that is not there.
"""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing.connection import Connection

from edge_node.extraction.language_packs import LanguagePacks

NICENESS = 5  # questions go first


def serve(line: Connection, model_name: str) -> None:
    """Parse until the edge has gone."""
    packs = LanguagePacks(model_name)
    while True:
        try:
            name, arguments, options = line.recv()
        except EOFError:
            return
        try:
            reply = getattr(packs, name)(*arguments, **options)
        except (OSError, ImportError) as error:
            reply = error
        line.send(reply)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the edge, which closes the socket when it stops
    os.nice(NICENESS)
    serve(Connection(int(sys.argv[1])), sys.argv[2])
