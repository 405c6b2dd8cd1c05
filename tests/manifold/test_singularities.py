"""Through singularities and redundancy with the default: branches, energy, closed loops."""

from __future__ import annotations

import gc
import re
import resource
from dataclasses import replace
from math import pi
from pathlib import Path

import mechanisms
import numpy as np
import pytest
from bulk import bulk
from cutjoint import Simulation
from cutjoint.model.compile.kernel import kernel
from cutjoint.model.equations.terms import equations
from cutjoint.model.equations.traced import dynamics
from cutjoint.model.manifold import step, step_error
from cutjoint.papers import spencer_fivebar


def wrapped(angle: np.ndarray) -> np.ndarray:
    return (angle + pi) % (2 * pi) - pi


@pytest.mark.parametrize("cut", ["right", "apex"])
def test_five_bar_crosses_its_singularity(cut: str) -> None:
    """Paper 004, example 2: mirror-symmetric up to the third crossing, then no crash and no jump."""
    s = Simulation(mechanisms.five_bar(cut=cut))
    record = ["joint.left.position", "joint.right.position", "energy", "loop.residual"]
    t = s.run(10.0, 1e-3, record=record)
    early = t.time <= 3.85
    asymmetry = wrapped(t["joint.left.position"] + t["joint.right.position"])
    assert np.abs(asymmetry[early]).max() < 1e-4
    drift = np.abs(t["energy"] - t["energy"][0])
    assert drift[early].max() < 1e-5
    assert drift.max() < 1e-2
    assert t["loop.residual"].max() < 1e-10


def test_crossings_at_the_right_times() -> None:
    """Paper 004, example 2: singular near 0.6508, 1.8538 and 3.9098 s."""
    run = spencer_fivebar.followed_motion(Simulation("fivebar"), 4.0, lambda _: None)
    assert np.abs(np.array(spencer_fivebar.crossings(run)) - (0.6508, 1.8538, 3.9098)).max() < 5e-4


@pytest.mark.parametrize("push", [1e-7, 1e-4, 1e-2])
def test_near_misses_keep_the_energy(push: float) -> None:
    """The nearer the miss, the sharper the turn: microseconds within a step of a millisecond."""
    s = pushed(None, push)
    t = s.run(5.0, 1e-3, record=["energy", "loop.residual"])
    assert np.abs(t["energy"] - t["energy"][0]).max() < 5e-3
    assert t["loop.residual"].max() < 1e-10


def pushed(compile: bool | None, push: float) -> Simulation:
    s = Simulation(mechanisms.five_bar(), compile=compile)
    start, v = s.state, s.state.v
    v[0] += push
    s.state = replace(start, time=0.0, v=s.engine.kernels.project_velocity(start.q, v, s.s, s.p), work=0.0)
    return s


@pytest.mark.compiler
def test_sub_steps_are_the_same_in_the_virtual_machine() -> None:
    """Both back ends take the same sub-steps, 0.65 s into a run that needs them."""
    a, b = pushed(None, 1e-2), pushed(False, 1e-2)
    assert (
        a.engine.kernel(*a.stepping.traced()).compiled and not b.engine.kernel(*b.stepping.traced()).compiled
    )
    single = kernel(step.single(a.equations))
    needed = 0
    for _ in range(700):
        needed += single(a.q, a.v, a.z, 0.0, a.u, a.p, 1e-3)[4][0] > 1
        a.step(1e-3)
        b.step(1e-3)
    assert needed > 0
    assert np.abs(a.q - b.q).max() < 1e-10 and np.abs(a.v - b.v).max() < 1e-9


def test_single_steps_lose_what_sub_steps_keep() -> None:
    """What the sub-steps are for: without them the same run loses millijoules to joules, by round-off."""
    s = Simulation(mechanisms.five_bar(cut="apex"), stepper="single")
    t = s.run(10.0, 1e-3, record=["energy"])
    assert np.abs(t["energy"] - t["energy"][0]).max() > 1e-2


def parallel_run(loops: int, duration: float) -> tuple[float, float]:
    """Largest angle between rods, largest energy drift."""
    s = Simulation(mechanisms.four_bars(loops))
    rods = [s.tree.q[f"base{k}"].start for k in range(loops + 1)]
    parts = step_error.energy(s.equations)  # all outputs of 40 loops would take long to compile

    def energy() -> float:
        return float(sum(float(x) for x in parts(s.q, s.v, s.z, s.p)))

    start = energy()
    apart = drift = 0.0
    for k in range(round(duration / 1e-3)):
        s.step(1e-3)
        apart = max(apart, float(np.ptp(s.q[rods])))
        if k % 20 == 19:
            drift = max(drift, abs(energy() - start))
    assert abs(s.q[rods[0]] - pi / 2) > 4 * 2 * pi  # more than four turns: eight line-ups
    return apart, drift


@pytest.mark.parametrize("loops", bulk([1, 2, 10, 40], 3))
def test_rows_of_four_bars_stay_on_their_branch(loops: int) -> None:
    apart, drift = parallel_run(loops, 10.0)
    assert apart < 1e-6
    assert drift < (1e-7 if loops <= 10 else 1e-4)


def test_operations_grow_with_the_loops_and_no_faster() -> None:
    ten, forty = (dynamics(equations(mechanisms.four_bars(n))).n_instructions() for n in (10, 40))
    assert forty < 4.2 * ten


def test_bricard_moves_with_one_redundant_row() -> None:
    s = Simulation(mechanisms.bricard())
    report = s.topology()
    assert report.mobility == 1
    assert len(report.redundant) == 1
    t = s.run(10.0, 1e-3, record=["energy", "loop.residual", "joint.hinge1.position"])
    assert np.ptp(t["joint.hinge1.position"]) > 0.5
    assert np.abs(t["energy"] - t["energy"][0]).max() < 1e-4
    assert t["loop.residual"].max() < 1e-10


def test_the_page_on_singularities_runs() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "singularities.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(blocks) == 2
    for code in blocks:
        exec(compile(code, page.name, "exec"), {})


@pytest.mark.parametrize("seconds", bulk([60, 600], 1))
def test_soak(seconds: int) -> None:
    """Minutes of the platform under random torques at 1 kHz: finite, closed, no growth of memory."""
    s = Simulation("stewart")
    random = np.random.default_rng(4)
    gap = 0.0
    before = 0
    for second in range(seconds):
        for _ in range(10):
            s.set_inputs(random.uniform(-30, 30, 3))
            for _ in range(100):
                s.step(1e-3)
        gap = max(gap, float(np.abs(s.closure()[0]).max()))
        assert np.isfinite(s.q).all() and np.isfinite(s.v).all()
        if second == seconds // 10:
            gc.collect()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert gap < 1e-9
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # kilobytes
