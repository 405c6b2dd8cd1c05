"""FMUs with driven motions, wrenches and sensors, against the engine in Python."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.fmu.export import export
from cutjoint.model.describe.mechanism import Body, Frame, Joint, Mechanism
from cutjoint.model.describe.motors import Motor
from cutjoint.model.describe.sensors import Sensor
from cutjoint.model.describe.visuals import NamedFrame
from cutjoint.model.laws import sine
from cutjoint.model.loading import load
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu

HALF = 0.5**0.5
ABOUT_Y = Frame(orientation=(HALF, -HALF, 0.0, 0.0))
SHOWN = ["joint.crank.position", "joint.slider.velocity", "motor.crank.effort", "energy"]


def crank(drive: str) -> Mechanism:
    m = load("slider_crank")
    tool = NamedFrame("tool", "rod", (-1.0, 0.1, 0.2), port="force", axes="body")
    motors = (replace(m.motors[0], drive=drive),)
    return replace(m, frames=(tool,), sensors=(Sensor("imu", "imu", frame="tool"),), motors=motors)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ports")


def exported(folder: Path, drive: str, fmi: int) -> str:
    path = folder / f"{drive}{fmi}.fmu"
    if not path.exists():
        outputs = [*SHOWN, "sensor.imu.*", "frame.tool.*"]
        export(crank(drive), path, fmi=fmi, optimize=0, picture=False, outputs=outputs)
    return str(path)


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_crank_at_constant_speed(folder: Path, kind: str) -> None:
    s = Simulation(crank("velocity"), compile=False)
    s.set_inputs({"crank": 2.0, "tool.force": [0.0, 25.0, 0.0]})
    seen = s.run(0.3, record=SHOWN)
    path = exported(folder, "velocity", 2)
    start = {"motor.crank.velocity": 2.0, "frame.tool.force[2]": 25.0}
    more = {"solver": "CVode", "relative_tolerance": 1e-10} if kind == "ModelExchange" else {}
    found = simulate_fmu(
        path, fmi_type=kind, stop_time=0.3, output_interval=1e-3, start_values=start, output=SHOWN, **more
    )
    for name in SHOWN:
        assert found[name][-1] == pytest.approx(seen[name][-1], rel=1e-9, abs=1e-9), name


def test_a_position_over_time_is_followed(folder: Path) -> None:
    """Model exchange knows the motion at every time; co-simulation goes on with its derivatives between."""
    s = Simulation(crank("position"), compile=False)
    law = sine(0.2, 1.0, offset=float(s.u[0]))
    seen = s.run(0.2, inputs={"crank": law}, record=SHOWN)
    path = exported(folder, "position", 3)
    assert validate_fmu(path) == []
    names = ["time", *(f"motor.crank.{what}" for what in ("position", "velocity", "acceleration"))]
    rows = [(t, *np.ravel(law.evaluate(t))) for t in np.linspace(0, 0.2, 201)]
    signals = np.array(rows, dtype=[(name, float) for name in names])
    exact = simulate_fmu(
        path, fmi_type="ModelExchange", stop_time=0.2, output_interval=1e-3, input=signals, output=SHOWN
    )
    for name in SHOWN:
        assert exact[name][-1] == pytest.approx(seen[name][-1], rel=1e-9, abs=1e-9), name
    held = simulate_fmu(
        path, fmi_type="CoSimulation", stop_time=0.2, output_interval=1e-3, input=signals, output=SHOWN
    )
    assert held[SHOWN[0]][-1] == pytest.approx(seen[SHOWN[0]][-1], abs=2e-8)  # h³/6 of the third derivative
    assert held["energy"][-1] == pytest.approx(seen["energy"][-1], abs=1e-2)


def test_both_runtimes_start_in_the_same_motion(folder: Path) -> None:
    """A motion that is set while they are initialized begins there, without an impulse on the rest."""
    arm = Body("arm", 1.0, (0.1, 0.0, 0.0), (0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    joints = (
        Joint("shaft", "revolute", "ground", "arm", ABOUT_Y, ABOUT_Y),
        Joint("pin", "revolute", "arm", "bob", Frame((0.2, 0.0, 0.0), ABOUT_Y.orientation), ABOUT_Y),
    )
    bob = replace(arm, name="bob", com=(0.0, 0.0, -0.3))
    m = Mechanism("turned", (arm, bob), joints, (Motor("shaft", "shaft", drive="position"),))
    shown = ["joint.pin.position", "motor.shaft.effort"]
    ends = []
    for runtime in ("native", "python"):
        path = folder / f"turned_{runtime}.fmu"
        export(m, path, runtime=runtime, outputs=shown, picture=False, optimize=0)
        found = simulate_fmu(
            str(path),
            stop_time=0.05,
            output_interval=1e-3,
            start_values={"motor.shaft.velocity": 2.0},
            output=shown,
        )
        ends.append([found[name][-1] for name in shown])
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)
    assert ends[0][0] < 0.0
