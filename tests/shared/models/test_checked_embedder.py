import numpy as np
import pytest

from shared.errors import ModelReplyError
from shared.models.embedders import CheckedEmbedder
from shared.models.fake import HashEmbedder

BAD_ROWS = {
    "nan": np.full((2, 64), np.nan, dtype=np.float32),
    "inf": np.full((2, 64), np.inf, dtype=np.float32),
    "too large for float32": np.full((2, 64), 1e300),
    "too large a norm": np.full((2, 64), 3e38, dtype=np.float32),
    "zero": np.zeros((2, 64), dtype=np.float32),
    "not of norm 1": np.full((2, 64), 1.0, dtype=np.float32),
    "one dimension": np.ones((2, 1), dtype=np.float32),
    "another dimension": np.eye(2, 65, dtype=np.float32),
    "one row only": np.eye(1, 64, dtype=np.float32),
    "no rows": np.zeros((0, 64), dtype=np.float32),
    "a flat array": np.ones(64, dtype=np.float32),
}


class Giving(HashEmbedder):
    """Gives these rows, whatever it is asked."""

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    async def embed(self, texts):
        return self.rows


@pytest.mark.parametrize("rows", BAD_ROWS.values(), ids=BAD_ROWS)
async def test_unusable_vectors_are_a_reply_error_with_a_next_step(rows):
    with pytest.raises(ModelReplyError, match="the embedding model gave") as caught:
        await CheckedEmbedder(Giving(rows)).embed(["a", "b"])
    assert caught.value.next_step


async def test_an_embedder_that_refuses_its_own_vectors_is_a_reply_error():
    class Refusing(HashEmbedder):
        async def embed(self, texts):
            raise ValueError("a row is zero or not finite, so it has no direction")

    with pytest.raises(ModelReplyError, match="no direction"):
        await CheckedEmbedder(Refusing()).embed(["a"])


async def test_good_vectors_pass_as_they_are():
    inner = HashEmbedder()
    embedder = CheckedEmbedder(inner)
    assert (embedder.fingerprint, embedder.dimensions) == (inner.fingerprint, inner.dimensions)
    assert np.array_equal(await embedder.embed(["a", "b"]), await inner.embed(["a", "b"]))
    assert (await embedder.embed([])).shape == (0, 64)
