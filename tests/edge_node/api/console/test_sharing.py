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
    for told in ("saved and in force", "1 of 1 indexed documents", "unlabelled = &#34;never&#34;"):
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
    assert ("plant would get 1 passage" in tried, "Juniper Ward has a pump" in tried, "<dd>unlabelled</dd>" in tried) == (True, True, True)
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


LABELLED = 'version = 1\nunlabelled = "full"  # ours\n\n[labels]\npublic = "full"\n'


async def choose(by, verb="PUT", path="/console/sharing/choices", **fields):
    chosen = {"unlabelled": "full", "questions": "yes", "base": await base_of(by)} | fields
    return await by["admin"].send(verb, path, data=chosen)


async def test_choices_are_written_into_the_text_whose_other_lines_stay(by):
    await save(by, LABELLED)
    chosen = {"unlabelled": "never", "label": ["public", "ward 7", ""], "share": ["evidence", "full", ""], "identifiers": ["email"]}
    seen = await choose(by, "POST", "/console/sharing/choices/check", **chosen)
    assert ("Nothing is saved yet" in seen.text, by["admin"].edge.node.policies.present().text == LABELLED) == (True, True)
    assert "saved and in force" in (await choose(by, **chosen)).text
    policies = by["admin"].edge.node.policies
    assert policies.present().text.startswith('version = 1\nunlabelled = "never"  # ours\n')
    policy = by["admin"].edge.node.sharing.policy
    assert (policy.labels, policy.redact.identifiers) == ({"public": "evidence", "ward 7": "full"}, ["email"])
    assert policies.former(policies.history()[0].number) == LABELLED


async def test_choices_over_a_text_that_they_cannot_change_or_that_has_changed_are_refused(by):
    text = 'version = 1\nlabels = {public = "full"}\n'
    await save(by, text)
    refused = await choose(by, label="public", share="never")
    assert (refused.status_code, "change it as text" in refused.text) == (400, True)
    assert (await choose(by, base="0" * 64)).status_code == 409
    for fields in ({"unlabelled": "all"}, {"label": ["public"], "share": []}, {"identifiers": "shoe size"}):
        assert (await choose(by, **fields)).status_code == 422
    assert by["admin"].edge.node.policies.present().text == text
    for role in ("read", "write"):
        assert (await by[role].send("PUT", "/console/sharing/choices", data={"base": "0" * 64})).status_code == 403


async def test_a_check_and_a_trial_say_what_would_be_held_back_and_each_rule_once(by):
    for number in range(3):
        await by["write"].add(f"ward-{number}.md", f"Juniper Ward has pump {number}.", labels="patients")
    await by["write"].add("open.md", "Juniper Ward has a pump too.")
    await save(by, 'version = 1\n[labels]\npatients = "summary"\n')
    tried = await by["admin"].send("POST", "/console/sharing/try", data={"question": "Which pump has Juniper Ward?", "requester": "plant"})
    assert tried.text.count("the label patients") == 1
    assert "Of the passages nearest to the question 3 would stay here" in tried.text
    held = tried.text.partition("would hold back")[2].partition("<details>")[0]
    assert (all(f"ward-{number}.md" in held for number in range(3)), "open.md" in held) == (True, False)
    checked = (await by["admin"].send("POST", "/console/sharing/check", data={"text": CLOSED})).text
    for told in ("4 of 4 indexed documents would share nothing", "label &#34;patients&#34;, which the policy does not name"):
        assert told in checked


async def test_what_stays_here_is_looked_at_anew_and_faster_while_summaries_change(by):
    await by["write"].add("ward.md", "Juniper Ward has a pump.")
    page = (await by["admin"].get("/console/sharing/held")).text
    assert ("every 10s" in page, "0 of 1 indexed documents" in page) == (True, True)
    by["admin"].edge.node.sharing.is_told = lambda: False
    assert "every 1s" in (await by["admin"].get("/console/sharing/held")).text
    assert (await by["read"].get("/console/sharing/held")).status_code == 403
