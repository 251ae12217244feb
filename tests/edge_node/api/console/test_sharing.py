"""The sharing policy at the console: shown, checked, changed, brought back, and tried."""

import re

import pytest

from tests.support.console import visited_edge

BASE = re.compile(r'name="base" value="([0-9a-f]{64})"')
CLOSED = 'version = 1\nunlabelled = "never"\n'


@pytest.fixture
async def by(tmp_path):
    async with visited_edge(tmp_path) as visits:
        yield visits


async def base_of(by):
    return BASE.search((await by["admin"].get("/console/sharing")).text)[1]


async def save(by, text):
    return await by["admin"].send("PUT", "/console/sharing", data={"text": text, "base": await base_of(by)})


async def test_only_an_admin_sees_or_changes_the_policy_and_nobody_without_the_token(by):
    base = await base_of(by)
    for role in ("read", "write"):
        assert (await by[role].get("/console/sharing")).status_code == 403
        assert "/console/sharing" not in (await by[role].get("/")).text
        assert (await by[role].send("PUT", "/console/sharing", data={"text": CLOSED, "base": base})).status_code == 403
    assert (await by["admin"].send("PUT", "/console/sharing", data={"text": CLOSED, "base": base}, token="")).status_code == 403
    assert await base_of(by) == base


async def test_a_policy_is_checked_without_being_saved_and_its_faults_and_warnings_are_told(by):
    base = await base_of(by)
    for text, told in {
        "version = 1\nunlabelled = 'fall'": "unlabelled",
        "version = 1\n[redact]\ntypes = ['people']": "the name detector knows no type people",
        'version = 1\r\nlabels = {public = "full"}\r\n': "label public",
    }.items():
        checked = await by["admin"].send("POST", "/console/sharing/check", data={"text": text})
        assert (checked.status_code, told in checked.text) == (200, True)
    assert await base_of(by) == base


async def test_a_saved_policy_is_in_force_and_the_former_one_can_be_shown_and_brought_back(by):
    await by["write"].add("wards.md", "Juniper Ward has a pump.")
    first = by["admin"].edge.node.policies.present().text
    saved = await save(by, CLOSED.replace("\n", "\r\n"))
    for told in ("saved and in force", "1 of 1 documents", "unlabelled = &#34;never&#34;"):
        assert told in saved.text
    assert by["admin"].edge.node.policies.present().text == CLOSED
    former = (await by["admin"].get("/console/sharing/history/1")).text
    assert "What may leave this site" in former
    stale = await by["admin"].send("POST", "/console/sharing/history/1", data={"base": "0" * 64})
    assert (stale.status_code, "has changed since you read it" in stale.text) == (409, True)
    back = await by["admin"].send("POST", "/console/sharing/history/1", data={"base": await base_of(by)})
    assert "in force again" in back.text
    assert by["admin"].edge.node.policies.present().text == first


async def test_a_policy_over_a_text_that_its_writer_has_not_seen_is_refused(by):
    base = await base_of(by)
    await save(by, CLOSED)
    late = await by["admin"].send("PUT", "/console/sharing", data={"text": "version = 1", "base": base})
    assert (late.status_code, late.headers["hx-retarget"]) == (409, "#messages")
    assert by["admin"].edge.node.policies.present().text == CLOSED


async def test_the_trial_shows_the_masked_passage_with_its_rule_and_a_refusal_where_nothing_leaves(by):
    await by["write"].add("wards.md", "Juniper Ward has a pump. Write to anna@example.org.")
    asked = {"question": "Who has a pump, anna@example.org?", "requester": "plant", "purpose": ""}
    await save(by, 'version = 1\nunlabelled = "evidence"\n[redact]\nidentifiers = ["email"]\n')
    tried = (await by["admin"].send("POST", "/console/sharing/try", data=asked)).text
    assert ("plant would get 1 passage" in tried, "Juniper Ward has a pump" in tried, "unlabelled; policy" in tried) == (True, True, True)
    assert "anna@example.org" not in tried
    await save(by, CLOSED)
    tried = (await by["admin"].send("POST", "/console/sharing/try", data=asked)).text
    assert ("would get nothing" in tried, "the sharing policy of this site" in tried, "Juniper" in tried) == (True, True, False)
    blank = await by["admin"].send("POST", "/console/sharing/try", data={"question": " ", "requester": "", "purpose": ""})
    assert blank.status_code == 422


async def test_a_policy_that_cannot_be_read_shows_its_fault_and_can_be_mended_here(by):
    by["admin"].edge.node.policies._file.path.write_text("unlabelled = <script>")
    page = (await by["admin"].get("/console/sharing")).text
    assert ("Nothing is shared." in page, "<script>\n" in page, "unlabelled = &lt;script&gt;" in page) == (True, False, True)
    assert "saved and in force" in (await save(by, CLOSED)).text
