"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cutjoint.model.base.errors import CutjointError
from cutjoint.model.base.files import check_writable, picture_format, write_atomically


def test_a_finished_file_replaces_the_old_one_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(0o640)
    with write_atomically(path) as temporary:
        temporary.write_text("new·", encoding="utf-8")
        assert temporary.suffix == ".csv"
        assert path.read_text() == "old"
    assert path.read_text(encoding="utf-8") == "new·"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, failure: type[BaseException]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(failure), write_atomically(path) as temporary:
        temporary.write_text("half")
        raise failure
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    with write_atomically(link) as temporary:
        temporary.write_text("x")
    assert link.is_symlink() and target.read_text() == "x"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_what_is_no_regular_file_is_written_directly() -> None:
    with pytest.raises(CutjointError, match="No space"), write_atomically("/dev/full") as direct:
        direct.write_text("x")
    assert Path("/dev/full").is_char_device()


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    sentence = r"can't write '.*a\.csv': No space left on device"
    with pytest.raises(CutjointError, match=sentence), write_atomically(tmp_path / "a.csv"):
        raise OSError(28, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(CutjointError, match=r"there is no folder '.*missing'; create it first"):
        check_writable(tmp_path / "missing" / "a.csv")
    with pytest.raises(CutjointError, match="it is a folder; give the name of a file in it"):
        check_writable(tmp_path)


def test_a_folder_without_the_right_to_write(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(0o500)
    if os.access(locked, os.W_OK):
        pytest.skip("root may write anywhere")
    with pytest.raises(CutjointError, match="permission denied; choose another place"):
        check_writable(locked / "a.csv")


def test_pictures_need_a_known_ending() -> None:
    assert picture_format("a.PNG") == "png"
    with pytest.raises(CutjointError, match="the name must end in png, svg, pdf"):
        picture_format("a.bmp")
