"""What a benchmark's configuration says of the links between edges and cloud; ``dgrag up --runtime netns`` makes them (``deploy.lab``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from deploy.lab.topology import LinkShape, words_of


class LinkConfig(BaseModel):
    """``[link]`` of a benchmark's configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mbit: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 50.0  # Mbit/s of each edge, each way
    delay_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 15.0  # one way: a round trip takes twice as long
    loss: Annotated[float, Field(ge=0, lt=1)] = 0.0  # share of packets, each way
    required: bool = True  # False: where it cannot be had the run goes on without, and says so

    def words(self) -> str:
        """The link as ``dgrag up --link`` takes it.

        >>> LinkConfig(mbit=5, loss=0.01).words()
        'rate=5mbit delay=15ms loss=1% queue=100ms'
        """
        return words_of(LinkShape(self.mbit, self.delay_ms, self.loss))
