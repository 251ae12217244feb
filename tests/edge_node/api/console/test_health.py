"""The site's state at the console, and what admins do there: settings, backups, keys."""

import re

import httpx2

from edge_node.api.console.figures import figures_of
from shared.errors import ModelUnavailable
from tests.support.console import person
from tests.support.running_edge import running_edge

ADMINS = ("/console/health/settings", "/console/health/export", "/console/health/backups", "/console/health/keys")


async def test_the_state_tells_counts_models_and_how_questions_ended(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("pump.md", "Juniper Ward uses the Maristow Pump.")
        await edge.ask("Which pump does Juniper Ward use?", mode="local")
        told = (await edge.http.get("/console/health")).text
        for words in (
            "1 indexed",
            "nothing waits",
            "scripted",
            "This site has no cloud",
            "by the time they took, route local",
        ):
            assert words in told, words
        figures = figures_of(edge.node.meter.page().decode())
        assert (figures.questions, figures.failed) == ((("local", 1),), ())
        assert [(one.route, one.count) for one in figures.latencies] == [("local", 1)]
        assert sum(one.calls for one in figures.spent) > 0


async def test_a_site_without_memory_has_a_page_too(tmp_path):
    async with running_edge(tmp_path, memory="off") as edge:
        told = (await edge.http.get("/console/health")).text
    assert "Written by the model</dt><dd>0;" in told


async def test_a_model_server_that_is_away_is_told_with_the_next_step(tmp_path):
    class Away:
        async def reach(self, *, deadline_s):
            raise ModelUnavailable("no model server at <there>", next_step="start it")

    async with running_edge(tmp_path, model_server=Away()) as edge:
        told = (await edge.http.get("/console/health/model")).text
    assert "not reachable" in told
    assert "no model server at &lt;there&gt; – start it" in told


async def test_every_setting_is_told_with_what_differs_marked_and_no_password(tmp_path):
    async with running_edge(tmp_path, top_k=7, otlp_url="http://me:secret@collector:4318") as edge:
        told = (await edge.http.get("/console/health/settings")).text
    assert re.search(
        r'DGRAG_EDGE_TOP_K</th>\s*<td><code>7</code> <span class="badge warn">set</span> <span class="soft">default <code>20<', told
    )
    assert re.search(r"DGRAG_EDGE_SEED</th>\s*<td><code>7</code></td>", told)
    assert ("collector:4318" in told, "secret" in told.replace("Secrets", "")) == (True, False)


async def test_an_admin_makes_a_backup_and_a_key_that_is_shown_once_and_revoked(tmp_path):
    async with running_edge(tmp_path) as edge:
        app = edge.http._transport.app
        async with person(app, tmp_path, "admin") as admin:
            await admin.read("/console/health/backups")
            assert re.search(r"edge-\S+\.db is made", await admin.change("POST", "/console/health/backups"))
            exported = await admin.get("/console/health/export")
            assert (exported.status_code, exported.headers["content-type"], exported.content[:2]) == (200, "application/zip", b"PK")
            await admin.read("/console/health/keys")
            made = await admin.change("POST", "/console/health/keys", name="anna", role="read", days="")
            token = re.search(r"dgk_\w{12}_[\w-]{43}", made)[0]
            key_id = token.split("_")[1]
            assert (token in await admin.read("/console/health/keys"), key_id in made) == (False, True)
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as anna:
                anna.headers["Authorization"] = f"Bearer {token}"
                assert (await anna.get("/v1/status")).status_code == 200
                assert "revoked just now" in await admin.change("DELETE", f"/console/health/keys/{key_id}")
                assert (await anna.get("/v1/status")).status_code == 401
            for fields, words in (
                ({"name": "<b>", "role": "read"}, "&lt;b&gt;"),
                ({"name": "x", "role": "king"}, "role"),
                ({"name": "x"}, "role"),
            ):
                refusal = await admin.http.post(
                    "/console/health/keys", data=fields, headers={"HX-Request": "1", "X-CSRF-Token": admin.token}
                )
                assert (refusal.status_code in (400, 422), words in refusal.text) == (True, True)


async def test_others_see_neither_settings_nor_backups_nor_keys_and_a_forged_change_is_refused(tmp_path):
    async with running_edge(tmp_path) as edge:
        app = edge.http._transport.app
        async with person(app, tmp_path, "write") as writer, person(app, tmp_path, "admin") as admin:
            state = await writer.read("/console/health")
            for path in ADMINS:
                assert path not in state
                assert "takes the role admin" in (await writer.http.get(path)).text
            for path in ADMINS[2:]:
                await writer.change("POST", path, status=403, name="x", role="admin")
                await admin.read("/console/health")
                await admin.change("POST", path, status=403, token="", name="x", role="admin")
                await admin.change("POST", path, status=403, token=writer.token, name="x", role="admin")
            await admin.read("/console/health/keys")
            assert admin.token != writer.token
