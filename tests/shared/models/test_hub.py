"""Resuming a download."""

import httpx2
import pytest

from shared.models.fetch import download

CONTENT = b"0123456789"


class Broken(httpx2.SyncByteStream):
    """Gives some bytes, then the line is cut."""

    def __init__(self, content):
        self.content = content

    def __iter__(self):
        yield self.content
        raise httpx2.ReadError("cut")


def ranged(request):
    start = int(request.headers["Range"].removeprefix("bytes=").removesuffix("-"))
    return httpx2.Response(206 if start else 200, content=CONTENT[start:])


def run(handler, part):
    heard = []
    with httpx2.Client(transport=httpx2.MockTransport(handler)) as http:
        whole = download(http, "http://hub/w", part, size=len(CONTENT), report=heard.append)
    return whole, heard


def test_a_cut_line_is_taken_up_where_it_was_cut(tmp_path):
    starts = []

    def handler(request):
        starts.append(request.headers["Range"])
        return httpx2.Response(200, stream=Broken(CONTENT[:4])) if len(starts) == 1 else ranged(request)

    assert run(handler, tmp_path / "p") == (True, [4, 10])
    assert (starts, (tmp_path / "p").read_bytes()) == (["bytes=0-", "bytes=4-"], CONTENT)


def test_a_part_of_an_earlier_run_is_continued(tmp_path):
    (tmp_path / "p").write_bytes(CONTENT[:7])
    assert run(ranged, tmp_path / "p")[0]
    assert (tmp_path / "p").read_bytes() == CONTENT


def test_a_hub_without_ranges_starts_over(tmp_path):
    (tmp_path / "p").write_bytes(b"old")
    assert run(lambda _: httpx2.Response(200, content=CONTENT), tmp_path / "p")[0]
    assert (tmp_path / "p").read_bytes() == CONTENT


def test_a_whole_part_asks_nobody(tmp_path):
    (tmp_path / "p").write_bytes(CONTENT)
    assert run(lambda _: pytest.fail("asked"), tmp_path / "p") == (True, [])


def test_a_part_that_is_too_long_starts_over(tmp_path):
    (tmp_path / "p").write_bytes(CONTENT * 2)
    assert run(ranged, tmp_path / "p")[0]
    assert (tmp_path / "p").read_bytes() == CONTENT


def test_a_line_that_brings_nothing_is_given_up_at_once(tmp_path):
    asked = []

    def handler(request):
        asked.append(request)
        raise httpx2.ConnectTimeout("no route")

    assert run(handler, tmp_path / "p") == (False, [])
    assert len(asked) == 1


def test_what_has_arrived_is_kept_when_the_line_stays_dead(tmp_path):
    answers = [httpx2.Response(200, stream=Broken(CONTENT[:4]))]

    def handler(request):
        if answers:
            return answers.pop()
        raise httpx2.ConnectError("down")

    assert not run(handler, tmp_path / "p")[0]
    assert (tmp_path / "p").read_bytes() == CONTENT[:4]


@pytest.mark.parametrize(
    "answer",
    [httpx2.Response(404), httpx2.Response(416), httpx2.Response(200, content=b"<html>"), httpx2.Response(200, content=CONTENT + b"x")],
)
def test_an_answer_that_is_not_the_file_is_not_written(tmp_path, answer):
    assert run(lambda _: answer, tmp_path / "p") == (False, [])
    assert not (tmp_path / "p").exists()


def test_redirects_are_followed(tmp_path):
    def handler(request):
        return ranged(request) if request.url.path == "/cdn" else httpx2.Response(302, headers={"Location": "http://hub/cdn"})

    assert run(handler, tmp_path / "p")[0]
