"""``python -m edge_node.extraction FD MODEL``: parses passages for the edge, which speaks on the socket ``FD``, until that is closed.

It holds spaCy and its model and nothing else: no key, no store, no other socket. Each message is the name of a method of ``Parser`` with
its arguments, and each gets what that returns, or the OSError of a model that is not there.
"""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing.connection import Connection

from edge_node.extraction.parsing import Parser

NICENESS = 5  # questions go first


def serve(line: Connection, model_name: str) -> None:
    """Parse until the edge has gone."""
    try:
        parser: Parser | OSError = Parser(model_name)
    except OSError as error:
        parser = error
    while True:
        try:
            name, arguments, options = line.recv()
        except EOFError:
            return
        line.send(parser if isinstance(parser, OSError) else getattr(parser, name)(*arguments, **options))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the edge, which closes the socket when it stops
    os.nice(NICENESS)
    serve(Connection(int(sys.argv[1])), sys.argv[2])
