"""Every command and public function on mechanisms at the edge: served, or refused in words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from inspect import isfunction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cutjoint
import numpy as np
import pytest
from cutjoint import CutjointError, Simulation
from cutjoint.model.cli.main import commands, main
from cutjoint.model.loading import read
from cutjoint.papers.methods.method_simulation import NAMES as NAMES_OF_METHODS
from degenerate import described

TEXTS = described()
KEPT = ("fixed_none_heavy", "bolted_torque_heavy", "chain_all_velocity_massless", "fourbar_velocity_heavy")
NAMES = [  # all of them take minutes together
    pytest.param(name, marks=() if name in KEPT else pytest.mark.study) for name in TEXTS
]
SERVED, REFUSED = (0,), (2, 3, 4)
COMMANDS = (
    "check",
    "show --parameters --outputs",
    "assemble",
    "simulate --time 0.004 --no-compile",
    "simulate --time 0.004 --method variable --no-compile",
    "simulate --time 0.004 --stepper implicit --no-compile",
    "simulate --time 0.004 --stepper taylor --no-compile",
    "simulate --time 0.004 --formulation svd --no-compile",
    "simulate --time 0.004 --loads --no-compile",
    "statics",
    "linearize",
    "linearize --hold",
    "linearize --settle",
    "verify --time 0.01 --step 5e-3 --no-compile",
    "propagate --set body.one.mass=2 --free q",
    "propagate --stretch one=0.1 --free q,s --inertia density",
    "convert -o out.urdf",
    "convert -o out.xml",
    "convert -o out.sdf",
    "convert -o out.yaml",
    "export -o out.fmu --runtime python",
    "realtime -o loop --no-library",
    "node --urdf",
    "reach --pose one=x:0.01 --nearest",
    "sweep --vary gravity[3]=-9,-8 --time 0.002 -o rows",
    "sweep --vary body.one.mass+=0,1 --time 0.002 -o more",
)
# No mechanism is theirs, they serve until they are stopped, or need a compiler.
OTHERS = {"complete", "completion", "list", "new", "schema", "import", "replay", "bench", "reproduce"}
OTHERS |= {"view", "library"}


def observed(s: Simulation) -> Any:
    from cutjoint import Environment

    env = Environment(s.engine, s.state, ["energy"], lambda y, u: y[:, 0], 2, largest=1.0, step=1e-3, hold=1)
    env.reset(seed=0)
    return env.step(np.zeros(env.action_space.shape))


def exported(s: Simulation) -> Any:
    """With its linear model inside, by the runtime that needs no compiler."""
    with TemporaryDirectory() as folder:
        return cutjoint.export(s.mechanism, f"{folder}/out.fmu", runtime="python", picture=False)


def swept(s: Simulation) -> Any:
    with TemporaryDirectory() as folder:
        planned = cutjoint.sweep(s.mechanism, ["body.one.mass~+uniform(0,1)"], 0.002, runs=2)
        cutjoint.run_sweep(planned, folder)
        return cutjoint.read_results(folder)


def saved(s: Simulation) -> Any:
    with TemporaryDirectory() as folder:
        cutjoint.save(s.mechanism, f"{folder}/out.yaml")
        return cutjoint.load(f"{folder}/out.yaml")


def by_every_method(s: Simulation) -> None:
    """Each of the papers' names by itself."""
    for what, names in NAMES_OF_METHODS.items():
        for name in names:
            how = {"method": "local"} if what == "chart" else {}
            with suppress(CutjointError):
                cutjoint.MethodSimulation(s.engine, **{what: name}).run(0.002, **how)  # type: ignore[arg-type]


FUNCTIONS: dict[str, Callable[[Simulation], Any]] = {
    "run": lambda s: s.run(0.002),
    "run variable": lambda s: s.run(0.002, method="variable"),
    "run local": lambda s: s.run(0.002, method="local"),
    "run under a law": lambda s: s.run(0.002, inputs=dict.fromkeys(s.inputs[:1], "sine(0.1, 2)")),
    "step": lambda s: s.step(1e-3),
    "linearize in tangents": lambda s: s.linearize(states="tangent"),
    "topology": lambda s: s.topology(),
    "inverse dynamics": lambda s: s.inverse_dynamics(),
    "singularity": lambda s: s.singularity_distance(),
    "places": lambda s: (s.body_poses(), s.joint_positions(), s.energy()),
    "assemble": lambda s: s.assemble(),
    "parameters": lambda s: s.set_parameters({}),
    "hold": cutjoint.hold,
    "settle": cutjoint.settle,
    "joint_loads": lambda s: cutjoint.joint_loads(s.run(0.002, record=["reaction.*"])),
    "statics_over": lambda s: cutjoint.statics_over(s, s.mechanism.joints[0].name, [0.0, 0.1]),
    "linearize": lambda s: cutjoint.linearize(s.engine, s.state),
    "discretize": lambda s: cutjoint.discretize(s.engine, s.state, 1e-3),
    "sensitivities": lambda s: cutjoint.sensitivities(s, "energy", "body.one.mass"),
    "motion_sensitivities": lambda s: cutjoint.motion_sensitivities(s, 0.002, "energy", "body.one.mass"),
    "eigenvalue_sensitivities": lambda s: cutjoint.eigenvalue_sensitivities(s, "body.one.mass"),
    "eigenvalues at rest": lambda s: cutjoint.eigenvalue_sensitivities(s, "body.one.mass", follow=True),
    "propagate": lambda s: cutjoint.propagate(s.mechanism, cutjoint.stretch(s.mechanism, "one", 0.1), "q,s"),
    "step_jacobians": lambda s: cutjoint.step_jacobians(s.engine, s.q, s.v, s.u, s.p),
    "rollout": lambda s: cutjoint.rollout(s.engine, s.state, 2, record=["energy"]),
    "sweep": swept,
    "save": saved,
    "export": exported,
    "with_handles": lambda s: Simulation(cutjoint.with_handles(s.mechanism), compile=False),
    "verify": lambda s: cutjoint.verify(s.mechanism, time=0.01, step=5e-3, compile=False),
    "Environment": observed,
    "MethodSimulation": by_every_method,
}
# Of public functions those that take no mechanism, are tried above with another, or need a compiler or files.
ELSEWHERE = {
    *("load", "list_examples", "load_robot", "stretch", "run_sweep", "read_results"),
    *("linear_model", "export_page", "write_ssp", "build_realtime", "build_library"),
}


def test_the_table_knows_every_command_and_function() -> None:
    """A new one is tried on mechanisms at the edge, or stands among those that have none."""
    tried = {command.split()[0] for command in COMMANDS} | OTHERS
    assert tried == set(commands())
    public = {name for name in dir(cutjoint) if isfunction(getattr(cutjoint, name))}
    assert public <= set(FUNCTIONS) | ELSEWHERE


@pytest.mark.parametrize("name", NAMES)
def test_every_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`simulate`, `linearize`, `verify` and `sweep` ended with raw errors of CasADi and NumPy."""
    monkeypatch.setenv("CUTJOINT_COMPILE", "0")
    monkeypatch.chdir(tmp_path)
    Path("it.yaml").write_text(TEXTS[name])
    for command in COMMANDS:
        word, *options = command.split()
        with monkeypatch.context() as patch:
            if word == "realtime":  # zig, taken where there is no compiler, would build a C library first
                patch.delenv("CUTJOINT_COMPILE")
            code = main([word, "it.yaml", *options])
        printed = capsys.readouterr()
        assert code in SERVED + REFUSED, f"{command}: {printed.err}"
        assert " nan" not in printed.out.lower(), f"{command}: {printed.out}"


@pytest.mark.parametrize("name", NAMES)
def test_every_function(name: str) -> None:
    try:
        s = Simulation(read(TEXTS[name]), compile=False)
    except CutjointError:
        return
    begin = s.state
    for what, call in FUNCTIONS.items():
        s.put(begin)
        try:
            call(s)
        except CutjointError:
            continue
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
        assert np.isfinite(np.concatenate([s.q, s.v, s.u])).all(), what
