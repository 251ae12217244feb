"""Which of the installed languages text in images is read in."""

import logging
from pathlib import Path

import pytest

from edge_node.documents.readers import read, tessdata
from edge_node.documents.readers.tessdata import Recognition, TesseractData, prepared, recognition_of
from tests.edge_node.documents.readers.test_formats import scanned
from tests.support.running_edge import running_edge


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Languages by folder: of the system first, then of the extra."""
    monkeypatch.setattr(tessdata, "FOLDERS", [str(tmp_path / name) for name in ("none", "system", "extra")])

    def put(system: str = "", extra: str = "") -> None:
        for place, names in (("system", system), ("extra", extra)):
            (tmp_path / place).mkdir(exist_ok=True)
            for name in names.split():
                (tmp_path / place / f"{name}.traineddata").touch()

    return put


def test_languages_whose_texts_a_pack_reads_go_before_others(install, tmp_path: Path):
    install("ara chi_sim deu eng fra ita osd spa")
    assert Recognition().data() == TesseractData("eng+deu+fra+spa+chi_sim", str(tmp_path / "system"))
    assert Recognition("ita,ara").data() == TesseractData("ita+ara", str(tmp_path / "system"))


def test_a_folder_that_has_all_is_used_as_it_is_and_the_systems_first(install, tmp_path: Path):
    install("eng osd", "eng deu")
    assert prepared(recognition_of("", tmp_path)).data() == TesseractData("eng+deu", str(tmp_path / "extra"))
    install("deu")
    assert prepared(recognition_of("", tmp_path)).data() == TesseractData("eng+deu", str(tmp_path / "system"))
    assert not (tmp_path / "tessdata").exists()


def test_languages_of_two_folders_are_linked_together(install, tmp_path: Path):
    install("eng fra", "deu eng osd")
    for _ in range(2):  # as at each start
        assert prepared(recognition_of("", tmp_path)).data() == TesseractData("eng+deu+fra", str(tmp_path / "tessdata"))
    assert (tmp_path / "tessdata/eng.traineddata").readlink() == tmp_path / "system/eng.traineddata"
    assert (tmp_path / "tessdata/osd.traineddata").exists()
    (tmp_path / "system/fra.traineddata").unlink()
    assert recognition_of("", tmp_path).data() == TesseractData("eng+deu", str(tmp_path / "extra"))


def test_links_that_cannot_be_made_are_told_and_the_rest_is_read(install, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    install("eng fra", "deu eng")
    (tmp_path / "state").touch()
    assert prepared(recognition_of("", tmp_path / "state")).view() == {"languages": ["eng", "fra"], "missing": ["deu"]}
    assert "cannot be linked" in caplog.text


def test_a_language_that_is_not_installed_is_told_and_the_rest_is_read(install, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    install("eng", "deu")
    with caplog.at_level(logging.WARNING):
        made = prepared(recognition_of("deu,fra,eng", tmp_path))
    assert made.view() == {"languages": ["deu", "eng"], "missing": ["fra"]}
    assert "data of fra is not installed (DGRAG_EDGE_OCR_LANGUAGES): images are read in deu, eng" in caplog.text
    assert prepared(recognition_of("fra", tmp_path)).view() == {"languages": [], "missing": ["fra"]}


async def test_the_status_says_in_which_languages_images_are_read(install, tmp_path: Path):
    install("eng", "deu")
    async with running_edge(tmp_path / "ward", ocr_languages="deu,fra") as edge:
        assert (await edge.http.get("/v1/status")).json()["ocr"] == {"languages": ["deu"], "missing": ["fra"]}
        assert "deu. <span" in (await edge.http.get("/console/health")).text


def test_a_scan_is_read_with_data_that_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = tessdata._installed()
    for name in ("eng", "deu"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.traineddata").symlink_to(found[name])
    monkeypatch.setattr(tessdata, "FOLDERS", [str(tmp_path / "eng"), str(tmp_path / "deu")])
    token = tessdata.chosen.set(prepared(recognition_of("deu,eng", tmp_path)))
    try:
        page = read("scan.tiff", scanned("Pump P-7 was recalled in Bergen.", kind="group4"))
    finally:
        tessdata.chosen.reset(token)
    assert "P-7 was recalled in Bergen" in page.text
    assert "(deu+eng)" in page.shortfalls[0][1]
