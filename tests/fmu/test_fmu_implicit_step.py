"""FMUs with the implicit step: the same motion as in Python, native and through pythonfmu."""

from itertools import product
from pathlib import Path

import mechanisms
import pytest
from bulk import bulk
from cutjoint import Mechanism, Simulation, load
from cutjoint.fmu.export import export
from cutjoint.model.cli.main import main
from cutjoint.papers.benchmarks import problems
from fmpy import simulate_fmu

CASES = {
    "stiff five-bar": (mechanisms.stiff_five_bar(), "joint.left.position", 0.05),
    "governor": (problems.governor(), "joint.slide.position", 0.05),
    "bicycle": (load("bicycle"), "joint.steering.position", 0.05),
    "squeezer": (problems.squeezer(), "joint.O.position", 0.02),
}


def last(path: Path, name: str, end: float) -> float:
    found = simulate_fmu(
        str(path), stop_time=end, output_interval=1e-3, output=[name], fmi_type="CoSimulation"
    )
    return float(found[name][-1])


@pytest.mark.parametrize(
    ("case", "runtime"),
    bulk(
        [*product(CASES, ("native", "python"))],
        {("stiff five-bar", "native"), ("squeezer", "native"), ("bicycle", "python")},
    ),
)
def test_the_same_motion_as_in_python(case: str, runtime: str, tmp_path: Path) -> None:
    mechanism, name, end = CASES[case]
    path = tmp_path / "stiff.fmu"
    export(mechanism, path, runtime=runtime, stepper="implicit", outputs=[name], picture=False, optimize=0)
    expected = stepped(mechanism, name, end)  # rounded otherwise, which the squeezer's fast turns multiply
    assert last(path, name, end) == pytest.approx(expected, rel=1e-9, abs=1e-10)


def stepped(mechanism: Mechanism, name: str, end: float, stepper: str = "implicit") -> float:
    s = Simulation(mechanism, stepper=stepper, compile=False)
    for _ in range(round(end / 1e-3)):
        s.step(1e-3)
    return float(s.outputs()[name])


def test_it_is_another_step_than_the_explicit_one() -> None:
    """Otherwise the test above would say nothing."""
    mechanism, name, end = CASES["governor"]
    assert abs(stepped(mechanism, name, end) - stepped(mechanism, name, end, "runge_kutta")) > 1e-9


def test_the_command_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "crank.fmu"
    options = ["--runtime", "python", "--stepper", "implicit", "--output", "energy", "-o", str(path)]
    assert main(["export", "fourbar", *options]) == 0
    s = Simulation("fourbar", stepper="implicit", compile=False)
    for _ in range(20):
        s.step(1e-3)
    assert last(path, "energy", 0.02) == pytest.approx(s.energy(), abs=1e-12)
    capsys.readouterr()
    assert main(["export", "fourbar", "--stepper", "magic", "-o", str(path)]) == 2
    assert "--stepper: 'magic' is not known; known: runge_kutta, single, implicit" in capsys.readouterr().err
