"""Poses that are asked for: met to round-off, on the branch of the start, or refused with what stops them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from bulk import bulk
from chain_walks import hand, independent_rows, target_at, walk
from cutjoint import Chain, Engine, SimulationError, Target, UnknownName, list_examples, load
from cutjoint.model.chain.reach import Watch, follow
from cutjoint.model.chain.rows import FrameRows

MET = 1e-12
EXAMPLES = sorted(list_examples())
FOLDER = Path(os.environ.get("CUTJOINT_ROBOTS") or Path(__file__).parents[3] / "shared" / "robots")
ROBOTS = sorted(
    str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*") if p.suffix in (".urdf", ".xml", ".sdf")
)


@cache
def chain(name: str) -> Chain:
    return Chain(Engine(name, compile=False))


def reach_all(own: Chain, count: int, seed: int) -> None:
    """Poses of random walks are found again: from the start, within limits, as closed as numbers allow."""
    start = own.released(None)
    frame, random = hand(own), np.random.default_rng(seed)
    rows = independent_rows(own, frame, start)
    refused = []
    for _ in range(count if rows else 0):
        there = walk(own, start, random, int(random.integers(1, 20)))
        target = target_at(own, frame, rows, there)
        try:
            found = own.inverse(target)
        except SimulationError as problem:
            refused.append((str(problem), there, target))
            continue
        assert found.residual <= MET
        assert all(min(room) > -1e-9 for room in found.limits_left.values())
        again = own.values((FrameRows(frame, rows),), own.released(found.state))[0]
        wanted = own.values((FrameRows(frame, rows),), there)[0]
        along = [k for k, row in enumerate("xyz") if row in rows]
        assert np.abs(again - wanted)[along].max(initial=0.0) < 1e-11
    for sentence, there, _ in refused:  # only where the way itself is barred, which the sentence says
        assert "singular" in sentence or "limit" in sentence, sentence
        ends = own.values(own.drive_items(), there)[0]
        way = follow(own, start, own.drive_items(), ends, Watch(own.drive_items(), 1e-3, True))
        same = np.abs(own.free.kernels.displacement(way.state.q, there.q)).max(initial=0.0) < 1e-6
        assert way.part < 1.0 or not same, f"reachable, but refused: {sentence}"


@pytest.mark.parametrize("name", bulk(EXAMPLES, ("hexapod", "delta", "loader", "servo_stewart", "bicycle")))
def test_poses_of_an_example_are_found_again(name: str) -> None:
    reach_all(chain(name), 6, 1)


@pytest.mark.study
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_thousand_poses_are_found_again(name: str) -> None:
    reach_all(chain(name), 1000, 2)


@pytest.mark.study
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not ROBOTS, reason="no robots beside the project")
@pytest.mark.parametrize("name", ROBOTS)
def test_poses_of_robots_of_others_are_found_again(name: str) -> None:
    from cutjoint import load_robot

    reach_all(Chain(Engine(load_robot(FOLDER / name).mechanism, compile=False)), 100, 3)


@pytest.mark.parametrize("name", bulk(EXAMPLES, ("stewart", "hexapod", "parallel_robot")))
def test_actuators_say_where_all_joints_are(name: str) -> None:
    own = chain(name)
    start, random = own.released(None), np.random.default_rng(4)
    names = [f"motor.{motor.name}" for motor in own.mechanism.motors]
    names += [x.name for x in own.mechanism.struts if x.actuated]
    if not own.determined(own.drive_items(), start):
        with pytest.raises(SimulationError, match=r"does not determine its pose: [1-9].*left open"):
            own.complete(dict(zip(names, own.values(own.drive_items(), start)[0], strict=True)))
        return
    for _ in range(5):
        there = walk(own, start, random, 5)
        angles = own.values(own.drive_items(), there)[0]
        try:
            found = own.complete(dict(zip(names, angles, strict=True)))
        except SimulationError as problem:  # a walk may pass where actuators have no hold
            assert "on this branch" in str(problem)
            way = follow(own, start, own.drive_items(), angles, Watch(own.drive_items(), 0.0, False))
            assert own.hold(own.drive_items(), way.state) < 1e-3
            continue
        assert found.residual <= MET
        assert np.abs(own.free.kernels.displacement(there.q, found.state.q)).max() < 1e-9


def path(own: Chain, frame: str, rows: tuple[str, ...], t: float) -> Target:
    """A smooth path of a frame about where it starts, with its exact rates."""
    home, s, c = own.pose(frame).position, np.sin(3 * t), np.cos(3 * t)
    way = np.array([0.02, -0.03, -0.04])
    half, turn = 0.05 * s, np.array([0.6, 0.0, 0.8])
    orientation = np.array([np.cos(half), *np.sin(half) * turn]) if set(rows) & {"rx", "ry", "rz"} else None
    return Target(
        frame,
        home + way * s,
        orientation,
        rows,
        velocity=3 * way * c,
        acceleration=-9 * way * s,
        angular_velocity=0.3 * c * turn,
        angular_acceleration=-0.9 * s * turn,
    )


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("hexapod", ("x", "y", "z", "rx", "ry", "rz")),
        ("delta", ("x", "y", "z")),
        ("arm", ("x", "z", "rx", "ry", "rz")),
    ],
)
def test_rates_along_a_path_are_those_of_differences(name: str, rows: tuple[str, ...]) -> None:
    own, frame = chain(name), hand(chain(name))
    if name == "arm":  # what is drawn straight is singular
        own = Chain(Engine("arm", compile=False))
        own.start = walk(own, own.released(None), np.random.default_rng(0), 15)
        rows = ("x", "y", "z")
    h, at = 2e-3, 0.2
    near = own.inverse(path(own, frame, rows, at)).state
    q = [own.inverse(path(own, frame, rows, at + k * h), start=near) for k in (-2, -1, 0, 1, 2)]
    middle = q[2]
    displacement = own.free.kernels.displacement
    d = [displacement(middle.state.q, x.state.q) for x in q]
    v = (d[0] - 8 * d[1] + 8 * d[3] - d[4]) / (12 * h)
    assert np.abs(v - middle.state.v).max() < 1e-8
    if name != "arm":  # what is left free there moves least at each time, which is no path
        speeds = [x.state.v for x in q]
        a = (speeds[0] - 8 * speeds[1] + 8 * speeds[3] - speeds[4]) / (12 * h)
        assert np.abs(a - middle.accelerations).max() < 1e-8


def test_rows_of_own_axes_and_of_a_moving_base_are_met() -> None:
    own = chain("hexapod")
    there = own.pose("upper5", base="lower1").position + np.array([0, 0.01, 0])
    found = own.inverse(Target("upper5", there, base="lower1"))
    assert own.pose("upper5", found.state, "lower1").position == pytest.approx(there, abs=1e-12)
    home = own.pose("platform").position
    tilted = own.inverse(Target("platform", home, (1, 0.1, 0, 0)))
    aside = Target(
        "platform", home, (1, 0.1, 0, 0), rows=("z", "rx", "ry", "rz"), axes="own", velocity=(0, 0, 0.1)
    )
    moved = own.inverse(aside, start=tilted.state)
    e = own.pose("platform", moved.state)
    from cutjoint.model.joints.euler import rotation

    assert e.velocity @ np.array(rotation(e.orientation))[:, 2] == pytest.approx(0.1, abs=1e-12)


def test_what_a_target_leaves_free_stays_as_it_can() -> None:
    own = chain("hexapod")
    home = own.pose("platform")
    lifted = own.pose(
        "platform", own.inverse(Target("platform", home.position + np.array([0, 0, 0.05]), rows=("z",))).state
    )
    assert lifted.position[2] == pytest.approx(home.position[2] + 0.05, abs=1e-12)
    both = own.inverse(Target("platform", home.position, rows=("x", "y", "z")), hold={"leg1": 0.02})
    assert both.actuators["leg1"][0] == pytest.approx(0.02, abs=1e-12)


# -- refusals --------------------------------------------------------------------------------------


def refused(name: str, *targets: Target, **more) -> str:
    own = chain(name)
    before = own.start.q.copy()
    with pytest.raises(SimulationError) as problem:
        own.inverse(*targets, **more)
    assert (own.start.q == before).all()
    return str(problem.value)


def test_a_limit_is_named_with_how_far_it_let_go() -> None:
    home = chain("delta").pose("platform").position
    sentence = refused("delta", Target("platform", home + np.array([0, 0, 0.3])))
    assert "joint 'motor" in sentence and "lower limit, -1.0472" in sentence and "% of the way" in sentence
    low = -np.pi / 3
    near = chain("delta").inverse(Target("platform", home + np.array([0, 0, 0.3])), nearest=True)
    assert {round(x[0], 9) for x in near.actuators.values()} == {round(low, 9)}
    assert near.slack["platform.z"] > 1e-3 and near.residual <= MET


def test_directions_that_loops_forbid_are_named() -> None:
    home = chain("delta").pose("platform").position
    sentence = refused("delta", Target("platform", home, (1, 0.1, 0, 0)))
    assert "do not let platform.rx be chosen so" in sentence and "0.199 rad short" in sentence
    level = chain("delta").inverse(
        Target("platform", home + np.array([0.02, 0, 0]), (1, 0, 0, 0))
    )  # consistent: fine
    assert level.residual <= MET


def test_the_end_of_its_reach_is_told() -> None:
    own = chain("double_pendulum")
    far = own.pose("bar2").position + np.array([0, 0, -5])
    sentence = refused("double_pendulum", Target("bar2", far, rows=("x", "z")))
    assert "can't reach that" in sentence and "singular" in sentence
    nearest = own.inverse(Target("bar2", far, rows=("x", "z")), nearest=True)
    assert nearest.residual <= 1e-9 and abs(nearest.slack["bar2.z"]) > 0.1


def test_actuators_that_would_lose_hold_are_not_driven_through_a_singular_pose() -> None:
    own = chain("parallel_robot")
    assert own.determined(own.drive_items(), own.released(None))
    frame, stopped = hand(own), 0
    for row, way in (("x", 1.0), ("x", -1.0), ("z", 1.0), ("z", -1.0)):
        step = np.array([way * (row == "x"), 0.0, way * (row == "z")])
        home = own.pose(frame).position
        try:
            found = own.inverse(Target(frame, home + step, rows=(row,)), margin=0.05)
        except SimulationError as problem:
            assert any(word in str(problem) for word in ("singular", "limit"))
            stopped += "lose hold" in str(problem)
        else:
            assert found.distance >= 0.05
    assert stopped


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        (
            (Target("platform", (0, 0, float("nan"))),),
            "the position of 'platform' is 3 finite numbers, not all",
        ),
        ((Target("platform", (0, 0)),), "the position of 'platform' is 3 finite numbers"),
        ((Target("platform", orientation=(0, 0, 0, 0)),), "the orientation of 'platform' is zero"),
        ((Target("platfrom", (0, 0, 1)),), "there is no body or frame 'platfrom'; did you mean 'platform'"),
        ((Target("platform", (0, 0, 1), rows=("u",)),), "a target has no row 'u'"),
        ((Target("platform", (0, 0, 1), rows=("rx",)),), "asks for rx but gives no orientation"),
        ((Target("platform", (0, 0, 1), base="ground2"),), "there is no body or frame 'ground2'"),
        ((Target("platform", (0, 0, 1), base="platform"),), "name another base"),
        ((Target("platform", (0, 0, 1), axes="tool"),), "axes of a target are base or own"),
        ((Target("platform"),), "gives neither position nor orientation"),
        ((), "nothing is asked for"),
        (
            (Target("platform", (0, 0, 0.8)), Target("platform", (0, 0, 0.9))),
            "'platform.x' is asked for twice",
        ),
    ],
)
def test_bad_targets_get_a_sentence(targets: tuple[Target, ...], says: str) -> None:
    own = chain("hexapod")
    with pytest.raises((SimulationError, UnknownName)) as problem:
        own.inverse(*targets)
    assert says in str(problem.value)


def test_targets_that_contradict_each_other_are_refused() -> None:
    own = chain("hexapod")
    a, b = (own.pose(name).position for name in ("platform", "upper1"))
    sentence = refused("hexapod", Target("platform", a), Target("upper1", b + np.array([0, 0, 0.3])))
    assert "hexapod' can't reach that" in sentence or "does not go there" in sentence


def test_speeds_that_loops_forbid_are_refused() -> None:
    home = chain("delta").pose("platform").position
    sentence = refused("delta", Target("platform", home, (1, 0, 0, 0), angular_velocity=(0.1, 0, 0)))
    assert "can't have that speed here: platform.rx would be off by" in sentence


# -- measurements ------------------------------------------------------------------------------------


def test_what_is_not_measured_enough_names_the_motions_that_are_left() -> None:
    own = chain("hexapod")
    with pytest.raises(SimulationError) as problem:
        own.complete({f"leg{k}": 0.0 for k in range(1, 6)})
    assert "1 motion left open, of" in str(problem.value)


def test_more_measurements_than_needed_are_weighed_and_loops_stay_closed() -> None:
    own = chain("hexapod")
    there = walk(own, own.released(None), np.random.default_rng(5), 4)
    names = [*(f"leg{k}" for k in range(1, 7)), "foot1[1]", "foot1[2]", "foot4[1]"]
    from cutjoint.model.chain.rows import coordinate_row

    items = tuple(coordinate_row(own.mechanism, name) for name in names)
    true = own.values(items, there)[0]
    exact = own.complete(dict(zip(names, true, strict=True)))
    assert np.abs(own.free.kernels.displacement(there.q, exact.state.q)).max() < 1e-9
    off = dict(zip(names, true + 1e-4 * np.random.default_rng(6).normal(size=len(names)), strict=True))
    for weights in ({}, {"foot1[1]": 100.0}):
        found = own.complete(off, weights=weights)
        state = own.released(found.state)
        assert found.residual <= 1e-11
        r = own.values(items, state)[0] - np.array(list(off.values()))
        w = np.array([weights.get(name, 1.0) for name in names])
        A = own.freedoms(items, state)
        assert np.abs(A.T @ (w * r)).max() < 1e-10  # stationary: no allowed motion makes the sum smaller


def test_a_sensor_that_lies_is_named() -> None:
    own = chain("hexapod")
    names = [*(f"leg{k}" for k in range(1, 7)), "foot1[1]", "foot2[1]", "foot4[1]"]
    from cutjoint.model.chain.rows import coordinate_row

    items = tuple(coordinate_row(own.mechanism, name) for name in names)
    true = dict(zip(names, own.values(items, own.released(None))[0], strict=True))
    for liar in ("leg3", "foot2[1]"):
        with pytest.raises(SimulationError) as problem:
            own.complete(true | {liar: true[liar] + 0.1})
        assert "disagree" in str(problem.value) and f"'{liar}' is the most likely to be wrong" in str(
            problem.value
        )


def test_a_name_of_two_things_is_asked_about() -> None:
    with pytest.raises(SimulationError, match=r"say 'joint\.elbow' or 'motor\.elbow'"):
        chain("parallel_robot").complete({"shoulder": 1.0, "elbow": 2.0})


def test_measured_speeds_and_efforts_give_all_speeds_and_accelerations() -> None:
    own = Chain(load("stewart"))
    rates = {"motor1": 0.1, "motor2": -0.2, "motor3": 0.3}
    at = dict.fromkeys(rates, 0.1)
    found = own.complete(at, rates, {"motor1": 5.0})
    assert {name: x[1] for name, x in found.actuators.items()} == pytest.approx(rates, abs=1e-12)
    assert found.state.u[0] == 5.0
    dv = own.engine.kernels.dynamics(*found.state.at)[0]
    assert np.abs(dv - found.accelerations).max() == 0.0
    with pytest.raises(SimulationError, match="is 1 finite numbers"):
        own.complete(dict.fromkeys(rates, float("nan")))
    with pytest.raises(UnknownName, match="did you mean 'motor1'"):
        own.complete({"motr1": 0.0})
