"""``dgrag sync s3://…`` with a store behind a port that checks each signature.

It is the one in ``tests.support.s3_server``, or any S3-compatible one that DGRAG_TEST_S3_URL, _ACCESS_KEY and _SECRET_KEY name; the
tests empty and fill its bucket ``reports`` (docs/operations.md).
"""

import io
import os
from typing import NamedTuple

import pytest

from edge_node.folders.bucket import Bucket
from edge_node.records import document_id
from edge_node.settings import BucketSettings
from shared.errors import InputError
from tests.support.s3_server import Store, s3_server, signature
from tests.support.synced import EdgeProcess, synced

pytestmark = pytest.mark.process


class Place(NamedTuple):
    """Where a store is, and its keys."""

    url: str
    access_key: str
    secret_key: str


@pytest.fixture
def objects():
    return Store({"key": "secret"}, page=2)  # a listing of three objects has a second page


@pytest.fixture
def own_store(objects):
    with s3_server(objects) as url:
        yield Place(url, "key", "secret")


@pytest.fixture
def store(request):
    if not (url := os.environ.get("DGRAG_TEST_S3_URL")):
        return request.getfixturevalue("own_store")
    given = Place(url, os.environ["DGRAG_TEST_S3_ACCESS_KEY"], os.environ["DGRAG_TEST_S3_SECRET_KEY"])
    client = bucket(given)._client
    if client.bucket_exists("reports"):
        for one in client.list_objects("reports", recursive=True):
            client.remove_object("reports", one.object_name)
    return given


def bucket(store, address="s3://reports/2026", **options):
    keys = {"DGRAG_S3_ACCESS_KEY": store.access_key, "DGRAG_S3_SECRET_KEY": store.secret_key}
    settings = BucketSettings(endpoint=store.url, region="us-east-1", **keys)
    return Bucket(address, settings, **{"most_bytes": 1000, **options})


def put(store, **objects):
    client = bucket(store)._client
    if not client.bucket_exists("reports"):
        client.make_bucket("reports")
    for key, text in objects.items():
        client.put_object("reports", key, io.BytesIO(text.encode()), len(text))


def test_objects_below_the_prefix_are_named_by_the_rest_of_their_keys(store):
    objects = {"2026/a.md": "A", "2026/sub/b.txt": "B", "2026/c.xyz": "C", "2026/.dgragignore": "d.md", "2026/d.md": "D", "2025/e.md": "E"}
    put(store, **objects, **{"2026/big.txt": "x" * 1001})
    survey = bucket(store, prefix="r/").survey()
    assert [entry.name for entry in survey.entries] == ["r/a.md", "r/sub/b.txt"]
    assert (survey.left_out, [problem.name for problem in survey.problems]) == (("r/c.xyz",), ["r/big.txt"])
    assert bucket(store).read(survey.entries[1]) == b"B"
    assert survey.entries[0].mark != survey.entries[1].mark
    with pytest.raises(InputError, match="cannot be listed"):
        bucket(store, "s3://nowhere").survey()


def test_the_edge_equals_the_bucket(store, tmp_path):
    put(store, **{"2026/a.md": "The pump failed.", "2026/b.md": "The valve was replaced."})
    address, edge = "s3://reports/2026", EdgeProcess(tmp_path / "edge").start()
    keys = {"AWS_ACCESS_KEY_ID": store.access_key, "AWS_SECRET_ACCESS_KEY": store.secret_key}
    keys |= {"DGRAG_S3_ENDPOINT": store.url, "DGRAG_S3_REGION": "us-east-1"}
    try:
        assert synced(address, edge.url, tmp_path, env=keys)["added"] == ["a.md", "b.md"]
        assert synced(address, edge.url, tmp_path, env=keys)["unchanged"] == 2
        put(store, **{"2026/a.md": "The pump works.", "2026/c.md": "The nurse called."})
        bucket(store)._client.remove_object("reports", "2026/b.md")
        said = synced(address, edge.url, tmp_path, env=keys)
        assert (said["added"], said["changed"], said["deleted"]) == (["c.md"], ["a.md"], ["b.md"])
        assert edge.held() == {"a.md": document_id("a.md", b"The pump works."), "c.md": document_id("c.md", b"The nurse called.")}
    finally:
        edge.close()


def test_an_address_without_a_bucket_is_told():
    with pytest.raises(InputError, match="names no bucket"):
        bucket(Place("http://127.0.0.1:1", "key", "secret"), "s3://")


def test_keys_that_are_wrong_are_told(store):
    put(store, **{"2026/a.md": "A"})
    with pytest.raises(InputError, match=r"cannot be listed: .*[Ss]ignature"):
        bucket(store._replace(secret_key="other")).survey()


def test_a_listing_that_begins_anew_for_ever_is_told(own_store, objects):
    put(own_store, **{"2026/a.md": "A", "2026/b.md": "B", "2026/c.md": "C"})
    objects.repeats = True
    with pytest.raises(InputError, match=r"lists 2026/a\.md twice"):
        bucket(own_store).survey()


def test_the_store_of_these_tests_signs_as_amazon_says():
    """The example "GET Object" of Amazon's "Signature Calculations for the Authorization Header"."""
    nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    headers = {
        "authorization": "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request",
        "host": "examplebucket.s3.amazonaws.com",
        "range": "bytes=0-9",
        "x-amz-content-sha256": nothing,
        "x-amz-date": "20130524T000000Z",
    }
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    signed = ["host", "range", "x-amz-content-sha256", "x-amz-date"]
    expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    assert signature(secret, "GET", "/test.txt", [], headers, signed, nothing) == expected
