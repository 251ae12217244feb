"""The root of the error tree, and what belongs to no other branch."""

from __future__ import annotations


class DgragError(Exception):
    """Base of all our errors: a stable ``code``, a sentence, and the ``next_step`` a person can take."""

    code = "error"
    exit_status = 1  # of a command or a service that ends by it

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step


class FetchError(DgragError):
    """Weights could not be had, or do not match their hash."""

    code = "fetch_error"


class NotBuilt(DgragError):
    """Promised by the REST contract, brought by a later release."""

    code = "not_built"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} comes with a later release", next_step="see CHANGELOG.md for what this release has")


class SettingsError(DgragError):
    """A setting that cannot work, found at start."""

    code = "settings_error"
