"""Goal S9: what a document says comes back from the tools as data, in a frame, inert; it moves nothing."""

import json
import re

import pytest

from tests.support.injections import injections
from tests.support.live_edge import agent, live_edge, text_of
from tests.support.viewer import active

pytestmark = pytest.mark.process
CONTROL_TOKEN = re.compile(r"<\|\w+\|>|\[/?INST\]|<</?SYS>>|</?s>|</?think>|<(?:start|end)_of_turn>|<\uff5c[^<>]*\uff5c>|</?tool_call>")
FOLLOWED = re.compile(r"[a-z]://|(?<![a-z0-9])www\.\w|(?:java|vb)script\s*:|data:\w+/\w+", re.IGNORECASE)
INDEXED = {"limit": 1000, "status": "indexed"}  # a text with a NUL is parked
JSON = {"content-type": "application/json"}
FRAME = re.compile(
    r"What stands between the two lines with (?P<token>[0-9a-f]{8}) is .*\n<<(?P=token)\n(?P<data>.*)\n(?P=token)>>", re.DOTALL
)


def _json(value):
    return json.dumps(value).encode()


def harm(text):
    """What of a text would be obeyed or followed."""
    return [pattern.pattern for pattern in (CONTROL_TOKEN, FOLLOWED) if pattern.search(text)] + sorted(active(text))


@pytest.mark.parametrize("part", range(4))
async def test_no_hostile_text_leaves_its_frame_or_calls_a_tool(tmp_path, part):
    texts = [text for text in injections() if text.strip()][part::4]
    assert len(texts) > 20
    async with live_edge(tmp_path) as (edge, url), agent(url) as client:
        for number, text in enumerate(texts):
            body = {"name": f"{number}.md", "text": f"Juniper Ward. {text}", "title": text[:500]}
            assert (await edge.http.post("/v1/documents", content=_json(body), headers=JSON)).status_code == 202
        await edge.settled()
        listed = (await edge.http.get("/v1/documents", params=INDEXED)).json()["documents"]
        raw, seen = [], []
        for one in listed:
            raw.append((await edge.http.get(f"/v1/documents/{one['document_id']}/text")).json()["text"])
            result = await client.call_tool("open_passage", {"document_id": one["document_id"]})
            framed = FRAME.fullmatch(text_of(result).partition("\n\nMore follows")[0])
            assert framed, text_of(result)
            assert framed["token"] not in framed["data"]
            told = result.structured_content
            seen.append(harm("\n\n".join((framed["data"], told["text"], told["title"]))))
        after = (await edge.http.get("/v1/documents", params=INDEXED)).json()["documents"]
        assert edge.node.ledger.count() == 0
    assert seen == [[]] * len(listed)
    assert [one["document_id"] for one in after] == [one["document_id"] for one in listed]
    assert sum(bool(harm(text)) for text in raw) > 5  # null control: as the store has them, they would do harm
