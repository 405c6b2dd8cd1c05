"""Many mechanisms at once: lanes compute what one does, and no run knows of its neighbours."""

from __future__ import annotations

import re
import signal
import threading
import warnings
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
import pytest
from cutjoint import Simulation, SimulationError
from cutjoint.model.batch.batch_arrays import DONE, INFINITE, NOT_STARTED
from cutjoint.model.batch.kernels import BatchKernel
from cutjoint.model.batch.rollout import Feedback, rollout
from cutjoint.model.compile import kernel
from cutjoint.model.compile.c_pieces import files_of
from cutjoint.model.compile.kernel import find_compiler
from cutjoint.model.compile.lanes import NotInLanes, in_lanes
from cutjoint.model.engine import Engine
from cutjoint.model.manifold.step import single

native = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def driven(name: str, **options: Any) -> tuple[Simulation, np.ndarray]:
    """A mechanism, and some inputs for each of a few runs."""
    simulation = Simulation(name, **options)
    rng = np.random.default_rng(3)
    return simulation, 5 + rng.normal(size=(11, len(simulation.inputs)))


def every_operation(_: Any) -> ca.Function:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    results = [x + y, x - y, x * y, x / y, -x, x**2, 2 * x, 1 / x, ca.sqrt(ca.fabs(x)), ca.sin(x), ca.cos(x)]
    results += [
        ca.sin(x + 1) * ca.cos(x + 1),
        ca.tan(x),
        ca.atan2(x, y),
        ca.tanh(x),
        ca.exp(y),
        ca.log(ca.fabs(x)),
    ]
    results += [
        ca.asin(ca.sin(y)),
        ca.acos(ca.sin(y)),
        ca.atan(x),
        ca.sinh(y),
        ca.cosh(y),
        ca.floor(x),
        ca.ceil(x),
    ]
    results += [
        x < y,
        x <= y,
        ca.eq(x, y),
        ca.ne(x, y),
        ca.logic_and(x, y),
        ca.logic_or(x, y),
        ca.logic_not(x),
    ]
    results += [ca.if_else(x < y, x, y), ca.fmin(x, y), ca.fmax(x, y), ca.sign(x), ca.fabs(x), ca.fmod(x, y)]
    results += [ca.copysign(x, y), ca.fabs(x) ** y, ca.erf(y), ca.asinh(x), ca.log1p(ca.fabs(x)), ca.expm1(y)]
    return ca.Function("every", [x, y], [ca.vertcat(*results)], ["x", "y"], ["z"])


@native
def test_every_operation_over_lanes() -> None:
    engine = Engine("double_pendulum")
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=400) * np.repeat([1e-3, 1, 30, 1e6], 100), [0.0, -0.0, 1.0, 2e7]])[
        :, None
    ]
    y = np.concatenate([rng.normal(size=400), [0.0, 1.0, 1.0, 0.5]])[:, None]
    many = BatchKernel(engine, "every operation", every_operation)
    assert many.lanes > 1
    one = every_operation(None)
    found = many(x, y)
    wanted = np.array([np.array(one(a, b)).ravel() for a, b in zip(x[:, 0], y[:, 0], strict=True)])
    size = np.maximum(np.abs(wanted), 1e-3)
    with np.errstate(invalid="ignore"):
        near = np.abs(found - wanted) <= 4e-15 * size
    assert (near | (found == wanted) | (np.isnan(found) & np.isnan(wanted))).all()


@native
@pytest.mark.parametrize("name", ["fourbar", "mcpherson", "rolling_disc"])
def test_lanes_compute_what_one_does(name: str) -> None:
    simulation, inputs = driven(name)
    places = []
    for u in inputs:
        simulation.reset()
        simulation.set_inputs(u)
        for _ in range(20):
            simulation.step(1e-3)
        places.append(simulation.state)
    q, v, z, u, p = (np.array(x) for x in zip(*(state.at for state in places), strict=True))
    many = BatchKernel(simulation.engine, "plain step", single)
    one = simulation.engine.kernel("plain step", single)
    found = many(q, v, z, np.zeros((len(q), 1)), u, p, [1e-3])
    for k in range(len(q)):
        for a, b in zip(found[:4], one(q[k], v[k], z[k], 0.0, u[k], p[k], 1e-3)[:4], strict=True):
            assert np.abs(a[k] - b).max(initial=0.0) < 1e-13 * max(1.0, np.abs(b).max(initial=0.0))


@native
def test_kernels_over_lanes_are_compiled_however_large(monkeypatch, tmp_path) -> None:
    """Pieces that are shared out among files know nothing of lanes: these stay in one."""
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    monkeypatch.setattr(kernel, "files_of", partial(files_of, size=20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that the compiler failed
        simulation = Simulation("stewart", compile=True)
        q, v = np.tile(simulation.q, (8, 1)), np.tile(simulation.v, (8, 1))
        assert (rollout(simulation.engine, (q, v), 3, record=["energy"]).ends == DONE).all()


def test_what_branches_runs_one_by_one() -> None:
    simulation, _ = driven("fourbar")
    step = simulation.stepping.traced()
    with pytest.raises(NotInLanes):
        in_lanes(simulation.engine.traced(*step))
    many = BatchKernel(simulation.engine, *step)
    assert many.lanes == 1
    s = simulation.state
    found = many(np.tile(s.q, (3, 1)), s.v, s.z, [0.0], s.u, s.p, [1e-3])
    simulation.step(1e-3)
    assert (found[0] == simulation.q).all() and (found[1] == simulation.v).all()


@pytest.mark.parametrize("compile", [None, False])
def test_runs_are_those_of_simulations(compile: bool | None) -> None:
    simulation, inputs = driven("fourbar", compile=compile)
    start, record = simulation.state, ["energy", "joint.crank.position", "loop.residual"]
    record = [name for name in record if name in simulation.variables().outputs.named]
    found = rollout(simulation.engine, start, 60, inputs=inputs, record=record, every=20)
    exact = rollout(simulation.engine, start, 60, inputs=inputs, record=record, every=20, lanes=False)
    assert (found.ends == DONE).all() and (found.steps == 60).all()
    for k, u in enumerate(inputs[:3]):
        simulation.state = start
        simulation.set_inputs(u)
        rows = [[simulation.outputs()[name] for name in record]]
        for n in range(60):
            simulation.step(1e-3)
            if (n + 1) % 20 == 0:
                rows.append([simulation.outputs()[name] for name in record])
        assert (exact.q[k] == simulation.q).all() and (exact.v[k] == simulation.v).all()
        assert exact.work[k] == simulation.work
        assert np.abs(found.q[k] - simulation.q).max() < 1e-12
        assert np.abs(found.series[k] - rows).max() < 1e-10
        assert np.abs(found.last[k] - rows[-1]).max() < 1e-10
        assert np.abs(found.least[k] - np.min(rows, axis=0)).max() < 1e-10
        assert np.abs(found.most[k] - np.max(rows, axis=0)).max() < 1e-10


@native
def test_no_run_knows_of_its_neighbours() -> None:
    """Alone, in another order, beside one whose steps are refined, on more threads: the same bits."""
    simulation = Simulation("fivebar")
    engine, start = simulation.engine, simulation.state
    rng = np.random.default_rng(5)
    q, wanted = np.tile(start.q, (13, 1)), rng.normal(size=(13, len(start.v)))
    v = np.array([engine.kernels.project_velocity(start.q, x, simulation.s, start.p) for x in wanted])
    v[3] = 0.0  # and one from rest

    def run(which: Any, **how: Any) -> Any:
        return rollout(engine, (q[which], v[which]), 300, 8e-3, record=["energy"], **how)

    all_of_them = run(np.arange(13), workers=1)
    order = rng.permutation(13)
    for which, found in (([4], run([4])), (order, run(order, workers=3)), ([0, 5, 12], run([0, 5, 12]))):
        for field in ("q", "v", "work", "series", "verdicts", "steps", "ends"):
            assert np.array_equal(getattr(found, field), getattr(all_of_them, field)[which], equal_nan=True)
    refined = all_of_them.verdict("refined")
    assert refined.any() and len(set(refined)) > 1 and (refined < 300).all()


def test_a_run_that_becomes_infinite_harms_no_other() -> None:
    simulation, inputs = driven("double_pendulum")
    q, v = np.tile(simulation.q, (11, 1)), np.tile(simulation.v, (11, 1))
    v[:, 0] = np.linspace(0.1, 1, 11)
    calm = rollout(simulation.engine, (q, v), 30, inputs=inputs, record=["energy"])
    v[4, 0] = 1e200
    wild = rollout(simulation.engine, (q, v), 30, inputs=inputs, record=["energy"])
    others = np.arange(11) != 4
    assert wild.ends[4] == INFINITE and wild.steps[4] < 30
    assert np.isnan(wild.series[4, -1]).all() and np.isfinite(wild.q[4]).all()
    assert np.array_equal(wild.q[others], calm.q[others])
    assert np.array_equal(wild.series[others], calm.series[others])
    unborn = rollout(simulation.engine, (q, v), 30, ends=np.where(others, 0, NOT_STARTED))
    assert unborn.ends[4] == NOT_STARTED and unborn.steps[4] == 0


@pytest.mark.parametrize("compile", [None, False])
def test_inputs_over_time_and_feedback(compile: bool | None) -> None:
    simulation, _ = driven("parallel_robot", compile=compile)
    start, nx = simulation.state, simulation.tree.nq + simulation.tree.nv
    rng = np.random.default_rng(1)
    steps, n, nu = 12, 3, len(simulation.inputs)
    u, K = rng.normal(size=(n, steps, nu)), rng.normal(size=(n, nu, nx))
    goal = np.concatenate([start.q, start.v]) + 0.01
    found = rollout(simulation.engine, start, steps, inputs=u, feedback=Feedback(K, goal))
    for k in range(n):
        simulation.state = start
        for now in u[k]:
            simulation.set_inputs(now - K[k] @ (np.concatenate([simulation.q, simulation.v]) - goal))
            simulation.step(1e-3)
        assert np.abs(found.q[k] - simulation.q).max() < 1e-13
        assert np.abs(found.v[k] - simulation.v).max() < 1e-11


def test_parameters_differ_from_run_to_run() -> None:
    simulation = Simulation("mcpherson")
    start = simulation.state
    rng = np.random.default_rng(2)
    p = start.p * (1 + 1e-3 * rng.random((10, start.p.size)))
    states = []
    for row in p:
        values = {
            x.name: row[x.slice][0] if x.at.alone else row[x.slice] for x in simulation.equations.parameters
        }
        states.append(Simulation(simulation.engine, parameters=values).state)
    found = rollout(simulation.engine, states, 25)
    for k in (0, 9):
        simulation.put(states[k])
        for _ in range(25):
            simulation.step(1e-3)
        assert np.abs(found.q[k] - simulation.q).max() < 1e-12


def test_ctrl_c_stops_all_threads() -> None:
    simulation, _ = driven("fourbar")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    seen: list[float] = []

    def interrupt(done: float) -> None:
        seen.append(done)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            rollout(
                simulation.engine,
                simulation.state,
                10**9,
                inputs=np.zeros((20, len(simulation.inputs))),
                every=10**9,
                workers=2,
                progress=interrupt,
            )
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(seen) == 3 and all(0 <= x < 1 for x in seen)
    assert not [t for t in threading.enumerate() if t.name.startswith("cutjoint")]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"steps": -1}, "'steps' must be a whole number from 0 on, not -1"),
        ({"every": 0}, "'every' must be a whole number from 1 on, not 0"),
        ({"step": 0.0}, "a step must be positive and finite, not 0.0"),
        ({"inputs": np.zeros((2, 9))}, "inputs of 2 runs have the shape"),
        ({"inputs": [np.nan]}, "the inputs hold NaN or infinity"),
        ({"parameters": np.zeros((2, 9))}, "parameters of 2 runs have the shape"),
        ({"record": ["enrgy"]}, "there is no output 'enrgy'"),
        ({"record": ["singularity.distance"]}, "singularity.distance"),
        ({"workers": 0}, "workers must be a whole number from 1 on, not 0"),
        ({"states": "rest"}, "states are a list of State"),
        ({"feedback": Feedback(np.zeros((1, 2)), np.zeros(2))}, "a gain on q, v and z has the shape"),
        ({"stepper": "euler"}, "there is no stepper 'euler'"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(given: dict[str, Any], sentence: str) -> None:
    simulation, _ = driven("fourbar")
    arguments = {"states": simulation.state, "steps": 3, **given}
    with pytest.raises(SimulationError, match=re.escape(sentence)):
        rollout(simulation.engine, **arguments)
