"""The cloud cannot be used, or must not be."""

from __future__ import annotations

from shared.errors.base import DgragError
from shared.errors.store import StoreError


class CloudError(DgragError):
    """The cloud cannot be used right now."""

    code = "cloud_error"


class CloudUnavailable(CloudError):
    """The cloud cannot be reached, hangs, or fails by itself."""

    code = "cloud_unavailable"

    def __init__(self, message: str, *, next_step: str = "see that the cloud runs, and that its URL is right") -> None:
        super().__init__(message, next_step=next_step)


class CloudRefused(CloudError):
    """The cloud understood the request and said no."""

    code = "cloud_refused"

    def __init__(self, message: str, *, status: int, reason: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class Withheld(CloudError):
    """The sharing policy keeps something at this site."""

    code = "withheld"


class Unrecorded(CloudError):
    """The egress ledger cannot be written, and what is not recorded does not leave."""

    code = "unrecorded"

    def __init__(self, why: StoreError) -> None:
        super().__init__(f"nothing is sent, for the egress ledger cannot be written: {why.message}", next_step=why.next_step)


class Unsendable(CloudError):
    """What is to be sent is not of the agreed form; ``fields`` says where."""

    code = "unsendable"

    def __init__(self, what: str, *, fields: str) -> None:
        super().__init__(f"a {what} cannot be sent to the cloud: {fields}", next_step="report it: the edge must not make such a message")
