"""The command line: what it prints, what it writes, and how it fails."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cutjoint.model.base.errors import AssemblyError, DescriptionError, SimulationError
from cutjoint.model.cli import list as command_list
from cutjoint.model.cli import main as command
from cutjoint.model.cli.common import Options
from cutjoint.model.cli.parser import Parser
from cutjoint.model.view import cli
from cutjoint.ros import cli as node
from processes import CUTJOINT, PATIENCE, start

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
FOURBAR = """
bodies:
  crank: {mass: 1, com: [0, 0, 0.1], inertia: [0.01, 0.01, 0.001]}
  coupler: {mass: 2, com: [0.25, 0, 0.3], inertia: [0.02, 0.02, 0.02]}
  rocker: {mass: 1, com: [0.45, 0, 0.2], inertia: [0.02, 0.02, 0.001]}
joints:
  pin1: {type: revolute, parent: ground, child: crank, at: [0, 0, 0], axis: [0, 1, 0]}
  pin2: {type: revolute, parent: crank, child: coupler, at: [0, 0, 0.2], axis: [0, 1, 0]}
  pin3: {type: revolute, parent: coupler, child: rocker, at: [0.5, 0, 0.4], axis: [0, 1, 0]}
  pin4: {type: revolute, parent: ground, child: rocker, at: [0.4, 0, 0], axis: [0, 1, 0]}
motors:
  drive: {joint: pin1}
"""


@pytest.fixture
def fourbar(tmp_path: Path) -> str:
    path = tmp_path / "fourbar.yaml"
    path.write_text(FOURBAR)
    return str(path)


def cutjoint(capsys: Capture, *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one command."""
    code = command.main(list(words))
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


# -- help ----------------------------------------------------------------------------------


def test_help_lists_what_is_there_and_nothing_else(capsys: Capture) -> None:
    code, out, _ = cutjoint(capsys, "--help")
    assert code == 0
    for name, found in command.commands().items():
        assert f"{name:<11}{found.help}" in out
    assert {"list", "show", "assemble", "simulate"} <= set(command.commands())


@pytest.mark.parametrize("name", list(command.commands()))
def test_each_subcommand_explains_itself_with_an_example(name: str, capsys: Capture) -> None:
    code, out, _ = cutjoint(capsys, name, "--help")
    assert code == 0
    assert f"example:\n  cutjoint {name}" in out


def test_help_does_not_wait_for_the_engine() -> None:
    code = "import sys, cutjoint.model.cli.main as c; c.main(['--help']); sys.exit('casadi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("words", ["simulate fourbar --time 0.01", "linearize fourbar"])
def test_nothing_slow_is_imported_for_nobody(words: str) -> None:
    """SciPy for rotations, Matplotlib for pictures: a third of what a short run took."""
    code = f"import sys, cutjoint.model.cli.main as c; assert c.main({words.split()!r}) == 0; "
    code += "sys.exit(str({'scipy', 'matplotlib', 'pandas'} & {*sys.modules} or 0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "0\n", done.stderr


def test_version(capsys: Capture) -> None:
    code, out, _ = cutjoint(capsys, "--version")
    assert code == 0 and out.startswith("cutjoint 0.")


@pytest.mark.parametrize(
    ("words", "mechanisms", "listed"),
    [
        (["--trace", "foot", "leg.yaml"], ["leg.yaml"], ["foot"]),
        (["--trace", "foot", "knee", "fourbar", "--port", "1"], ["fourbar"], ["foot", "knee"]),
        (["--trace", "foot", "leg.yaml", "fourbar"], ["leg.yaml", "fourbar"], ["foot"]),
        (["--plot", "energy", "fourbar", "--trace", "foot"], ["fourbar"], ["foot"]),
        (["--trace", "foot", "--", "mine"], ["mine"], ["foot"]),
        (["leg.yaml", "--trace", "foot"], ["leg.yaml"], ["foot"]),
    ],
)
def test_a_list_leaves_the_mechanism_its_word(
    words: list[str], mechanisms: list[str], listed: list[str]
) -> None:
    """It was taken for one more of the list, and said to be missing."""
    parser = Parser()
    cli.add_arguments(Options(parser))
    args = parser.read(words)
    assert (args.mechanism, args.trace) == (mechanisms, listed)


@pytest.mark.parametrize(
    ("words", "mechanism", "listed"),
    [
        ([], None, []),
        (["--param", "mode=fast"], None, ["mode=fast"]),
        (["--param", "mode=fast", "fourbar"], "fourbar", ["mode=fast"]),
    ],
)
def test_what_ros_is_told_stays_with_it(words: list[str], mechanism: str | None, listed: list[str]) -> None:
    """A launch file names the mechanism in a file of parameters, which was taken for the mechanism."""
    told = ["-r", "__ns:=/left", "--params-file", "my.yaml"]
    parser = Parser()
    node.add_arguments(Options(parser))
    args = parser.read([*words, "--ros-args", *told])
    assert (args.mechanism, args.param, args.ros_args) == (mechanism, listed, told)


def test_a_mechanism_that_is_missing_is_missed(capsys: Capture) -> None:
    code, _, err = cutjoint(capsys, "linearize", "--output", "energy", "power")
    assert code == 2 and "the following arguments are required: MECHANISM" in err


def test_values_may_begin_with_a_minus(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    code, _, err = cutjoint(capsys, "show", "fourbar", "--picture", str(path), "--view", "-60,30")
    assert code == 0 and path.exists(), err


# -- what it does --------------------------------------------------------------------------


def test_list_names_every_example(capsys: Capture) -> None:
    _, out, _ = cutjoint(capsys, "list")
    _, text, _ = cutjoint(capsys, "list", "--json")
    examples = json.loads(text)
    assert "stewart" in examples
    assert all(name in out and about in out for name, about in examples.items())


def test_show_reports_mobility_and_redundant_constraints(
    capsys: Capture, fourbar: str, tmp_path: Path
) -> None:
    code, out, _ = cutjoint(capsys, "show", fourbar)
    assert code == 0
    assert "mobility        1. Grübler's count gives -2 because 3 of 5 constraint rows are redundant." in out
    _, text, _ = cutjoint(capsys, "show", fourbar, "--json")
    report = json.loads(text)
    assert report["mobility"] == 1 and report["rows"] == 5 and report["rank"] == 2
    assert len(report["redundant"]) == 3
    assert all(name in out for name in report["redundant"])
    assert "joint.pin1.position" in report["outputs"]


def test_show_draws_a_picture(capsys: Capture, tmp_path: Path) -> None:
    from matplotlib.image import imread

    path = tmp_path / "stewart.png"
    code, out, _ = cutjoint(capsys, "show", "stewart", "--picture", str(path))
    assert code == 0 and f"picture: {path}" in out
    image = imread(path)
    assert min(image.shape[:2]) > 300
    assert 0.02 < (image[..., :3].min(axis=2) < 0.9).mean() < 0.6, "blank, or no drawing"


def test_assemble_holds_joints_and_writes_the_pose(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "turned.yaml"
    held = ("--set", "motor1=0.2", "motor2=0.1", "motor3=0.1")
    code, out, _ = cutjoint(capsys, "assemble", "stewart", *held, "-o", str(path))
    assert code == 0 and "residual" in out
    _, text, _ = cutjoint(capsys, "assemble", "stewart", *held, "--json")
    first = json.loads(text)
    assert first["coordinates"]["motor1"] == [0.2] and first["residual"] < 1e-12
    _, text, _ = cutjoint(capsys, "assemble", str(path), "--json")
    again = json.loads(text)
    assert again["iterations"] == 0 and again["coordinates"] == first["coordinates"]


def test_simulate_writes_table_plot_and_summary(capsys: Capture, tmp_path: Path) -> None:
    table, plot = tmp_path / "motion.csv", tmp_path / "motion.png"
    options = ["--time", "0.05", "--torque", "all=10", "--no-compile"]
    options += ["--csv", str(table), "--plot", str(plot)]
    record = ["--output", "body.platform.position", "energy"]
    code, out, err = cutjoint(capsys, "simulate", "stewart", *options, *record)
    assert code == 0 and err == ""
    assert "imbalance" in out and "loop residual" in out and "real time" in out
    rows = list(csv.reader(table.open()))
    assert rows[0] == ["time", *(f"body.platform.position[{k}]" for k in (1, 2, 3)), "energy"]
    assert len(rows) == 52 and float(rows[-1][0]) == pytest.approx(0.05)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_simulate_balances_energy_in_both_methods(capsys: Capture) -> None:
    ends = []
    for method in ("fixed", "variable"):
        options = ["--time", "0.2", "--torque", "motor1=10", "--method", method, "--gravity", "0", "--json"]
        code, text, _ = cutjoint(capsys, "simulate", "stewart", "--no-compile", *options)
        summary = json.loads(text)
        assert code == 0 and summary["compiled"] is False
        assert abs(summary["imbalance"]) < 1e-6 * summary["energy_end"]
        assert summary["loop_residual"] < 1e-10
        ends.append(summary["energy_end"])
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)


def test_simulate_knows_the_papers_ways_but_does_not_press_them(capsys: Capture) -> None:
    code, text, _ = cutjoint(capsys, "simulate", "--help")
    assert code == 0 and "implicit" in text
    assert not any(
        word in text for word in ("--formulation", "--stabilization", "--chart", "taylor", "local")
    )
    ways = ["--formulation", "svd", "--stabilization", "none", "--chart", "tangent_qr"]
    for options in (ways, ["--method", "local"], ["--stepper", "implicit"]):
        words = ["simulate", "fivebar", "--time", "0.01", "--no-compile", "--json", *options]
        code, text, err = cutjoint(capsys, *words)
        assert code == 0, err
        assert abs(json.loads(text)["imbalance"]) < 1e-6


def test_simulate_shows_progress_only_when_asked(capsys: Capture, fourbar: str) -> None:
    words = ["simulate", fourbar, "--time", "0.01", "--no-compile"]
    assert cutjoint(capsys, *words)[2] == ""
    assert "0%" in cutjoint(capsys, *words, "--progress")[2]


# -- mistakes ------------------------------------------------------------------------------

MISTAKES = [
    (["shwo"], "there is no command 'shwo'; did you mean 'show'?"),
    (["dance"], "there is no command 'dance'; see 'cutjoint --help'"),
    (["show", "stuart"], "there is no example or file 'stuart'; did you mean 'stewart'?"),
    (["show", "no/such/file.yaml"], "there is no example or file 'no/such/file.yaml'"),
    (["show", "."], "'.' is a folder; give the path of a description file in it"),
    (["show", "stewart", "--picture", "no/folder/a.png"], "there is no folder 'no/folder'; create it first"),
    (["show", "stewart", "--picture", "a.bmp"], "the name must end in png, svg, pdf"),
    (["assemble", "stewart", "--set", "motor=1"], "--set: there is no joint 'motor'; did you mean 'motor3'?"),
    (["assemble", "stewart", "--set", "motor1"], "--set takes NAME=VALUE, not 'motor1'"),
    (["assemble", "stewart", "-o", "no/folder/a.yaml"], "there is no folder 'no/folder'; create it first"),
    (
        ["simulate", "fivebar", "--formulation", "svg"],
        "--formulation: there is no formulation 'svg'",
    ),
    (
        ["simulate", "fivebar", "--stepper", "euler"],
        "--stepper: there is no stepper 'euler'; known",
    ),
    (["simulate", "stewart", "--torque", "10"], "--torque takes NAME=VALUE, not '10'"),
    (["simulate", "stewart", "--torque", "motor1=ten"], "--torque motor1: 'ten' is not a number"),
    (["simulate", "stewart", "--torque", "motor1=nan"], "--torque motor1: 'nan' is not a finite number"),
    (
        ["simulate", "stewart", "--torque", "moter1=1"],
        "there is no motor or cylinder 'moter1'; did you mean 'motor1'?",
    ),
    (["simulate", "stewart", "--time", "-1"], "--time must be more than zero, not -1"),
    (["simulate", "stewart", "--step", "0"], "--step must be more than zero, not 0"),
    (
        ["simulate", "stewart", "--gravity", "1,2"],
        "--gravity takes one number or three with commas, not '1,2'",
    ),
    (
        ["simulate", "stewart", "--output", "body.plattform.position"],
        "did you mean 'body.platform.position'?",
    ),
    (["simulate", "stewart", "--csv", "."], "can't write '.': it is a folder; give the name of a file in it"),
    (["simulate", "stewart", "--csv", "no/folder/a.csv"], "there is no folder 'no/folder'; create it first"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_mistakes_get_one_sentence(
    words: list[str],
    sentence: str,
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: Patch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = cutjoint(capsys, *words)
    assert code == command.USAGE
    assert err.startswith("cutjoint: ") and err.count("\n") == 1
    assert sentence in err
    assert out == "" and os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "words", [[], ["show"], ["show", "stewart", "--bad"], ["simulate", "a", "--method", "x"]]
)
def test_wrong_usage_shows_the_usage(words: list[str], capsys: Capture) -> None:
    code, out, err = cutjoint(capsys, *words)
    assert code == command.USAGE
    assert "usage: cutjoint" in out + err


def test_a_loop_that_cannot_close_exits_with_3(capsys: Capture, fourbar: str) -> None:
    _, text, _ = cutjoint(capsys, "show", fourbar, "--json")
    held = [name for name in ("pin1", "pin2", "pin3", "pin4") if name not in json.loads(text)["cuts"]]
    code, _, err = cutjoint(capsys, "assemble", fourbar, "--set", *(f"{name}=0.5" for name in held))
    assert code == command.NOT_ASSEMBLED
    assert "can't be assembled" in err and err.count("\n") == 1


def test_a_simulation_that_fails_exits_with_4(capsys: Capture, tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    options = ["--no-compile", "--torque", "all=1e200", "--step", "0.1", "--csv", str(table)]
    code, _, err = cutjoint(capsys, "simulate", "fourbar", *options)  # whose motor has no limit
    assert code == command.NOT_SIMULATED
    assert err.count("\n") == 1 and "infinite" in err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (DescriptionError("a"), 2, "a"),
        (AssemblyError("b"), 3, "b"),
        (SimulationError("c"), 4, "c"),
        (
            OSError(28, "No space left on device", "x.csv"),
            2,
            "can't use the file 'x.csv': No space left on device",
        ),
        (MemoryError(), 1, "not enough memory"),
        (KeyboardInterrupt(), 130, "stopped"),
        (
            ZeroDivisionError("by\nzero"),
            1,
            "unexpected ZeroDivisionError: by zero (run again with CUTJOINT_DEBUG=1",
        ),
    ],
)
def test_exit_codes(
    error: BaseException,
    code: int,
    text: str,
    capsys: Capture,
    monkeypatch: Patch,
) -> None:
    def fail() -> dict[str, str]:
        raise error

    monkeypatch.setattr(command_list, "list_examples", fail)
    found, _, err = cutjoint(capsys, "list")
    assert found == code
    assert err.startswith(f"cutjoint: {text}") and err.count("\n") == 1


def test_debug_shows_the_traceback(monkeypatch: Patch) -> None:
    monkeypatch.setenv("CUTJOINT_DEBUG", "1")
    with pytest.raises(DescriptionError):
        command.main(["show", "stuart"])


def test_no_compiler_is_no_obstacle(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path), "CC": "", "XDG_CACHE_HOME": str(tmp_path)}
    words = [*CUTJOINT, "simulate", "stewart", "--time", "0.01", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stderr == ""
    assert json.loads(done.stdout)["compiled"] is False


def test_a_failing_compiler_warns_in_one_line(tmp_path: Path) -> None:
    environment = {**os.environ, "CC": "false", "XDG_CACHE_HOME": str(tmp_path)}
    words = [*CUTJOINT, "simulate", "stewart", "--time", "0.01", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and json.loads(done.stdout)["compiled"] is False
    assert done.stderr.startswith("cutjoint: the C compiler 'false' failed") and done.stderr.count("\n") == 1


# -- the outside world ---------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
@pytest.mark.parametrize(
    ("prefix", "signums", "code"),
    [
        ([], [signal.SIGINT], 130),
        ([], [signal.SIGTERM], 143),
        # started in the background of a script: Ctrl-C is for what runs in front of it
        (["sh", "-c", 'trap "" INT; exec "$@"', "sh"], [signal.SIGINT, signal.SIGTERM], 143),
    ],
    ids=["Ctrl-C", "kill", "Ctrl-C in the background, then kill"],
)
def test_stopping_in_the_middle_leaves_no_file(
    prefix: list[str], signums: list[int], code: int, tmp_path: Path
) -> None:
    words = ["simulate", "stewart", "--time", "1000", "--no-compile", "--progress", "--csv"]
    command = [*prefix, *CUTJOINT, *words, tmp_path / "a.csv"]
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        os.read(process.stderr.fileno(), 1)  # the bar has appeared: it is running
        for signum in signums:
            process.send_signal(signum)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert b"Traceback" not in err
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_that_leaves_is_no_error() -> None:
    with subprocess.Popen([*CUTJOINT, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*CUTJOINT, "list"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == command.USAGE
    assert done.stderr == "cutjoint: can't use the file: No space left on device\n"


def test_an_old_terminal_gets_what_it_can_show() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([*CUTJOINT, "show", "stewart"], capture_output=True, env=environment)
    assert done.returncode == 0 and b"ground ? shaft1" in done.stdout
