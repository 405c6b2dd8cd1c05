"""Co-simulation: the stewart platform's FMU and a controller's FMU in the master of Open Simulation Platform.

The mechanism is native code, the controller Python (pythonfmu); libcosim passes angles and speeds
one way and torques the other, every millisecond. Run it with

    pip install '.[fmu]' libcosimpy
    python -m cutjoint.examples.cosimulation cosimulation.png
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from cutjoint import export
from cutjoint.model.show.plot import save_figure

STEP, DURATION = 1e-3, 2.0
MOTORS = (1, 2, 3)


def main(path: str) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        mechanism, controller = build(Path(folder))
        record = run(mechanism, controller)
    plot(record, path)
    late = record[:, 0] > DURATION / 2
    error = np.abs(record[late, 2:5] - record[late, 1:2]).max()
    print(f"wrote {path}; motors follow within {np.degrees(error):.2f} degrees in the second half")
    return record


def build(folder: Path) -> tuple[Path, Path]:
    """Both FMUs."""
    from pythonfmu.builder import FmuBuilder

    mechanism = folder / "stewart.fmu"
    outputs = ["joint.motor*.position", "joint.motor*.velocity", "height"]
    export("stewart", mechanism, step=STEP, outputs=outputs)
    script = folder / "pd_controller.py"  # built from a copy: its folder goes on Python's path
    script.write_text((Path(__file__).parent / "pd_controller.py").read_text("utf-8"), encoding="utf-8")
    controller = FmuBuilder.build_FMU(script, dest=folder)
    return mechanism, Path(controller)


def run(mechanism: Path, controller: Path) -> np.ndarray:
    """Rows of time, reference, three motor angles and the platform's height, by libcosim."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    log_output_level(CosimLogLevel.WARNING)
    execution = CosimExecution.from_step_size(round(1e9 * STEP))  # nanoseconds
    slaves = {
        name: execution.add_local_slave(CosimLocalSlave(fmu_path=str(path), instance_name=name))
        for name, path in (("platform", mechanism), ("controller", controller))
    }
    references: dict[str, dict[str, int]] = {
        name: {v.name.decode(): v.reference for v in execution.slave_variables(index)}
        for name, index in slaves.items()
    }

    def connect(source: str, output: str, target: str, entry: str) -> None:
        done = execution.connect_real_variables(
            slaves[source], references[source][output], slaves[target], references[target][entry]
        )
        if done != 0:
            raise RuntimeError(f"{source}.{output} can't be connected to {target}.{entry}")

    for k in MOTORS:
        connect("platform", f"joint.motor{k}.position", "controller", f"angle{k}")
        connect("platform", f"joint.motor{k}.velocity", "controller", f"speed{k}")
        connect("controller", f"torque{k}", "platform", f"motor.motor{k}.torque")
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer=observer)
    shown = [("controller", "reference")]
    shown += [("platform", f"joint.motor{k}.position") for k in MOTORS] + [("platform", "height")]
    rows = []
    for n in range(round(DURATION / STEP)):
        execution.step()
        values = [observer.last_real_values(slaves[s], [references[s][v]])[0] for s, v in shown]
        rows.append([(n + 1) * STEP, *values])
    return np.array(rows)


def plot(record: np.ndarray, path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, sharex=True)
    for k in MOTORS:
        above.plot(record[:, 0], np.degrees(record[:, 1 + k]), label=f"motor {k}")
    above.plot(record[:, 0], np.degrees(record[:, 1]), "k--", label="reference")
    above.set_ylabel("angle (degrees)")
    above.legend(loc="upper right")
    below.plot(record[:, 0], record[:, 5])
    below.set_ylabel("height of the platform (m)")
    below.set_xlabel("time (s)")
    figure.suptitle("stewart platform (native FMU) driven by a controller (pythonfmu FMU)")
    save_figure(path, figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cosimulation.png")
