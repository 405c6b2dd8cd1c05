"""Jacobians, stiffness, transmissions and forces of closed chains, against differences and virtual power."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from bulk import bulk
from chain_walks import hand, walk
from cutjoint import Chain, Engine, Simulation, SimulationError, Target

DETERMINED = (
    "hexapod",
    "delta",
    "stewart",
    "parallel_robot",
    "loader",
    "fourbar",
    "slider_crank",
    "servo_stewart",
)


@cache
def chain_of(name: str) -> Chain:
    return Chain(Engine(name, compile=False))


def moved(chain: Chain, seed: int, steps: int = 6) -> object:
    return walk(chain, chain.released(None), np.random.default_rng(seed), steps)


@pytest.mark.parametrize("name", bulk(DETERMINED, ("hexapod", "loader")))
def test_a_jacobian_and_its_rate_are_those_of_differences(name: str) -> None:
    chain = chain_of(name)
    state, frame = moved(chain, 1), hand(chain)
    w = np.random.default_rng(2).normal(size=len(chain.actuators))
    names = [x.name for x in chain.drive_items()]
    rates = dict(zip(names, w, strict=True))
    at = dict(zip(names, chain.values(chain.drive_items(), state)[0], strict=True))
    found = chain.complete(at, rates, start=state)
    J = chain.jacobian(frame, at=found.state)
    seen = chain.pose(frame, found.state)
    assert J.matrix @ w == pytest.approx([*seen.velocity, *seen.angular_velocity], abs=1e-10)
    h, sides = 1e-4, []
    for k in (-2, -1, 1, 2):
        there = {x: at[x] + k * h * rates[x] for x in at}
        sides.append(chain.jacobian(frame, at=chain.complete(there, start=found.state).state).matrix)
    rate = (sides[0] - 8 * sides[1] + 8 * sides[2] - sides[3]) / (12 * h)
    assert np.abs(rate - J.rate).max() < 1e-7 * max(1.0, np.abs(J.rate).max())


def test_stiffness_at_a_frame_is_the_inverse_of_its_compliance() -> None:
    J = chain_of("hexapod").jacobian("platform")
    k = np.array([1e6, 2e6, 1e6, 3e6, 1e6, 1e6])
    K, F = J.stiffness(k), np.array([10.0, -5.0, 100.0, 1.0, 2.0, 3.0])
    x = np.linalg.solve(K, F)
    legs = np.linalg.solve(J.matrix, x)
    assert k * legs == pytest.approx(J.matrix.T @ F, rel=1e-9)
    with pytest.raises(SimulationError, match="ask for its compliance"):
        chain_of("delta").jacobian("platform").stiffness((1.0, 1.0, 1.0))
    with pytest.raises(SimulationError, match="one positive number for each of"):
        J.stiffness((1.0,))


@pytest.mark.parametrize("name", bulk(DETERMINED[:4], ("hexapod", "stewart")))
def test_a_wrench_is_held_by_the_jacobians_transpose(name: str) -> None:
    """Efforts against a wrench at rest, by statics of all joints, are −JᵀF beside what gravity takes."""
    chain = chain_of(name)
    state, frame = chain.as_described(moved(chain, 3), chain.start), hand(chain)
    seen = chain.pose(frame, state)
    F = np.array([1.0, 2.0, -30.0, 0.4, 0.5, 0.6])
    J = chain.jacobian(frame, at=state)
    free = np.linalg.svd(J.matrix[:3])[1].min() > 1e-3
    rows = ("x", "y", "z") if free else ("z",)
    hold = (
        {}
        if free and len(chain.actuators) == 3
        else dict(
            zip(chain.actuators, chain.values(chain.drive_items(), chain.released(state))[0], strict=True)
        )
    )
    if not hold:
        target = Target(frame, seen.position, rows=rows)
        with_it = chain.inverse_dynamics(target, wrench=F, start=state)
        without = chain.inverse_dynamics(target, start=state)
    else:
        pose = Target(frame, seen.position, seen.orientation)
        with_it = chain.inverse_dynamics(pose, wrench=F, start=state)
        without = chain.inverse_dynamics(pose, start=state)
    difference = np.array([with_it[x] - without[x] for x in chain.actuators])
    assert difference == pytest.approx(J.efforts(F), abs=1e-8)


def test_forces_for_a_motion_give_that_motion() -> None:
    chain = chain_of("hexapod")
    home = chain.pose("platform").position
    target = Target(
        "platform",
        home + np.array([0.01, 0.02, 0.03]),
        (1, 0.02, 0, 0),
        velocity=(0.1, 0, 0.2),
        acceleration=(0, 1, 2),
        angular_velocity=(0, 0.3, 0),
        angular_acceleration=(1, 0, 0),
    )
    motion, forces = chain.inverse(target), chain.inverse_dynamics(target)
    simulation = Simulation(chain.engine)
    simulation.state = motion.state
    simulation.set_inputs(forces)
    y = simulation.outputs()
    assert y["body.platform.acceleration"] == pytest.approx([0, 1, 2], abs=1e-8)
    assert y["body.platform.angular_acceleration"] == pytest.approx([1, 0, 0], abs=1e-8)


SIX = tuple(f"platform.{row}" for row in ("x", "y", "z", "rx", "ry", "rz"))
SIDES = {
    "hexapod": SIX,
    "delta": SIX[:3],
    "parallel_robot": ("forearm.x", "forearm.z"),
    "fourbar": ("ground_pin",),
    "loader": ("link.x", "link.z"),
    "ankle": ("ankle[1]", "ankle[2]"),
}


def power_is_kept(name: str, count: int) -> None:
    chain = chain_of(name)
    transmission = chain.transmission(SIDES[name])
    random = np.random.default_rng(7)
    start = chain.released(None)
    for _ in range(count):
        state = walk(chain, start, random, int(random.integers(1, 8)))
        names = transmission.joints
        at = dict(zip(names, chain.values(transmission._joints, state)[0], strict=True))
        speeds, efforts = (dict(zip(names, random.normal(size=len(names)), strict=True)) for _ in range(2))
        other = transmission.to_actuators(at, speeds, efforts, near=state)
        powers = [sum(s[x] * f[x] for x in s) for s, f in ((speeds, efforts), (other.speeds, other.efforts))]
        scale = sum(abs(other.speeds[x] * other.efforts[x]) for x in other.speeds) + 1.0
        assert abs(powers[0] - powers[1]) <= 1e-12 * scale
        back = transmission.to_joints(other.positions, other.speeds, other.efforts, near=other.state)
        assert back.positions == pytest.approx(at, abs=1e-9)
        assert back.speeds == pytest.approx(speeds, abs=1e-8)
        assert back.efforts == pytest.approx(efforts, abs=1e-8)


@pytest.mark.parametrize("name", bulk(sorted(SIDES), ("ankle", "delta", "fourbar")))
def test_power_is_the_same_on_both_sides(name: str) -> None:
    power_is_kept(name, 4)


@pytest.mark.study
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", sorted(SIDES))
def test_power_is_the_same_at_many_poses(name: str) -> None:
    power_is_kept(name, 2000)


def test_virtual_joints_feel_the_inertia_of_all() -> None:
    """Kinetic energy by the virtual joints is that of the whole."""
    chain = chain_of("hexapod")
    transmission = chain.transmission(SIX)
    state = moved(chain, 8, 3)
    w = np.random.default_rng(9).normal(size=6)
    at = dict(zip(SIX, chain.values(transmission._joints, state)[0], strict=True))
    there = transmission.to_actuators(at, dict(zip(SIX, w, strict=True)), near=state).state
    simulation = Simulation(chain.engine)
    simulation.state = replace(there, u=simulation.u * 0)
    assert 0.5 * w @ transmission.inertia(there) @ w == pytest.approx(
        simulation.outputs()["energy_kinetic"], rel=1e-9
    )


def test_sides_that_do_not_determine_the_motion_are_refused() -> None:
    chain = chain_of("hexapod")
    with pytest.raises(SimulationError, match="does not determine its pose"):
        chain.transmission(SIX[:5])
    with pytest.raises(SimulationError, match="they follow from each other; name 6 of them"):
        chain.transmission([*SIX, "leg1"])
    with pytest.raises(SimulationError, match="there is no 'leg9' on this side"):
        chain.transmission(SIX).to_joints({"leg9": 0.0})
    with pytest.raises(SimulationError, match="the position of 'leg1' is missing"):
        chain.transmission(SIX).to_joints({})
