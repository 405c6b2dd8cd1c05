"""Files that others made come in by one door, and SECURITY.md names tests that are there."""

from __future__ import annotations

import ast
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    *("model/robots", "model/urdf", "model/describe", "model/laws", "model/batch", "model/cartesian"),
    *("model/cli", "model/design", "model/view", "model/show", "ros", "fmu/ssp"),
)
CALLS = {"open", "read_text", "read_bytes", "read_table", "ParquetFile", "load", "loadtxt", "genfromtxt"}
CALLS |= {"fromfile"}
# Modules that open files themselves, and what for.
OWN = {
    "model/describe/manual.py": "writes a page of the manual",
    "model/describe/reader.py": "descriptions that ship",
    "model/urdf/read_meshes.py": "results of its own process, in its own scratch folder",
    "model/laws/texts.py": "calls our own reader of tables",
    "model/batch/store.py": "Parquet by pyarrow, with a checksum of the values",
    "model/view/view.py": "pictures that it has just drawn; opens a browser",
    "model/view/cli.py": "opens a browser",
    "model/view/player.py": "a script that ships",
    "model/cli/main.py": "nothing: /dev/null for output",
    "ros/recording_file.py": "recordings, record by record within limits",
    "ros/udp.py": "the user's own key, after its mode",
}


def direct(path: Path) -> list[str]:
    """Calls in a module that open files, but those of the door by its own names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    doors = ("untrusted", "yaml_text", "loading")
    door = {name.name for node in imports if str(node.module).endswith(doors) for name in node.names}
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            found.append(f"line {node.lineno}: open")
        if isinstance(node.func, ast.Attribute) and node.func.attr in CALLS - door:
            owner = ast.unparse(node.func.value)
            writes = any(isinstance(x, ast.Constant) and "w" in str(x.value) for x in node.args)
            if not writes and "temporary" not in owner:
                found.append(f"line {node.lineno}: {owner}.{node.func.attr}")
    return found


READERS = sorted(path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("module", READERS, ids=str)
def test_every_reader_uses_the_door(module: Path) -> None:
    if module.as_posix() in OWN:
        assert direct(ROOT / module), f"{module} opens nothing any more: take it off the list"
    else:
        assert not direct(ROOT / module), "read files by base/untrusted.py"


def test_a_direct_open_is_found(tmp_path: Path) -> None:
    path = tmp_path / "reader.py"
    for line in ("open('a')", "Path('a').open('rb')", "Path('a').read_text()", "np.load('a')"):
        path.write_text(f"x = {line}")
        assert direct(path), line
    path.write_text("from ..base.untrusted import read_text\nx = read_text('a', 5)")
    assert not direct(path)


def test_the_door_gives_no_more_than_it_should(tmp_path: Path) -> None:
    from cutjoint.model.base.errors import CutjointError
    from cutjoint.model.base.untrusted import find_inside, read_bytes, read_text

    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("x" * 10)
    (tmp_path / "in/link").symlink_to(tmp_path / "secret")
    (tmp_path / "in/circle").symlink_to(tmp_path / "in/circle")
    (tmp_path / "in/a").write_bytes(b"\xff\xfe")
    names = ("../secret", "link", "circle", "no", ".", "", "\0", "a/b", str(tmp_path / "secret"), "a" * 5000)
    for name in names:
        with pytest.raises(CutjointError):
            find_inside(name, [tmp_path / "in"])
    assert find_inside("a", [tmp_path / "in"]) == tmp_path / "in/a"
    assert len(read_bytes(tmp_path / "secret", 10)) == 10
    for path, most in (("secret", 9), ("/dev/zero", 1000), ("no", 5), ("", 5)):
        with pytest.raises(CutjointError, match=r"larger than|can't read"):
            read_bytes(tmp_path / path, most)
    with pytest.raises(CutjointError, match="not text in UTF-8"):
        read_text(tmp_path / "in/a", 10)


def test_an_archive_is_unpacked_within_a_limit(tmp_path: Path) -> None:
    """A foreign FMU of 2 MB took 2 GB; what zipfile raises beside BadZipFile was unexpected."""
    from cutjoint.model.base.errors import CutjointError
    from cutjoint.model.base.untrusted import read_member

    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in", b" " * 50_000_000)
        archive.writestr("small", b"x")
    assert read_member(path, "small", 1, "it") == b"x"
    whole = path.read_bytes()
    for name, sentence in (("in", "in is larger than 1 MB"), ("no", "no item named 'no'")):
        with pytest.raises(CutjointError, match=f"is not it: .*{sentence}"):
            read_member(path, name, 1_000_000, "it")
    directory = whole.index(b"PK\1\2")
    for at, bits in ((8, 1), (10, 99)):  # encrypted; packed in a way that nobody knows
        path.write_bytes(whole[: directory + at] + bytes([bits]) + whole[directory + at + 1 :])
        with pytest.raises(CutjointError, match="is not it: "):
            read_member(path, "in", 1_000_000, "it")


def test_an_archive_with_a_long_list_of_files_is_not_opened(tmp_path: Path, monkeypatch: Any) -> None:
    """The list is read as a whole: 300,000 names took 200 MB, a file of a gigabyte 50 times that."""
    from cutjoint.model.base import untrusted
    from cutjoint.model.base.errors import CutjointError

    path = tmp_path / "a.zip"
    for count, comment in ((66_000, b""), (300, b"x" * 60_000)):  # the first has a directory of ZIP64
        with zipfile.ZipFile(path, "w") as archive:
            archive.comment = comment
            for k in range(count):
                archive.writestr(str(k), b"")
        with pytest.raises(CutjointError, match="it has too many files"):
            untrusted.read_member(path, "1", 10, "it")
        monkeypatch.setattr(untrusted, "LARGEST_DIRECTORY", 1000)


def test_xml_of_many_elements_is_refused() -> None:
    """50 MB of them, packed into 50 kB, took gigabytes."""
    from cutjoint.model.base.untrusted import check_xml

    check_xml(b"<a>" * 200 + b"</a>" * 200)
    for text in (b"<a>" * 201, b"<a>" + b"<b/>" * 2_000_000, b"<!DOCTYPE a>"):
        with pytest.raises(ValueError, match=r"too many elements|document types"):
            check_xml(text)


def test_the_table_of_threats_names_tests_that_are_there() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = page[page.index("## Threats") : page.index("## Reporting")]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    named = [re.findall(r"`(test_\w+)`", row) for row in rows]
    assert len(rows) >= 12 and all(named)
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    for name in (name for names in named for name in names):
        assert any(f"def {name}(" in text for text in texts), name
