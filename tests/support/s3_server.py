"""A store that speaks as much of S3 as a sync needs, over real HTTP, and checks the signature (version 4) of every request.

It is written from Amazon's description and shares no code with the client: a test compares it with Amazon's own example.
"""

import contextlib
import hashlib
import hmac
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

SAFE = "-_.~"
LISTING = "<Name>{}</Name><IsTruncated>{}</IsTruncated>{}"
OBJECT = '<Contents><Key>{}</Key><LastModified>2026-03-02T10:00:00.000Z</LastModified><ETag>"{}"</ETag><Size>{}</Size></Contents>'
FACTS = {"content-type": "application/xml", "last-modified": "Mon, 02 Mar 2026 10:00:00 GMT"}  # of every reply


@dataclass
class Store:
    """What the server has: the objects of each bucket by key, its keys of access by name, and how many objects a page of a listing has."""

    secrets: dict[str, str]
    page: int = 1000
    buckets: dict[str, dict[str, bytes]] = field(default_factory=dict)
    repeats: bool = False  # the null control of a listing's end: it begins anew after each page


def signature(secret, method, path, query, headers, signed, payload):
    """The signature of a request, in hex; ``signed``: names of the headers that it covers, ``query``: pairs, not encoded."""
    pairs = sorted((quote(name, safe=SAFE), quote(value, safe=SAFE)) for name, value in query)
    request = [method, quote(path, safe=f"/{SAFE}"), "&".join(f"{name}={value}" for name, value in pairs)]
    request += [f"{name}:{' '.join(headers[name].split())}" for name in signed] + ["", ";".join(signed), payload]
    moment = headers["x-amz-date"]
    scope = [moment[:8], headers["authorization"].split("/")[2], "s3", "aws4_request"]
    key = f"AWS4{secret}".encode()
    for part in scope:
        key = digest(key, part)
    told = ["AWS4-HMAC-SHA256", moment, "/".join(scope), hashlib.sha256("\n".join(request).encode()).hexdigest()]
    return digest(key, "\n".join(told)).hex()


def digest(key, text):
    return hmac.digest(key, text.encode(), "sha256")


class Refused(Exception):
    """A request that gets an error; ``args``: status and code."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    store: Store

    def do_GET(self):
        bucket, key, query = self.asked()
        self.answer(200, self.of(bucket, key) if key else self.listing(bucket, query))

    def do_HEAD(self):
        self.of(*self.asked()[:2])
        self.answer(200)

    def do_PUT(self):
        bucket, key, _ = self.asked()
        if key:
            self.of(bucket)[key] = self.body
        else:
            self.store.buckets[bucket] = {}
        self.answer(200, etag=f'"{etag(self.body)}"')

    def do_DELETE(self):
        bucket, key, _ = self.asked()
        self.of(bucket).pop(key, None)
        self.answer(204)

    def of(self, bucket, key=""):
        """The objects of a bucket, or one object."""
        if (found := self.store.buckets.get(bucket)) is None:
            raise Refused(404, "NoSuchBucket")
        if key and key not in found:
            raise Refused(404, "NoSuchKey")
        return found[key] if key else found

    def listing(self, bucket, query):
        """A page of the objects below a prefix (ListObjectsV2), in the order of their keys."""
        asked, found = dict(query), self.of(bucket)
        after = "" if self.store.repeats else asked.get("continuation-token", "")
        keys = sorted(key for key in found if key.startswith(asked.get("prefix", "")) and key > after)
        here, more = keys[: self.store.page], len(keys) > self.store.page
        parts = [OBJECT.format(escape(quote(key)), etag(found[key]), len(found[key])) for key in here]
        parts += [f"<NextContinuationToken>{escape(here[-1])}</NextContinuationToken>"] if more else []
        parts += ["<EncodingType>url</EncodingType>"]
        return document("ListBucketResult", LISTING.format(bucket, str(more).lower(), "".join(parts)))

    def asked(self):
        """Bucket, key and query of a request whose signature is right."""
        self.body = self.rfile.read(int(self.headers.get("content-length", 0)))
        place, headers = urlsplit(self.path), {name.lower(): value for name, value in self.headers.items()}
        path, query = unquote(place.path), parse_qsl(place.query, keep_blank_values=True)
        self.check(headers, path, query)
        bucket, _, key = path.lstrip("/").partition("/")
        return bucket, key, query

    def check(self, headers, path, query):
        """Raises Refused where key, body or signature are not right."""
        told = dict(part.strip().split("=", 1) for part in headers.get("authorization", "AWS4-HMAC-SHA256 a=").split(" ", 1)[1].split(","))
        secret = self.store.secrets.get(told.get("Credential", "").partition("/")[0])
        if secret is None:
            raise Refused(403, "InvalidAccessKeyId")
        payload = headers["x-amz-content-sha256"]
        wanted = signature(secret, self.command, path, query, headers, told["SignedHeaders"].split(";"), payload)
        if payload != hashlib.sha256(self.body).hexdigest() or not hmac.compare_digest(wanted, told["Signature"]):
            raise Refused(403, "SignatureDoesNotMatch")

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {**FACTS, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except Refused as error:
            status, code = error.args
            self.answer(status, document("Error", f"<Code>{code}</Code><Message>{code}</Message>"))

    def log_message(self, *_):
        """Say nothing."""


def etag(raw):
    return hashlib.md5(raw, usedforsecurity=False).hexdigest()


def document(name, inner):
    return f'<?xml version="1.0" encoding="UTF-8"?><{name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{inner}</{name}>'.encode()


@contextlib.contextmanager
def s3_server(store):
    """The address at which a store is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Serving", (Handler,), {"store": store}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
