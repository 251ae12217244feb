"""Goal S15: whoever cannot prove to be the right one over TLS 1.2 or newer is refused, by every client of ours."""

import asyncio
import contextlib
import datetime
import re
import ssl

import httpx2
import pytest
import trustme

from deploy.cli import membership
from deploy.cli.main import run
from deploy.cli.rest import ACCESS, Access, client
from edge_node.cloud.client import cloud_http
from shared.client.access import Bearer
from shared.errors import CloudUnavailable, SettingsError
from shared.models import fetch
from shared.models.build import model_http
from shared.models.settings import ModelSettings
from shared.tls import check_plain_http, client_context, server_context, trouble

NOW = datetime.datetime.now(tz=datetime.UTC)
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A private authority, and the file that holds it."""
    made = trustme.CA()
    file = tmp_path_factory.mktemp("ca") / "ca.pem"
    made.cert_pem.write_to_path(file)
    return made, file


def server_side(issued, *, version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issued.configure_cert(context)
    if version is not None:
        context.minimum_version = context.maximum_version = version
        context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def hostile(kind, authority):
    """The server's side of one bad line."""
    if kind == "expired":
        return server_side(authority.issue_cert("127.0.0.1", not_before=NOW - datetime.timedelta(2), not_after=NOW - datetime.timedelta(1)))
    if kind == "self-signed":
        return server_side(trustme.CA().issue_cert("127.0.0.1"))
    if kind == "wrong host":
        return server_side(authority.issue_cert("other.example.org"))
    return server_side(authority.issue_cert("127.0.0.1"), version=getattr(ssl.TLSVersion, kind))


@contextlib.asynccontextmanager
async def listening(context):
    """A server that notes what it could read; yields its URL and those notes."""
    heard = []

    async def answer(reader, writer):
        heard.append(await reader.read(100))
        writer.write(ANSWER)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # a handshake that fails is what is meant
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", heard
    finally:
        server.close()
        await server.wait_closed()


async def by_edge(url, ca):
    async with cloud_http(url, ca=ca) as http:
        return await http.get("/")


async def by_model(url, ca):
    async with model_http(ModelSettings(url=f"{url}/v1", ca=ca)) as http:
        return await http.get("models")


async def by_command(url, ca):
    def ask():
        token = ACCESS.set(Access("dgk_secret", ca))
        try:
            with client() as http:
                return http.get(url)
        finally:
            ACCESS.reset(token)

    return await asyncio.to_thread(ask)


async def by_hub(url, ca):
    """What fetches the models; it follows redirects, as each file is checked by its SHA-256."""

    def ask():
        with pytest.MonkeyPatch.context() as patch:
            if ca is not None:
                patch.setenv("SSL_CERT_FILE", str(ca))
            with fetch.hub_client() as http:
                return http.get(url)

    return await asyncio.to_thread(ask)


CLIENTS = {"edge": by_edge, "model": by_model, "command": by_command, "hub": by_hub}


@pytest.mark.filterwarnings("ignore:.*TLSv1:DeprecationWarning")
@pytest.mark.parametrize("ask", list(CLIENTS.values()), ids=list(CLIENTS))
@pytest.mark.parametrize("kind", ["expired", "self-signed", "wrong host", "TLSv1", "TLSv1_1"])
async def test_a_line_that_cannot_be_trusted_is_refused_and_nothing_is_sent(authority, ask, kind):
    made, file = authority
    async with listening(hostile(kind, made)) as (url, heard):
        with pytest.raises(httpx2.ConnectError):
            await ask(url, file)
    assert not any(heard)


@pytest.mark.parametrize("ask", list(CLIENTS.values()), ids=list(CLIENTS))
@pytest.mark.parametrize("version", [None, ssl.TLSVersion.TLSv1_2])
async def test_control_a_good_line_is_used(authority, ask, version):
    made, file = authority
    async with listening(server_side(made.issue_cert("127.0.0.1"), version=version)) as (url, heard):
        assert (await ask(url, file)).status_code == 200
    assert any(heard)


@pytest.mark.parametrize("ask", list(CLIENTS.values()), ids=list(CLIENTS))
async def test_without_its_authority_a_private_certificate_is_refused(authority, ask):
    made, _ = authority
    async with listening(server_side(made.issue_cert("127.0.0.1"))) as (url, _):
        with pytest.raises(httpx2.ConnectError):
            await ask(url, None)


@pytest.mark.filterwarnings("ignore:.*TLSv1:DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
async def test_our_services_refuse_old_clients(authority, tmp_path, version):
    made, file = authority
    issued = made.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    old = ssl.create_default_context(cafile=file)
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = version
    async with listening(server_context(tmp_path / "cert.pem", tmp_path / "key.pem")) as (url, heard):
        async with httpx2.AsyncClient(verify=old) as http:
            with pytest.raises(httpx2.ConnectError):
                await http.get(url)
        assert (await by_edge(url, file)).status_code == 200
    assert len(heard) == 1


@pytest.mark.parametrize("url", ["http://10.0.0.1:8099", "http://cloud.example.org"])
def test_a_cloud_elsewhere_is_not_called_in_clear_unless_that_is_meant(url):
    with pytest.raises(SettingsError, match="clear"):
        check_plain_http(url, allowed=False, setting="X")
    check_plain_http(url, allowed=True, setting="X")


@pytest.mark.parametrize("url", ["127.0.0.1:9", "cloud:8099", "cloud.example.org", "ftp://cloud.example.org", "https://", "http://[x", ""])
def test_what_is_no_url_of_a_service_is_refused_though_clear_text_is_meant(url):
    with pytest.raises(SettingsError, match="no URL") as refused:
        check_plain_http(url, allowed=True, setting="X")
    assert "give http:// or https://" in refused.value.next_step


UNTRUSTED = {
    "expired": "expired.*needs a new one",
    "self-signed": "--ca FILE or DGRAG_EDGE_CLOUD_CA",
    "wrong host": "mismatch.*needs a new one",
}


@pytest.mark.parametrize("ask", [by_edge, by_command])
@pytest.mark.parametrize("kind", list(UNTRUSTED))
async def test_a_certificate_that_is_not_trusted_is_named_with_what_to_do(authority, ask, kind):
    made, file = authority
    async with listening(hostile(kind, made)) as (url, _):
        with pytest.raises(httpx2.ConnectError) as refused:
            await ask(url, file)
    assert re.fullmatch(rf"its certificate is not trusted \(.*{UNTRUSTED[kind]}.*", trouble(refused.value, url))


@pytest.mark.parametrize("speaks_https", [True, False])
async def test_the_wrong_scheme_is_named(authority, speaks_https):
    made, file = authority
    async with listening(server_side(made.issue_cert("127.0.0.1")) if speaks_https else None) as (url, _):
        wrong = url.replace("https:", "http:") if speaks_https else url
        with pytest.raises(httpx2.TransportError) as refused:
            await by_edge(wrong, file)
    assert "https://" in trouble(refused.value, wrong)


async def test_the_edge_and_the_command_say_that_a_certificate_is_not_trusted(authority, tmp_path, capsys):
    made, _ = authority
    async with listening(server_side(made.issue_cert("127.0.0.1"))) as (url, _):
        with pytest.raises(CloudUnavailable, match=r"cannot be called: its certificate is not trusted .*: give --ca FILE"):
            await asyncio.to_thread(membership.join, url, "ward", tmp_path)
        with pytest.raises(SystemExit):
            await asyncio.to_thread(run, ["cloud", "edges", "--url", url])
    told = capsys.readouterr().err
    assert "cannot be called (its certificate is not trusted" in told
    assert "nothing answers" not in told


def test_control_a_service_that_is_not_there_is_no_trouble_with_tls():
    assert trouble(httpx2.ConnectError("refused"), "https://127.0.0.1:9") == trouble(httpx2.ReadError("cut"), "https://127.0.0.1:9") == ""


def test_a_key_does_not_travel_in_clear_to_another_machine():
    with pytest.raises(SettingsError, match="clear"):
        next(Bearer("dgk_secret").auth_flow(httpx2.Request("GET", "http://edge.example.org/")))
    for url in ("http://127.0.0.1/", "https://edge.example.org/"):
        assert next(Bearer("dgk_secret").auth_flow(httpx2.Request("GET", url))).headers["authorization"] == "Bearer dgk_secret"


def test_an_authority_file_that_holds_none_is_named(tmp_path):
    (tmp_path / "ca.pem").write_text("nothing")
    for file in (tmp_path / "ca.pem", tmp_path / "absent.pem"):
        with pytest.raises(SettingsError, match="certificates"):
            client_context(file)


async def test_no_client_follows_a_redirect():
    async with cloud_http("https://cloud.example.org") as cloud, model_http(ModelSettings(url="https://m.example.org/v1")) as model:
        with client() as command:
            assert not any(http.follow_redirects for http in (cloud, model, command))
