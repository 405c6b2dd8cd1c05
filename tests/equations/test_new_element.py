"""A new kind of element, registered while the program runs, is everywhere: no other file knows of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import muscle
import numpy as np
import pytest
from cutjoint import CutjointError, DescriptionError, Mechanism, Simulation, motion_sensitivities, rollout
from cutjoint.fmu.export import export
from cutjoint.model.batch.executors import run_sweep
from cutjoint.model.batch.store import read_results
from cutjoint.model.batch.sweep import sweep
from cutjoint.model.cli.main import main
from cutjoint.model.describe import fields
from cutjoint.model.describe.mechanism import add_group
from cutjoint.model.describe.schema import schema
from cutjoint.model.describe.writer import write
from cutjoint.model.engine import identity
from cutjoint.model.equations.elements.contract import ELEMENTS, register
from cutjoint.model.loading import read
from cutjoint.model.run.equilibrium import hold
from cutjoint.model.urdf.writer_common import unsaid
from cutjoint.realtime.build import build_realtime
from cutjoint.ros.motor_commands import Commands
from loop_tools import Device, running
from muscle import MUSCLES, Muscle
from scipy.integrate import solve_ivp

SLIDE = """
name: slide
gravity: 0
bodies: {block: {mass: 2, com: [0.5, 0, 0]}}
joints: {rail: {type: prismatic, parent: ground, child: block, at: [0, 0, 0], axis: x, damping: 1}}
muscles:
  biceps: {body1: ground, body2: block, point1: [0, 0, 0], point2: [0.5, 0, 0],
           rest: 40 cm, stiffness: 50, damping: 3, strength: 20 N, lag: 50 ms}
parameters: {lag: muscle.biceps.lag, strength: muscle.biceps.strength}
outputs: {pull: muscle.biceps.tension}
"""
M, K, C, F, T, REST, RAIL = 2.0, 50.0, 3.0, 20.0, 0.05, 0.4, 1.0
SHOWN = ["muscle.biceps.tension", "muscle.biceps.length", "muscle.biceps.activation", "energy"]


@pytest.fixture(scope="module", autouse=True)
def muscles() -> Iterator[None]:
    register(MUSCLES)
    yield
    del ELEMENTS["muscles"], fields._ADDED[Mechanism]["muscles"]
    fields._known.cache_clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "slide.yaml"
    path.write_text(SLIDE)
    return path


def exact(time: float, u: float, lag: float = T) -> np.ndarray:
    """Length, its rate and the activation after a time under a held input, by an integrator of others."""

    def rates(t: float, x: np.ndarray) -> list[float]:
        thrust = -K * (x[0] - REST) - (C + RAIL) * x[1] - F * x[2]
        return [x[1], thrust / M, (u - x[2]) / lag]

    return np.asarray(solve_ivp(rates, (0, time), [0.5, 0.0, 0.0], rtol=1e-11, atol=1e-12).y[:, -1])


def test_it_is_read_checked_and_written_as_any_other() -> None:
    slide = read(SLIDE)
    assert slide.muscles == (  # type: ignore[attr-defined]
        Muscle("biceps", "ground", "block", (0.0,) * 3, (0.0,) * 3, 0.4, 50.0, 3.0, 20.0, 0.05),
    )
    assert read(write(slide)) == slide
    assert "muscles" in schema()["properties"]
    for wrong, sentence in (
        ("lag: 0 ms", "muscle 'biceps': lag must be positive, not 0"),
        ("lag: 1 m", "muscle 'biceps': lag can't be in 'm'"),
        ("lack: 1", "muscle 'biceps': there is no field 'lack'"),
    ):
        with pytest.raises(CutjointError, match=sentence):
            read(SLIDE.replace("lag: 50 ms", wrong))
    with pytest.raises(DescriptionError, match="'struts' already"):
        add_group("struts", MUSCLES.field)


def test_it_steps_and_its_energy_is_accounted_for() -> None:
    simulation = Simulation(read(SLIDE), compile=False)
    assert simulation.inputs == ("biceps",)
    simulation.set_inputs({"biceps": 0.7})
    before = simulation.outputs()["energy"]
    names = [*SHOWN, "power_supplied", "power_dissipated", "joint.rail.velocity"]
    seen = simulation.run(0.4, step=1e-3, record=names)
    length, rate, activation = exact(0.4, 0.7)
    assert seen["muscle.biceps.length"][-1] == pytest.approx(length, abs=1e-9)
    assert seen["joint.rail.velocity"][-1] == pytest.approx(rate, abs=1e-9)
    assert seen["muscle.biceps.activation"][-1] == pytest.approx(activation, abs=1e-9)
    tension = K * (length - REST) + C * rate + F * activation
    assert simulation.outputs()["pull"] == pytest.approx(tension, abs=1e-7)
    power = seen["power_supplied"] - seen["power_dissipated"]
    work = float(((power[1:] + power[:-1]) / 2 * np.diff(seen.time)).sum())
    assert simulation.outputs()["energy"] - before == pytest.approx(work, abs=1e-4)
    assert abs(work) > 0.1


def test_its_limit_is_the_tables() -> None:
    simulation = Simulation(read(SLIDE), compile=False)
    with pytest.warns(UserWarning, match="'biceps' was commanded 3 1 and gave no more than its limit, 1"):
        simulation.run(0.1, inputs={"biceps": 3.0})
    assert simulation.outputs()["muscle.biceps.activation"] == pytest.approx(exact(0.1, 1.0)[2], abs=1e-9)


def test_it_holds_a_pose() -> None:
    simulation = Simulation(read(SLIDE.replace("rest: 40 cm", "rest: 60 cm")), compile=False)
    found = hold(simulation)
    assert simulation.u == pytest.approx([K * 0.1 / F]) and found.verdict == "stable"
    assert simulation.outputs()["muscle.biceps.activation"] == pytest.approx(K * 0.1 / F)


def test_its_code_is_kept_in_no_cache() -> None:
    """Who changes the file of a kind that is not ours must not meet code that was traced before."""
    slide = read(SLIDE)
    assert identity(slide) == "" and identity(replace(slide, more={}, parameters={}, outputs={})) != ""


def test_its_linear_model_is_exact() -> None:
    model = Simulation(read(SLIDE), compile=False).linearize(outputs=["muscle.biceps.tension"])
    A = np.array([[0, 1, 0], [-K / M, -(C + RAIL) / M, -F / M], [0, 0, -1 / T]])
    np.testing.assert_allclose(model.A, A, atol=1e-12)
    np.testing.assert_allclose(model.C, [[K, C, F]], atol=1e-12)
    assert model.B[:2].tolist() == [[0.0], [0.0]] and list(model.inputs) == ["biceps"]


@pytest.mark.compiler
@pytest.mark.parametrize("fmi", [2, 3])
def test_it_is_in_an_fmu(fmi: int, file: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    path = str(file.with_suffix(".fmu"))
    export(read(SLIDE), path, fmi=fmi, optimize=0, picture=False)
    assert validate_fmu(path) == []
    for kind in ("CoSimulation", "ModelExchange"):
        found = fmpy.simulate_fmu(
            path,
            fmi_type=kind,
            stop_time=0.3,
            output_interval=1e-3,
            start_values={"muscle.biceps.command": 0.6, "parameter.lag": 0.08},
            output=SHOWN,
            **({"solver": "CVode", "relative_tolerance": 1e-10} if kind == "ModelExchange" else {}),
        )
        length, rate, activation = exact(0.3, 0.6, 0.08)
        assert found[SHOWN[1]][-1] == pytest.approx(length, abs=1e-8)
        assert found[SHOWN[2]][-1] == pytest.approx(activation, abs=1e-8)
        tension = K * (length - REST) + C * rate + F * activation
        assert found[SHOWN[0]][-1] == pytest.approx(tension, abs=1e-6)


def test_its_state_is_kept_and_carried_by_many() -> None:
    simulation = Simulation(read(SLIDE), compile=False)
    simulation.set_inputs({"biceps": 0.7})
    simulation.run(0.1, step=1e-3)
    kept = simulation.state
    assert simulation.tree.z.keys() == {"muscle.biceps.activation"}
    assert kept.z == pytest.approx([exact(0.1, 0.7)[2]], abs=1e-9)
    found = rollout(simulation.engine, [kept, kept], 100, inputs=kept.u, workers=1)
    simulation.run(0.1, step=1e-3)
    assert np.abs(found.z - exact(0.2, 0.7)[2]).max() < 1e-9 and found.z[0] == found.z[1] == simulation.z
    simulation.state = kept
    simulation.run(0.1, step=1e-3)
    assert found.z[0] == simulation.z


def test_its_numbers_have_sensitivities() -> None:
    simulation = Simulation(read(SLIDE), compile=False)
    simulation.set_inputs({"biceps": 0.6})
    found = motion_sensitivities(simulation, 0.3, "muscle.biceps.length", "lag")
    slope = (exact(0.3, 0.6, T + 1e-4)[0] - exact(0.3, 0.6, T - 1e-4)[0]) / 2e-4
    assert np.ravel(found.matrix[-1]) == pytest.approx([slope], rel=1e-4)


@pytest.mark.compiler
def test_a_native_loop_runs_it(tmp_path: Path) -> None:
    table = tmp_path / "run.npy"
    build_realtime(read(SLIDE), tmp_path, outputs=SHOWN, library=False, optimize=0)
    options = "--mode", "lock_step", "--udp", "127.0.0.1:0", "--record", str(table)
    with running(tmp_path / "slide", *options) as loop, Device(loop.port(), 1) as device:
        for _ in range(300):
            device.step([0.6])
        loop.stop()
    length, rate, activation = exact(0.3, 0.6)
    last = np.load(table)[-1]
    assert last["muscle.biceps.length"] == pytest.approx(length, abs=1e-9)
    assert last["muscle.biceps.activation"] == pytest.approx(activation, abs=1e-9)
    assert last["muscle.biceps.tension"] == pytest.approx(
        K * (length - REST) + C * rate + F * activation, abs=1e-7
    )


def test_it_can_be_swept(file: Path) -> None:
    pytest.importorskip("pyarrow")
    study = sweep(str(file), ["muscle.biceps.lag=0.05,0.08", "input.biceps=0.3,0.6"], 0.3, record=SHOWN[:2])
    run_sweep(study, file.parent / "study", workers=2)
    found = read_results(file.parent / "study")
    assert len(found["run"]) == 4
    for k in range(4):
        length = exact(0.3, found["input.biceps"][k], found["muscle.biceps.lag"][k])[0]
        assert found["final.muscle.biceps.length"][k] == pytest.approx(length, abs=1e-9)


def test_it_is_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(file), "--outputs"]) == 0
    page = capsys.readouterr().out
    assert "muscle.biceps.tension" in page and "with what biceps pulls" in page
    assert "muscle.biceps.activation" in page and "input.biceps" in page


def test_checks_that_know_it_not_say_so(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(file), "--time", "0.2"]) == 0
    assert "muscles are known to the engine only" in capsys.readouterr().out
    assert "left out: muscles biceps" in unsaid(read(SLIDE), ())


def test_the_node_takes_its_input_and_tells_its_outputs(file: Path) -> None:
    ros_client = pytest.importorskip("ros_client", reason="no rclpy")
    from std_msgs.msg import Float64MultiArray, String

    commands = Commands(read(SLIDE), 1e-3, 0.2)
    commands.accept(commands.from_names(["biceps"], [1.5], []) or commands.latest)
    assert commands.saturated == 1
    domain = ros_client.new_domain()
    words = [
        sys.executable,
        str(Path(muscle.__file__)),
        "node",
        str(file),
        "--mode",
        "lock_step",
        "--rate",
        "1000",
    ]
    words += ["--ros-args", "-p", "outputs:=" + " ".join(SHOWN[:3])]
    with ros_client.RosProcess(words, domain) as process, ros_client.Client(domain) as client:
        client.ready(process)
        heard = client.collect(Float64MultiArray, "outputs")
        names = json.loads(client.latched(String, "output_names").data)
        assert [entry["name"] for entry in names] == SHOWN[:3]
        twin = Simulation(read(SLIDE))
        for step in range(1, 21):
            client.commands.publish(Float64MultiArray(data=[0.6]))
            client.until(lambda step=step: len(heard) >= step, f"outputs {step}")
            twin.set_inputs([0.6])
            twin.step(1e-3)
        wanted = [twin.outputs()[name] for name in SHOWN[:3]]
        assert list(heard[-1].data) == pytest.approx(wanted, abs=1e-12)
        assert process.stop() == 0, process.output
