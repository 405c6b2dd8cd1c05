"""One mechanism as two FMUs: a wheel loader, and the grab that hangs on its bucket.

The loader tells how its hook moves; the grab follows with a base that moves, and tells what force that takes,
which acts on the hook. Three masters couple them at communication points:

- libcosim passes values on as they are, so each side sees the other as it was a step before;
- our own does the same;
- and it solves for the force that both agree on, by the FMUs' directional derivatives: the hook
  accelerates by ∂a/∂F more, and the grab asks for ∂F/∂a more. Between points both go on by straight lines.

Run it with

    pip install '.[fmu]' libcosimpy
    python -m cutjoint.examples.cut_in_two
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cutjoint import Body, Frame, Joint, Mechanism, NamedFrame, Simulation, export, load

DURATION, INNER = 0.3, 1e-4
HOOK = (3.3, 0.0, 0.6)  # drawn, in the bucket's axes as in the world's
HALF = 0.5**0.5
ACROSS = (HALF, -HALF, 0.0, 0.0)  # turns z onto y: a hinge across the plane of the machine
WAYS = {"surge": 1, "heave": 3}  # of the grab's base, and the components of the hook that they follow
PUSH = 1.2  # the cylinders push that much more than holds the machine still without the grab


def grab(parent: str, at: tuple[float, ...]) -> tuple[Body, Joint]:
    """A grab of 400 kg on a hinge, 0.3 rad off the vertical."""
    body = Body("grab", 400.0, (0.0, 0.0, -0.8), (60.0, 60.0, 30.0, 0.0, 0.0, 0.0))
    hinge = Joint(
        "hinge", "revolute", parent, "grab", Frame(at, ACROSS), Frame(orientation=ACROSS), start=(0.3,)
    )
    return body, hinge


def whole() -> Mechanism:
    machine = load("loader")
    body, hinge = grab("bucket", on_bucket(machine))
    return replace(
        machine,
        bodies=(*machine.bodies, body),
        joints=(*machine.joints, hinge),
        motors=tuple(replace(motor, limit=np.inf) for motor in machine.motors),
    )


def on_bucket(machine: Mechanism) -> tuple[float, ...]:
    """The hook in the bucket's own axes, which are the world's as drawn."""
    R, origin = Simulation(machine, compile=False).body_poses()["bucket"]
    return tuple(float(x) for x in R.T @ (np.array(HOOK) - origin))


def halves() -> tuple[Mechanism, Mechanism]:
    """The machine with a hook that takes a force, and the grab on a base that moves."""
    machine = load("loader")
    opposite = NamedFrame("opposite", "ground", orientation=(0.0, 0.0, 1.0, 0.0))  # what acts reacts
    hook = NamedFrame("hook", "bucket", on_bucket(machine), port="force", axes="opposite")
    motors = tuple(replace(motor, limit=np.inf) for motor in machine.motors)
    body, hinge = grab("ground", (0.0, 0.0, 0.0))
    attachment = Mechanism("attachment", (body,), (hinge,), base=tuple(WAYS))
    return replace(machine, motors=motors, frames=(opposite, hook)), attachment


def forces() -> dict[str, float]:
    s = Simulation("loader", compile=False)
    held = s.inverse_dynamics({"boom": [0.0], "bucket": [0.0]})
    return {name: PUSH * float(u) for name, u in zip(s.inputs, held, strict=True)}


def reference(pushes: dict[str, float], step: float = INNER) -> float:
    """The height of the bucket of the whole mechanism at the end."""
    s = Simulation(whole())
    s.set_inputs(pushes)
    s.run(DURATION, step=step)
    return float(s.outputs()["bucket_height"])


class Part:
    """An FMU in co-simulation, by names."""

    def __init__(self, path: Path, start: dict[str, float]):
        from fmpy import extract, read_model_description
        from fmpy.fmi2 import FMU2Slave

        description = read_model_description(str(path))
        self.vr = {v.name: v.valueReference for v in description.modelVariables}
        name = description.coSimulation.modelIdentifier
        self.fmu: Any = FMU2Slave(
            guid=description.guid, unzipDirectory=extract(str(path)), modelIdentifier=name, instanceName=name
        )
        self.fmu.instantiate()
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.set(start)
        self.fmu.exitInitializationMode()

    def set(self, values: dict[str, float], rates: dict[str, float] | None = None) -> None:
        self.fmu.setReal([self.vr[name] for name in values], [float(x) for x in values.values()])
        for name, rate in (rates or {}).items():
            self.fmu.setRealInputDerivatives([self.vr[name]], [1], [float(rate)])

    def get(self, names: list[str]) -> np.ndarray:
        return np.array(self.fmu.getReal([self.vr[name] for name in names]))

    def slopes(self, outputs: list[str], inputs: list[str]) -> np.ndarray:
        """∂outputs/∂inputs, by directional derivatives."""
        rows = [self.vr[name] for name in outputs]
        columns = [self.fmu.getDirectionalDerivative(rows, [self.vr[name]], [1.0]) for name in inputs]
        return np.array(columns).T


MOTION = ("position", "velocity", "acceleration")
FORCE = [f"frame.hook.force[{k}]" for k in WAYS.values()]
TAKEN = [f"motor.base_{way}.effort" for way in WAYS]


def hook(what: str) -> list[str]:
    return [f"frame.hook.{what}[{k}]" for k in WAYS.values()]


def base(what: str) -> list[str]:
    return [f"motor.base_{way}.{what}" for way in WAYS]


def coupled(machine: Part, attachment: Part, h: float, corrected: bool) -> float:
    """The height of the bucket at the end, after communication every h seconds."""
    force, before, last = machine_force(attachment), None, None
    for n in range(round(DURATION / h)):
        if corrected:
            force, a = agreed(machine, attachment)
            rates = (0 * force, 0 * a) if before is None else ((force - before) / h, (a - last) / h)
            before, last = force, a
        else:
            follow(machine, attachment)
            force, rates = machine_force(attachment), None
        for part, names, values, rate in (
            (machine, FORCE, force, rates and rates[0]),
            (attachment, base("acceleration"), None if rates is None else last, rates and rates[1]),
        ):
            if values is not None:
                told = dict(zip(names, values, strict=True))
                part.set(told, None if rate is None else dict(zip(names, rate, strict=True)))
        for part in (machine, attachment):
            part.fmu.doStep(currentCommunicationPoint=n * h, communicationStepSize=h)
    return float(machine.get(["bucket_height"])[0])


def machine_force(attachment: Part) -> np.ndarray:
    return attachment.get(TAKEN)


def follow(machine: Part, attachment: Part) -> None:
    """The base goes where the hook is."""
    for what in MOTION:
        attachment.set(dict(zip(base(what), machine.get(hook(what)), strict=True)))


def agreed(machine: Part, attachment: Part) -> tuple[np.ndarray, np.ndarray]:
    """Force and acceleration of the hook that both sides have at the same time: one step of Newton's method.

    a(F) of the machine and F(a) of the grab are affine at given places and speeds.
    """
    follow(machine, attachment)
    F, taken = machine.get(FORCE), attachment.get(TAKEN)
    by_force = machine.slopes(hook("acceleration"), FORCE)
    by_acceleration = attachment.slopes(TAKEN, base("acceleration"))
    change = np.linalg.solve(np.eye(len(F)) - by_acceleration @ by_force, taken - F)
    a = machine.get(hook("acceleration")) + by_force @ change
    machine.set(dict(zip(FORCE, F + change, strict=True)))
    attachment.set(dict(zip(base("acceleration"), a, strict=True)))
    return F + change, a


def build(folder: Path, step: float) -> tuple[Path, Path]:
    machine, attachment = halves()
    paths = folder / f"machine{step}.fmu", folder / f"attachment{step}.fmu"
    outputs = [[*(f"frame.hook.{what}" for what in MOTION), "bucket_height"], [*TAKEN, "joint.hinge.*"]]
    for mechanism, path, shown in zip((machine, attachment), paths, outputs, strict=True):
        export(mechanism, path, step=step, outputs=shown, picture=False)
    return paths


def start_of(machine: Path) -> dict[str, float]:
    """Where the hook is when the machine starts."""
    part = Part(machine, {})
    return dict(zip(base("position"), part.get(hook("position")), strict=True))


def by_libcosim(machine: Path, attachment: Path, h: float, pushes: dict[str, float]) -> float:
    """The same by libcosim, which passes values on as they are."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    log_output_level(CosimLogLevel.WARNING)
    execution = CosimExecution.from_step_size(round(1e9 * h))
    parts = [
        execution.add_local_slave(CosimLocalSlave(fmu_path=str(path), instance_name=path.stem.split("0")[0]))
        for path in (machine, attachment)
    ]
    known = [{v.name.decode(): v.reference for v in execution.slave_variables(part)} for part in parts]
    for a, b, outputs, inputs in (
        *((0, 1, hook(what), base(what)) for what in MOTION),
        (1, 0, TAKEN, FORCE),
    ):
        for output, entry in zip(outputs, inputs, strict=True):
            execution.connect_real_variables(parts[a], known[a][output], parts[b], known[b][entry])
    for name, value in pushes.items():
        execution.real_initial_value(parts[0], known[0][f"motor.{name}.force"], value)
    for name, value in start_of(machine).items():
        execution.real_initial_value(parts[1], known[1][name], value)
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)
    execution.step(round(DURATION / h))
    return float(observer.last_real_values(parts[0], [known[0]["bucket_height"]])[0])


def main(steps: tuple[float, ...] = (1e-3, 1e-4)) -> dict[tuple[str, float], float]:
    """Errors of the bucket's height against the whole mechanism, by master and step."""
    pushes = forces()
    exact = reference(pushes)
    start = {f"motor.{name}.force": value for name, value in pushes.items()}
    errors = {}
    with tempfile.TemporaryDirectory() as folder:
        for h in steps:
            machine, attachment = build(Path(folder), min(h, 1e-3))
            at_hook = start_of(machine)
            for name, corrected in (("values passed on", False), ("agreed by derivatives", True)):
                parts = Part(machine, start), Part(attachment, at_hook)
                errors[name, h] = abs(coupled(*parts, h, corrected) - exact)
            with suppress(ImportError):
                errors["libcosim", h] = abs(by_libcosim(machine, attachment, h, pushes) - exact)
    for (name, h), error in errors.items():
        print(f"{name:>22}, every {1e3 * h:g} ms: bucket off by {error:.2e} m")
    return errors


if __name__ == "__main__":
    main()
