"""Each refusal of a service without keys says what would help against it."""

import pytest
from starlette.requests import Request

from shared.errors import Forbidden
from shared.http.open_mode import check_local

OWN = [("host", "127.0.0.1:8100")]


@pytest.mark.parametrize(
    ("headers", "version", "step"),
    [
        ([("host", "evil.example")], "1.1", "call it by 127.0.0.1 or localhost"),
        ([*OWN, ("x-forwarded-for", "203.0.113.9")], "1.1", "call it without the proxy"),
        (OWN, "1.0", "use HTTP/1.1"),
        ([*OWN, ("origin", "http://evil.example")], "1.1", "call it from a program, or from a page that it serves itself"),
        ([*OWN, ("sec-fetch-site", "cross-site")], "1.1", "call it from a program, or from a page that it serves itself"),
        (OWN, "1.1", "add the header, as in `curl -H 'X-DGRAG: 1'`"),
    ],
    ids=["another host", "a proxy", "HTTP/1.0", "another origin", "another site", "no header"],
)
def test_each_refusal_has_a_step_of_its_own_and_names_the_keys(headers, version, step):
    scope = {"type": "http", "method": "POST", "http_version": version, "path": "/v1/query", "query_string": b""}
    with pytest.raises(Forbidden) as refused:
        check_local(Request(scope | {"headers": [(name.encode(), value.encode()) for name, value in headers]}))
    assert refused.value.next_step.startswith(step)
    assert "dgrag edge key add" in refused.value.next_step
