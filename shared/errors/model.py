"""The model server failed or answered nonsense."""

from __future__ import annotations

from shared.errors.base import DgragError


class ModelError(DgragError):
    """The model server failed or answered nonsense; ``chunk_id`` names the passage it was asked about, where there is one."""

    code = "model_error"
    chunk_id: str = ""


class ModelTimeout(ModelError):
    """No full answer before the deadline."""

    code = "model_timeout"

    def __init__(self, *, deadline_s: float) -> None:
        super().__init__(f"the model gave no full answer in {deadline_s:.1f} s", next_step="raise the deadline or use a faster model")


class ModelUnavailable(ModelError):
    """The model server cannot be reached, or fails by itself; it asks to be left alone for ``retry_after_s`` seconds."""

    code = "model_unavailable"

    def __init__(self, message: str, *, next_step: str = "", retry_after_s: float = 0.0) -> None:
        super().__init__(message, next_step=next_step)
        self.retry_after_s = retry_after_s


class ModelReplyError(ModelError):
    """The model answered something that cannot be used."""

    code = "model_reply_error"
