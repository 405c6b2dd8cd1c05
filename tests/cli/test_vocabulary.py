"""One vocabulary of options: words mean the same, mistyped ones are suggested, shells complete them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cutjoint import load
from cutjoint.model.base.errors import CutjointError
from cutjoint.model.cli import main as command
from cutjoint.model.cli.completion import options_of, script
from cutjoint.model.cli.drive import with_drives
from cutjoint.model.cli.plot_file import PlotFile

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["simulate", "fourbar", "--laods"], "did you mean '--loads'?"),
        (["show", "fourbar", "--pictur", "x.png", "--outptus"], "did you mean '--outputs'?"),
        (["sweep", "fourbar", "-o", "results", "--varry", "x"], "did you mean '--vary'?"),
    ],
)
def test_a_mistyped_option_is_suggested(words: list[str], hint: str, capsys: Capture) -> None:
    assert command.main(words) == 2
    assert hint in capsys.readouterr().err


def test_inputs_are_given_by_one_word_everywhere() -> None:
    known = options_of()
    for name in ("simulate", "statics", "linearize", "verify", "view", "sweep"):
        assert {"--input", "--torque"} <= set(known[name]), name


def test_a_law_where_inputs_are_constant_is_refused(capsys: Capture) -> None:
    assert command.main(["statics", "fourbar", "--input", "crank=sine(amplitude=1, frequency=2)"]) == 2
    assert "here inputs are constant" in capsys.readouterr().err


def test_all_inputs_follow_one_law(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "m.csv"
    words = ["simulate", "stewart", "--input", "all=sine(amplitude=2, frequency=1)", "--step", "5e-3"]
    assert (
        command.main([*words, "--time", "0.05", "--no-compile", "--output", "input.*", "--csv", str(out)])
        == 0
    )
    table = np.genfromtxt(out, delimiter=",", skip_header=1)
    np.testing.assert_allclose(table[:, 1], 2 * np.sin(2 * np.pi * table[:, 0]), atol=1e-12)
    np.testing.assert_array_equal(table[:, 1], table[:, -1])
    capsys.readouterr()


def test_a_crank_is_driven_at_a_speed(capsys: Capture) -> None:
    words = [
        "simulate",
        "fourbar",
        "--drive",
        "crank=60rpm",
        "--time",
        "0.1",
        "--step",
        "5e-3",
        "--no-compile",
    ]
    assert command.main([*words, "--loads", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["loads"]["drives"]["crank"]["value"] > 1.0
    mechanism, values = with_drives(load("fourbar"), ["crank=30 deg"])
    assert mechanism.motors[0].drive == "position" and values["crank"] == pytest.approx(np.pi / 6)
    for word, sentence in (
        ("crank=3", "with a unit"),
        ("crnk=3rpm", "did you mean 'crank'"),
        ("crank", "NAME=VALUE"),
    ):
        with pytest.raises(CutjointError, match=sentence):
            with_drives(load("fourbar"), [word])


def test_a_plot_names_its_file_or_what_it_shows() -> None:
    plain, named, both = PlotFile("a.png"), PlotFile("stroke:force"), PlotFile("b.svg=foot[1]:foot[3],energy")
    assert (plain, plain.over) == ("a.png", "")
    assert (named, named.over, named.shown) == ("force_over_stroke.png", "stroke", ("force",))
    assert (both, both.over, both.shown) == ("b.svg", "foot[1]", ("foot[3]", "energy"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_every_command(shell: str) -> None:
    text = script(shell)
    assert all(name in text for name in command.commands()) and "hexapod" in text
    program = shutil.which(shell)
    if program:
        subprocess.run([program, "-n"], input=text, text=True, check=True)


def test_bash_completes_commands_options_and_mechanisms(tmp_path: Path) -> None:
    if not shutil.which("bash"):
        pytest.skip("no bash here")
    (tmp_path / "c.sh").write_text(script("bash"))
    for words, completed in (("si", "simulate"), ("simulate --lo", "--loads"), ("show hex", "hexapod")):
        count = len(words.split())
        line = f"source c.sh; COMP_WORDS=(cutjoint {words}); COMP_CWORD={count}; _cutjoint"
        line += "; echo ${COMPREPLY[@]}"
        said = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert completed in said.stdout.split()
