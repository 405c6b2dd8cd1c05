"""No command replaces what it reads, nor a file that is not as it wrote it, unless --force says so."""

import csv
import importlib
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint.model.base.errors import CutjointError
from cutjoint.model.base.files import write_atomically
from cutjoint.model.base.marks import check_replaceable
from cutjoint.model.cli.common import check_outputs
from cutjoint.model.cli.main import add_arguments, commands, main
from cutjoint.model.cli.parser import Parser
from cutjoint.model.loading import load
from PIL import Image

# Options with the name of a file or folder that is read.
READ = {"--at", "--loops", "--samples", "--library", "--packages", "--start", "--mechanism"}
FILES = ("FILE", "FOLDER", "PATH")


def declared(name: str) -> tuple[Parser, list[str]]:
    parser = Parser()
    return parser, add_arguments(importlib.import_module(commands()[name].module), name, parser)


@pytest.mark.parametrize("name", commands())
def test_every_option_that_names_a_file_is_read_or_guarded(name: str) -> None:
    parser, written = declared(name)
    for action in parser._actions:
        if action.option_strings and action.metavar in FILES and not READ & set(action.option_strings):
            assert action.dest in written, action.option_strings
    assert bool(written) == any("--force" in action.option_strings for action in parser._actions)


@pytest.mark.parametrize("name", commands())
def test_every_output_of_every_command_spares_what_is_there(name: str, tmp_path: Path, capsys: Any) -> None:
    parser, written = declared(name)
    theirs = tmp_path / "theirs"
    theirs.write_text("an evening's work\n")
    for action in (a for a in parser._actions if a.dest in written and a.metavar != "FOLDER"):
        first = {"import": [str(theirs)], "schema": [], "bench": []}.get(name, ["stewart"])
        words = [name, *first, action.option_strings[0], str(theirs)]
        words += ["-o", str(tmp_path / "new.urdf")] if name == "convert" and action.dest != "output" else []
        words += ["-o", str(tmp_path / "folder")] if name == "sweep" else []
        assert main([*words, "--vary", "a=1"] if name == "sweep" else words) == 2, words
        said = capsys.readouterr().err
        assert "--force" in said and str(theirs) in said, said
        assert theirs.read_text() == "an evening's work\n"


def test_what_a_command_reads_is_not_replaced(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """Each of these lost the user's own description."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "lift"]) == 0
    own = Path("lift.yaml").read_text()
    lost = [
        ["simulate", "lift.yaml", "--time", "0.01", "--csv", "lift.yaml"],
        ["assemble", "lift.yaml", "-o", "lift.yaml"],
        ["schema", "-o", "edited.yaml"],
        ["new", "lift"],
        ["linearize", "lift.yaml", "--save", "edited.json"],
    ]
    for name in ("edited.yaml", "edited.json"):
        Path(name).write_text("{}\n")
    for words in lost:
        capsys.readouterr()
        assert main(words) == 2, words
        assert "--force" in capsys.readouterr().err
    assert Path("lift.yaml").read_text() == own and Path("edited.json").read_text() == "{}\n"
    assert main(["assemble", "lift.yaml", "-o", "lift.yaml", "--force"]) == 0


def test_loops_of_a_urdf_have_a_name_of_their_own(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "lift"]) == 0
    Path("lift.yaml").write_text(own := Path("lift.yaml").read_text() + "# mine\n")
    for _ in range(2):
        assert main(["convert", "lift.yaml", "-o", "lift.urdf"]) == 0
    assert Path("lift.yaml").read_text() == own and Path("lift.loops.yaml").exists()
    capsys.readouterr()
    assert main(["import", "lift.urdf", "-o", "lift.yaml"]) == 2  # it would be lost, too
    assert main(["import", "lift.urdf", "-o", "lift.loops.yaml"]) == 2
    assert "what this command reads" in capsys.readouterr().err
    assert main(["import", "lift.urdf", "-o", "other.yaml"]) == 0
    assert Path("lift.yaml").read_text() == own
    Path("lift.loops.yaml").write_text("closed_loop: []\n")
    assert main(["convert", "lift.yaml", "-o", "lift.urdf"]) == 2
    assert Path("lift.loops.yaml").read_text() == "closed_loop: []\n"


def test_tables_that_inputs_come_from_are_not_replaced(tmp_path: Path) -> None:
    parser, written = declared("simulate")
    table = tmp_path / "data.csv"
    table.write_text('"time",x\r\n0,1\r\n')  # as ours
    law = f"motor=table({table}, x)"
    args = parser.read(["fourbar", "--input", law, "--csv", str(table)])
    with pytest.raises(Exception, match="what this command reads"):
        check_outputs(args, written)


OUTPUTS = [
    ["assemble", "fourbar", "-o", "a.yaml"],
    ["convert", "fourbar", "-o", "a.urdf"],
    ["convert", "fourbar", "-o", "a.xml"],
    ["convert", "fourbar", "-o", "a.sdf"],
    ["schema", "-o", "a.schema.json"],
    ["linearize", "fourbar", "--save", "a.json"],
    ["linearize", "fourbar", "--save", "a.npz"],
    ["show", "fourbar", "--picture", "a.png"],
    ["show", "fourbar", "--picture", "a.svg"],
    ["show", "fourbar", "--picture", "a.pdf"],
    ["simulate", "fourbar", "--time", "0.01", "--csv", "a.csv"],
    ["simulate", "fourbar", "--time", "0.01", "--save", "a.parquet"],
    ["simulate", "fourbar", "--time", "0.01", "--save", "a.h5"],
    ["simulate", "fourbar", "--time", "0.05", "--animate", "a.gif"],
    ["simulate", "fourbar", "--time", "0.05", "--animate", "a.html"],
    ["simulate", "fourbar", "--time", "0.05", "--report", "b.html"],
    ["export", "fourbar", "-o", "a.fmu", "--runtime", "python"],
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any) -> Path:
    """A folder with all of them, written twice where that is quick."""
    folder = tmp_path_factory.mktemp("made")
    for words in OUTPUTS:
        target = next(word for word in words if word[:2] in ("a.", "b."))
        words = [str(folder / word) if word == target else word for word in words]
        for _ in range(2 if words[0] in ("assemble", "schema", "show") else 1):
            assert main(words) == 0, words
    return folder


@pytest.mark.parametrize(
    "name", [next(word for word in words if word[:2] in ("a.", "b.")) for words in OUTPUTS]
)
def test_what_we_wrote_is_replaced_until_somebody_changes_it(name: str, made: Path, tmp_path: Path) -> None:
    target = made / name
    check_replaceable(target)
    whole, changed = target.read_bytes(), tmp_path / name
    changed.write_bytes(whole)
    check_replaceable(changed)  # a copy of it is as good
    text = target.suffix in (".yaml", ".urdf", ".xml", ".sdf", ".json", ".svg", ".html", ".pdf")
    changed.write_bytes(whole.replace(b"4", b"5", 1) if text else b"x" + whole[: len(whole) // 3])
    with pytest.raises(CutjointError, match="add --force"):
        check_replaceable(changed)
    check_replaceable(changed, force=True)


def test_marks_leave_files_readable(made: Path) -> None:
    assert load(made / "a.yaml").name == load(made / "a.urdf").name == load("fourbar").name
    assert "$schema" in json.loads((made / "a.schema.json").read_text())
    assert len(json.loads((made / "a.json").read_text())["A"]) == len(np.load(made / "a.npz")["A"])
    with (made / "a.csv").open(newline="") as file:
        assert next(csv.reader(file))[0] == "time"
    with Image.open(made / "a.png") as picture, Image.open(made / "a.gif") as film:
        picture.load()
        assert film.n_frames > 1  # type: ignore[attr-defined]
    assert zipfile.ZipFile(made / "a.fmu").testzip() is None


def test_empty_files_and_pipes_are_written_to(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").touch()
    assert main(["assemble", "fourbar", "-o", str(tmp_path / "a.yaml")]) == 0
    with write_atomically("/dev/null") as sink:
        sink.write_text("x")
