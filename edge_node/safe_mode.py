"""What an edge serves whose store is damaged beyond mending: its status, and a clear no to the rest. It does not end (R10)."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from fastapi import FastAPI, Response

from shared.errors import SafeMode, StoreDamaged
from shared.http_problems import install_problems

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
ANY_LENGTH = 2**63  # no body is read here


def create_safe_app(edge: str, reason: StoreDamaged) -> FastAPI:
    """Routes that need no store; ``reason`` says what is wrong and what to do."""
    app = FastAPI(title=f"DGRAG edge {edge} in safe mode", version=metadata.version("dgrag"))
    install_problems(app, max_body_bytes=ANY_LENGTH)
    refusal = SafeMode(reason)

    @app.get("/health")
    async def health() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/ready")
    async def ready(response: Response) -> dict[str, Any]:
        """Never: a restart after the store was restored ends safe mode."""
        response.status_code = 503
        return {"ready": False, "reason": refusal.message, "code": refusal.code, "next_step": refusal.next_step}

    @app.get("/v1/status")
    async def status() -> dict[str, Any]:
        """That nothing works, and why."""
        return {"edge": edge, "failed": f"{refusal.message} – {refusal.next_step}", "settled": False, "documents": {}}

    @app.api_route("/{path:path}", methods=METHODS)
    async def anything(path: str) -> None:  # noqa: ARG001 - the route takes every path
        """Refuses."""
        raise refusal

    return app
