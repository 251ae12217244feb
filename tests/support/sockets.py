"""An app of ours in this process, behind a real socket."""

import asyncio
import contextlib
import socket
import threading

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


@contextlib.asynccontextmanager
async def in_a_thread(server):
    """Run a uvicorn.Server as our services do, on the loop that its configuration names; yields its port.

    Its thread's loop is not the client's: what a client sends can come at any moment, as it does from another machine.
    """
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        await until(lambda: server.started or not thread.is_alive())
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join)
