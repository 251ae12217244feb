"""``dgrag sync s3://…`` with moto's server as the store. It is started from an environment of its own: ``pip install 'moto[server]'``."""

import io
import os
import shutil
import subprocess

import httpx2
import pytest

from edge_node.folders.bucket import Bucket
from edge_node.records import document_id
from edge_node.settings import BucketSettings
from shared.errors import InputError
from tests.support.synced import EdgeProcess, free_port, synced
from tests.support.waiting import eventually

pytestmark = pytest.mark.process
SERVER = os.environ.get("DGRAG_TEST_MOTO") or shutil.which("moto_server")
needs_server = pytest.mark.skipif(SERVER is None, reason="no moto_server: install moto[server], and name the program in DGRAG_TEST_MOTO")


@pytest.fixture
def store():
    url = f"http://127.0.0.1:{free_port()}"
    child = subprocess.Popen(
        (SERVER, "-H", "127.0.0.1", "-p", url.rpartition(":")[2]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        assert eventually(lambda: answers(url), limit_s=60)
        yield url
    finally:
        child.kill()
        child.wait()


def answers(url):
    try:
        return httpx2.get(url).is_success
    except httpx2.TransportError:
        return False


def bucket(url, address="s3://reports/2026", **options):
    keys = {"DGRAG_S3_ACCESS_KEY": "key", "DGRAG_S3_SECRET_KEY": "secret"}
    settings = BucketSettings(endpoint=url, region="us-east-1", **keys)
    return Bucket(address, settings, **{"most_bytes": 1000, **options})


def put(url, **objects):
    client = bucket(url)._client
    if not client.bucket_exists("reports"):
        client.make_bucket("reports")
    for key, text in objects.items():
        client.put_object("reports", key, io.BytesIO(text.encode()), len(text))


@needs_server
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


@needs_server
def test_the_edge_equals_the_bucket(store, tmp_path):
    put(store, **{"2026/a.md": "The pump failed.", "2026/b.md": "The valve was replaced."})
    address, edge = "s3://reports/2026", EdgeProcess(tmp_path / "edge").start()
    keys = {"DGRAG_S3_ENDPOINT": store, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "DGRAG_S3_REGION": "us-east-1"}
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
        bucket("http://127.0.0.1:1", "s3://")
