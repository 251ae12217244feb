"""Keys of a bucket's store."""

import pytest

from edge_node.folders.bucket import Bucket
from edge_node.settings import BucketSettings
from shared.errors import InputError

NAMES = ("DGRAG_S3_ACCESS_KEY", "DGRAG_S3_SECRET_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


@pytest.mark.parametrize("alone", NAMES)
def test_one_key_without_the_other_is_refused_with_the_next_step(alone, monkeypatch):
    pytest.importorskip("minio")
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(alone, "k")
    with pytest.raises(InputError, match="both of its keys") as told:
        Bucket("s3://reports", BucketSettings(), most_bytes=1000)
    assert "DGRAG_S3_SECRET_KEY" in told.value.next_step
