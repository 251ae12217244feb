"""A bucket of an S3-compatible store as a source. An object's ETag is its mark: what is the same is not fetched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from edge_node.documents.parsers import SUFFIXES
from edge_node.documents.text import suffix
from edge_node.folders.files import FILE, ignoring
from edge_node.folders.records import Entry, Problem, Survey, survey_of
from edge_node.settings import BucketSettings
from shared.errors import InputError, NotInstalled
from shared.text.document_names import visible
from shared.wire import MAX_NAME_CHARS

SCHEME = "s3://"


class Bucket:
    """The readable objects below a prefix, named by the rest of their keys."""

    def __init__(self, url: str, settings: BucketSettings, *, prefix: str = "", most_bytes: int) -> None:
        """Raises InputError for a URL that names no bucket, NotInstalled without the extra ``s3``."""
        self.bucket, _, below = url.removeprefix(SCHEME).partition("/")
        if not self.bucket:
            raise InputError(f"{url!r} names no bucket", next_step="give s3://BUCKET or s3://BUCKET/PREFIX")
        self.below = f"{below.rstrip('/')}/" if below.strip("/") else ""  # what the keys begin with
        self.prefix = prefix  # of each document's name
        self.most_bytes = most_bytes  # of an object
        self._client = _client(settings)

    def survey(self) -> Survey:
        """All objects, without those that are ignored. Raises InputError where the bucket cannot be listed."""
        try:
            found = self._listed()
            ignored = ignoring(self._patterns(found))
        except _errors() as error:
            raise InputError(
                f"the bucket {self.bucket} cannot be listed: {_said(error)}", next_step="check its name and your keys"
            ) from error
        entries, problems, left_out = list[Entry](), list[Problem](), list[str]()
        for one in found:
            place = one.object_name.removeprefix(self.below)
            name = visible(self.prefix + place).strip()
            if not place or place.endswith("/") or ignored.match_file(place):
                continue
            if suffix(place) not in SUFFIXES:
                left_out.append(name)
            elif not name:
                problems.append(Problem(place, "its key has no character that can be seen"))
            elif len(name) > MAX_NAME_CHARS:
                problems.append(Problem(name, f"its key has more than {MAX_NAME_CHARS} characters"))
            elif one.size > self.most_bytes:
                problems.append(Problem(name, f"it has more than {self.most_bytes:,} bytes"))
            else:
                entries.append(Entry(name, one.object_name, one.size, f"{one.size}:{one.etag}" if one.etag else ""))
        return survey_of(entries, problems, left_out=left_out)

    def _listed(self) -> list[Any]:
        found = dict[str, Any]()
        for one in self._client.list_objects(self.bucket, prefix=self.below, recursive=True):
            if one.object_name in found:  # a store that does not know how to go on begins anew, for ever
                raise InputError(
                    f"the bucket {self.bucket} lists {one.object_name} twice", next_step="see that the store speaks ListObjectsV2"
                )
            found[one.object_name] = one
        return list(found.values())

    def read(self, entry: Entry) -> bytes:
        """The content of an object. Raises OSError."""
        try:
            return self._fetched(entry.place)
        except _errors() as error:
            raise OSError(0, _said(error)) from error

    def _fetched(self, key: str) -> bytes:
        reply = self._client.get_object(self.bucket, key)
        try:
            return bytes(reply.read(self.most_bytes + 1))
        finally:
            reply.close()
            reply.release_conn()

    def _patterns(self, found: Iterable[Any]) -> str:
        key = self.below + FILE
        return self._fetched(key).decode(errors="replace") if any(one.object_name == key for one in found) else ""


def _client(settings: BucketSettings) -> Any:
    try:
        from minio import Minio
    except ModuleNotFoundError as error:
        raise NotInstalled("a bucket", extra="s3") from error
    place = urlsplit(settings.endpoint)
    if place.scheme not in {"http", "https"} or not place.netloc:
        raise InputError(f"{settings.endpoint!r} is no address of a store", next_step="set DGRAG_S3_ENDPOINT to http(s)://HOST:PORT")
    keys = settings.access_key or None, settings.secret_key.get_secret_value() or None
    if (keys[0] is None) is not (keys[1] is None):
        raise InputError("a store takes both of its keys, or none", next_step="set DGRAG_S3_ACCESS_KEY and DGRAG_S3_SECRET_KEY")
    return Minio(place.netloc, *keys, secure=place.scheme == "https", region=settings.region or None)


def _errors() -> tuple[type[Exception], ...]:
    from minio.error import MinioException
    from urllib3.exceptions import HTTPError

    return MinioException, HTTPError, ValueError


def _said(error: Exception) -> str:
    """What a store or the line to it says, without the request."""
    return str(getattr(error, "message", "") or getattr(error, "code", "") or type(error).__name__)
