"""An app of ours in this process, behind a real socket."""

import asyncio
import contextlib
import socket

import uvicorn

from tests.support.waiting import until


@contextlib.asynccontextmanager
async def on_a_socket(app, **options):
    """Serve an app on a free port of this machine until the block ends; yields its address. lifespan="off": its work runs already."""
    # Its own logging would stay for all tests that follow in this process.
    chosen = {"log_config": None, "lifespan": "on", "timeout_graceful_shutdown": 1, **options}
    server = uvicorn.Server(uvicorn.Config(app, **chosen))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        await until(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
