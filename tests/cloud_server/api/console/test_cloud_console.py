"""The cloud's console: the sites, what an operator does about one, what a question reaches, invitations."""

import re
import shlex

import pytest

from shared.ports import Shortfall
from shared.records import EdgeId
from tests.support.console import person
from tests.support.signed import join

PUMP = "The infusion pump P-204 was replaced in March by Marlow."
HOSTILE = "<script>alert(1)</script>"
CHANGES = (("POST", "quarantine"), ("POST", "release"), ("POST", "readmit"), ("DELETE", ""))


@pytest.fixture
async def admin(service, tmp_path, kit):
    await kit.enrol(service.http, "ward", PUMP)
    async with person(service.app, tmp_path, "admin") as signed_in:
        yield signed_in


async def invited(service, edge):
    """A site joins by an invitation, as it must where the cloud has keys."""
    token = service.cloud.credentials.invites.invite(EdgeId(edge), ttl_s=60.0, replaces=False).token
    assert (await join(service.http, edge, service.http.auth.identity(edge), invitation=token)).status_code == 201


async def test_a_site_is_in_the_picture_and_in_the_table_with_its_numbers(admin):
    told = await admin.read("/")
    assert re.search(r'<svg class="map".*>ward</text>', told, re.DOTALL)
    row = re.sub(r"<[^>]*>", " ", re.search(r'<tr><th scope="row"><a href="/console/sites/ward">.*?</tr>', told, re.DOTALL)[0]).split()
    assert row == ["ward", "offline", "1", "0", "just", "now", "just", "now", "closed", "100", "%"]
    assert re.search(r'class="when">just now</text>', told)
    site = await admin.read("/console/sites/ward")
    assert ("not countersigned yet" in site, bool(re.search("<dt>Last sync</dt><dd><span[^>]*>just now", site))) == (True, True)


async def test_what_the_model_server_of_the_cloud_lacks_is_told_with_its_cost(admin, service, monkeypatch):
    generator = service.cloud.models.generator
    assert "without</span>" not in await admin.read("/")
    monkeypatch.setattr(type(generator), "watch", lambda _: None, raising=False)
    lacks = (Shortfall("log-probabilities", "three short samples stand for a probability"),)
    monkeypatch.setattr(type(generator), "shortfalls", lambda _: lacks, raising=False)
    shown = (await admin.read("/")).partition("Language model of the cloud")[2]
    assert "<li>log-probabilities: three short samples stand for a probability</li>" in shown


async def test_a_site_that_has_sent_nothing_was_never_brought_up_to_date(admin, service):
    await invited(service, "plant")
    assert re.search(r'class="when">never</text>', await admin.read("/"))
    assert "<dt>Last sync</dt><dd>never</dd>" in await admin.read("/console/sites/plant")


async def test_an_operator_sets_a_site_aside_releases_expels_and_readmits_it(admin, service):
    await admin.read("/console/sites/ward")
    set_aside = await admin.change("POST", "/console/sites/ward/quarantine", reason=HOSTILE)
    assert (HOSTILE in set_aside, "&lt;script&gt;alert(1)" in set_aside) == (False, True)
    assert "quarantined" in await admin.read("/")
    assert "Set aside</button>" in await admin.change("POST", "/console/sites/ward/release")
    await admin.change("DELETE", "/console/sites/ward", status=204)
    told = await admin.read("/")
    assert ("Expelled" in told, service.cloud.registry.all()) == (True, [])
    await admin.change("POST", "/console/sites/ward/readmit", status=204)
    assert "Expelled" not in await admin.read("/")
    await admin.change("POST", "/console/sites/ward/release", status=404)


async def test_what_was_decided_about_a_site_is_told_to_admins_with_who_decided_it_and_why(admin, service, tmp_path):
    await admin.read("/console/sites/ward")
    for reason in ({}, {"reason": " "}, {"reason": "x" * 301}):
        await admin.change("POST", "/console/sites/ward/quarantine", status=422, **reason)
    assert "What was decided" not in await admin.read("/console/sites/ward")
    await admin.change("POST", "/console/sites/ward/quarantine", reason="odd summaries")
    await admin.change("POST", "/console/sites/ward/release")
    await admin.change("DELETE", "/console/sites/ward", status=204)
    await admin.change("POST", "/console/sites/ward/readmit", status=204)
    await invited(service, "ward")
    told = re.search(r"What was decided.*?</table>", await admin.read("/console/sites/ward"), re.DOTALL)[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>.*?)</tr>", told)]
    assert [row[1:] for row in rows] == [
        ["readmitted", "admin", "–"],
        ["expelled", "admin", "–"],
        ["released", "admin", "–"],
        ["set aside", "admin", "odd summaries"],
    ]
    async with person(service.app, tmp_path, "read") as reader:
        assert "What was decided" not in await reader.read("/console/sites/ward")


async def test_a_question_is_matched_with_summaries_that_admins_alone_read(admin, service, tmp_path):
    await admin.read("/console/match")
    found = await admin.change("POST", "/console/match", question=PUMP)
    assert (PUMP in found, "1.000" in found) == (True, True)
    assert "No summary is near enough" in await admin.change("POST", "/console/match", question="zebras")
    assert "too far" in await admin.change("POST", "/console/match", question="zebras", far="true")
    assert "question" in await admin.change("POST", "/console/match", status=422, question=" ")
    async with person(service.app, tmp_path, "read") as reader:
        await reader.read("/console/match")
        found = await reader.change("POST", "/console/match", question=PUMP)
        assert (PUMP in found, "Only admins" in found) == (False, True)


async def test_the_line_of_an_invitation_lets_that_site_in(admin, service):
    await admin.read("/console/invite")
    told = await admin.change("POST", "/console/invite", edge="plant", minutes="5")
    words = shlex.split(re.search(r"<pre[^>]*>(dgrag edge join .*)</pre>", told)[1])
    line = dict(zip(words[3::2], words[4::2], strict=True))
    assert (line["--cloud"], line["--id"]) == ("http://127.0.0.1", "plant")
    joined = await join(service.http, "plant", service.http.auth.identity("plant"), invitation=line["--token"])
    assert joined.status_code == 201
    assert line["--token"] not in await admin.read("/console/invite")
    assert "Open invitations" not in await admin.read("/console/invite")  # it is used
    for fields in ({"edge": "PLANT"}, {"edge": "plant", "minutes": "nan"}, {"edge": "plant", "minutes": "600"}):
        await admin.change("POST", "/console/invite", status=422, **fields)
    assert "has joined this cloud already" in await admin.change("POST", "/console/invite", status=409, edge="ward")


async def test_an_open_invitation_is_listed_without_its_token_and_can_be_withdrawn(admin, service):
    await admin.read("/console/invite")
    token = re.search(r"--token (\S+)", await admin.change("POST", "/console/invite", edge="plant"))[1]
    told = await admin.read("/console/invite")
    assert ("Open invitations" in told, "Withdraw plant" in told, token in told) == (True, True, False)
    assert "Open invitations" not in await admin.change("DELETE", "/console/invite/plant")
    refused = await join(service.http, "plant", service.http.auth.identity("plant"), invitation=token)
    assert refused.status_code == 403
    assert "no invitation" in await admin.change("DELETE", "/console/invite/plant", status=404)


async def test_a_reader_is_shown_no_change_and_a_forged_one_is_refused(admin, service, tmp_path):
    async with person(service.app, tmp_path, "read") as reader:
        site = await reader.read("/console/sites/ward")
        assert ("Expel" in site, "Quarantine" in site, "/console/invite" in site) == (False, False, False)
        for method, what in CHANGES:
            path = f"/console/sites/ward/{what}".rstrip("/")
            await reader.change(method, path, status=403, reason="x")
            await admin.change(method, path, status=403, token="", reason="x")
            await admin.change(method, path, status=403, token=reader.token, reason="x")
        for path in ("/console/invite", "/console/keys"):
            assert "takes the role admin" in (await reader.http.get(path)).text
            await reader.change("POST", path, status=403, edge="plant")
        await reader.change("DELETE", "/console/invite/plant", status=403)
    assert service.cloud.registry.get(EdgeId("ward")).quarantined == ""


async def test_a_site_that_is_not_there_is_told_as_a_page(admin):
    assert "Back to the first page" in await admin.read("/console/sites/nobody", status=404)
    await admin.read("/console/sites/%3Cscript%3E", status=422)
