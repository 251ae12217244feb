"""A document's file and the pictures of its pages over HTTP."""

from edge_node.documents.readers.pool import ReadsHere
from shared.errors import UnreadableDocument
from tests.support.running_edge import running_edge

SANDBOX = {
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Draws(ReadsHere):
    """A stand-in for a parser that draws."""

    async def page_image(self, name, raw, page, *, mark="", width=0):
        if page > 2:
            raise UnreadableDocument(name, "no_page", "has 2 pages", next_step="ask for one of them")
        return f"{name} {len(raw)} {page} {mark} {width}".encode()


async def sent(edge, name, raw):
    response = await edge.http.post("/v1/documents", files={"file": (name, raw)})
    await edge.settled()
    return response.json()["document_id"]


async def test_a_file_comes_back_byte_for_byte_with_its_type_and_name_and_sandboxed(tmp_path):
    raw = "<script>alert(1)</script><p>Kühlraum</p>".encode("cp1252")
    async with running_edge(tmp_path) as edge:
        identity = await sent(edge, "wards/Kühlraum.html", raw)
        for each in (identity, edge.node.sharing.outside_ids.of(identity)):
            got = await edge.http.get(f"/v1/documents/{each}/original")
            assert (got.status_code, got.content, got.headers["content-type"]) == (200, raw, "text/html")
            assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''K%C3%BChlraum.html"
            assert SANDBOX.items() <= got.headers.items()


async def test_a_parked_document_has_its_file_too_and_text_that_was_sent_is_text(tmp_path):
    async with running_edge(tmp_path) as edge:
        parked = await sent(edge, "broken.pdf", b"%PDF-1.4")
        assert (await edge.http.get(f"/v1/documents/{parked}/original")).content == b"%PDF-1.4"
        text = (await edge.add("notes.docx", "28 beds"))["document_id"]
        got = await edge.http.get(f"/v1/documents/{text}/original")
        assert (got.text, got.headers["content-type"]) == ("28 beds", "text/plain; charset=utf-8")
        assert got.headers["content-disposition"].startswith("inline")


async def test_a_page_is_drawn_with_the_sentence_that_is_cited(tmp_path):
    async with running_edge(tmp_path, reads=Draws()) as edge:
        identity = await sent(edge, "a.txt", b"28 beds")
        got = await edge.http.get(f"/v1/documents/{identity}/pages/2.png", params={"span": "3-7", "width": 300})
        assert (got.text, got.headers["content-type"]) == ("a.txt 7 2 beds 300", "image/png")
        assert SANDBOX.items() <= got.headers.items()
        assert (await edge.http.get(f"/v1/documents/{identity}/pages/3.png")).status_code == 404
        behind = await edge.http.get(f"/v1/documents/{identity}/pages/1.png?span=500-90")
        assert behind.text == "a.txt 7 1  1000"
        for page, query in ((0, ""), ("x", ""), (1, "?width=99999"), (1, "?span=3"), (1, "?span=-1-4")):
            assert (await edge.http.get(f"/v1/documents/{identity}/pages/{page}.png{query}")).status_code == 422


async def test_a_format_without_pages_says_so(tmp_path):
    async with running_edge(tmp_path) as edge:
        identity = await sent(edge, "a.txt", b"28 beds")
        got = await edge.http.get(f"/v1/documents/{identity}/pages/1.png")
        assert (got.status_code, "no pages" in got.json()["detail"]) == (422, True)
        assert (await edge.http.get("/v1/documents/none/pages/1.png")).status_code == 404
        assert (await edge.http.get("/v1/documents/none/original")).status_code == 404
