"""What both services do alike at start: logging, the address check, and one clear line when the settings cannot work."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from shared.errors import DgragError, SettingsError
from shared.loopback import is_loopback

GRACE_S = 5  # for requests under way when the service is told to stop
log = logging.getLogger("dgrag")


def server_config(app: FastAPI, *, host: str, port: int) -> uvicorn.Config:
    """How we run uvicorn. Raises SettingsError for an address that other machines can reach: there are no credentials yet."""
    if not is_loopback(host):
        raise SettingsError(
            f"{host} can be reached from other machines, and there are no credentials yet",
            next_step="use 127.0.0.1, and an SSH or VPN tunnel between machines",
        )
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="asyncio" if sys.platform == "win32" else "uvloop",
        http="httptools",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )


def run(serve: Callable[[], None]) -> int:
    """Run a service; returns its exit status. What is wrong with its settings or its state is said in one line."""
    os.umask(0o077)  # store and log hold documents: for this user only
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for chatty in ("httpx", "pypdf", "nano-vectordb"):  # a line for each model request, each flaw of a PDF, each index
        logging.getLogger(chatty).setLevel(logging.ERROR)
    try:
        serve()
    except ValidationError as error:
        log.critical("the settings cannot be used: %s", "; ".join(f"{fault['loc'][0]}: {fault['msg']}" for fault in error.errors()))
        return 1
    except DgragError as error:
        log.critical("%s – %s", error.message, error.next_step)
        return error.exit_status
    return 0
