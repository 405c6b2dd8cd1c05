"""Joint types: what each says of itself, and what everybody makes of a new one that nobody else knows."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest
import random_mechanisms
import test_properties
from bulk import bulk
from cutjoint import Joint, Mechanism, Motor, Simulation
from cutjoint.fmu import export
from cutjoint.model.base.errors import DescriptionError
from cutjoint.model.cartesian import CartesianSimulation
from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.describe.check import check
from cutjoint.model.describe.writer import write
from cutjoint.model.joints.moves import Px, Py, Pz, Q, Rx
from cutjoint.model.joints.rigid_motion import compose, pose, product
from cutjoint.model.joints.rows import Across, Along, Ends
from cutjoint.model.joints.types import LOCK_ROWS, TYPES, JointType, X, Y, Z
from cutjoint.model.loading import read
from cutjoint.model.show.picture import draw
from cutjoint.model.urdf.write_urdf import urdf
from fmpy import simulate_fmu
from random_mechanisms import ROLLING, Maker, quaternion_matrix, random_loop, random_tree, transform
from scipy.spatial.transform import Rotation
from test_properties import Case, Closed

UNDIRECTED = ("spherical", "free", "fixed", "distance")
FIELDS = {
    "helical": ("pitch",),
    "distance": ("length",),
    "revolute-spherical": ("length",),
    "translational-distance": ("length", "travel"),
    "rolling": ("radius", "belt"),
    "rolling-ball": ("radius", "belt"),
}
NEW = {
    "rocker": JointType(
        "rocker",
        (Px, Py, Rx),
        (Along(Z), Across(X, Y), Across(X, Z)),
        lambda R, p, e, joint: [p[0], p[1], ca.atan2(R[2, 1], R[1, 1])],
        "slides in the plane across its axis and turns about 'across'",
        "v",
    ),
    "point-on-line": JointType(
        "point-on-line",
        (Pz, Q),
        (Along(X), Along(Y)),
        lambda R, p, e, joint: [p[2], e[0], e[1], e[2], e[3]],
        "a ball that slides along an axis of the parent",
        "^",
    ),
}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The new types, for one test only."""
    for name, kind in NEW.items():
        monkeypatch.setitem(TYPES, name, kind)


@pytest.mark.parametrize("name", TYPES)
def test_a_type_says_what_its_description_needs(name: str) -> None:
    kind = TYPES[name]
    assert kind.directed == (name not in UNDIRECTED)
    assert kind.needs_across == (name in ("universal", "pin-in-slot"))
    rods = ("distance", "revolute-spherical", "translational-distance")
    assert kind.two_ends == (name in (*rods, "rolling", "rolling-ball"))
    assert kind.always_cut == (name in (*rods, *ROLLING))
    assert kind.directionless_ends == (name == "distance")
    assert kind.fields == FIELDS.get(name, ())
    assert kind.wraps == (name == "helical")


# -- moves, rows and measure belong together -------------------------------------------------------

IN_TREES = [name for name, kind in TYPES.items() if not kind.always_cut] + [*NEW]


class Placed:
    """A joint at seeded coordinates: its two frames, and how frame j moves with every speed."""

    def __init__(self, name: str):
        make = Maker(len(name))
        self.kind, self.joint = TYPES[name], SimpleNamespace(pitch=0.2)
        self.q = np.array(make.coordinates(name), float)
        self.i = self.j = pose(make.frame())
        self.e = ca.SX([1, 0, 0, 0])
        speeds = []
        for move, q, _ in self.kind.parts:
            self.j = compose(self.j, move.pose(self.q[q], self.joint))
            self.e = product(self.e, move.euler_parameters(self.q[q]))
            S = ca.densify(move.subspace(self.joint))
            speeds += [(self.j.R @ S[:3, k], self.j.R @ S[3:, k], self.j.p) for k in range(move.nv)]
        columns = [ca.vertcat(w, v + ca.cross(w, self.j.p - at)) for w, v, at in speeds]
        self.twists = numbers(ca.horzcat(ca.SX(6, 0), *columns))  # ω, and velocity of the origin of j

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Residuals, and covectors on (ω, velocity) of frame j."""
        zero = ca.SX.zeros(3, 1)
        ends, base = Ends(*self.i, *self.j, *[zero] * 4), (self.i.R, zero, zero)
        found = [row for lock in self.kind.locks for row in lock.evaluate(ends, self.joint, base)]
        residuals = numbers(ca.vertcat(ca.SX(0, 1), *(row.residual for row in found)))
        return residuals, numbers(ca.horzcat(ca.SX(6, 0), *(ca.vertcat(r.wj, r.rj) for r in found)))


def numbers(x: ca.SX) -> np.ndarray:
    return np.array(ca.DM(ca.densify(x)))


@pytest.mark.parametrize("name", IN_TREES)
def test_rows_are_zero_and_forbid_no_motion_of_the_joint(name: str, known: None) -> None:
    at = Placed(name)
    residuals, covectors = at.rows()
    np.testing.assert_allclose(residuals, 0, atol=1e-14)
    np.testing.assert_allclose(covectors.T @ at.twists, 0, atol=1e-13)


def rank(matrix: np.ndarray) -> int:
    """Also of a matrix without rows or columns, which NumPy knows since 2.3."""
    return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0


@pytest.mark.parametrize("name", IN_TREES)
def test_rows_forbid_every_other_motion(name: str, known: None) -> None:
    at = Placed(name)
    assert rank(at.rows()[1]) == at.kind.rows == 6 - at.kind.nv
    assert rank(at.twists) == at.kind.nv


@pytest.mark.parametrize("name", IN_TREES)
def test_measure_reads_the_coordinates_back(name: str, known: None) -> None:
    at = Placed(name)
    R, p = at.i.R.T @ at.j.R, at.i.R.T @ (at.j.p - at.i.p)
    found = numbers(ca.vertcat(ca.SX(0, 1), *at.kind.measure(R, p, at.e, at.joint))).ravel()
    np.testing.assert_allclose(found, at.q, atol=1e-13)


@pytest.mark.parametrize("name", IN_TREES)
def test_a_mask_names_the_rows_that_stay_zero(name: str, known: None) -> None:
    """Of the lock constraint's rows, slides x, y, z and Euler parameters i, j, k, at any coordinates."""
    at = Placed(name)
    p = numbers(at.i.R.T @ (at.j.p - at.i.p)).ravel()
    values = dict(zip(LOCK_ROWS, [*p, *numbers(at.e).ravel()[1:]], strict=True))
    zero = "".join(row for row, value in values.items() if abs(value) < 1e-13)
    assert at.kind.mask in (zero, None)
    # where there is no mask, rows of the lock are too few or, for a screw, say less than it does
    assert (at.kind.mask is None) == (len(zero) < at.kind.rows)


# -- a new type ------------------------------------------------------------------------------------


def held(kind: str, cut: bool = False, reverse: bool = False) -> Mechanism:
    """Two bodies, the first on a joint of the type; where that is cut, on a free joint in the same place."""
    make = Maker(3)
    joint = make.joint("hold", kind, *(("one", "ground") if reverse else ("ground", "one")), forces=False)
    joints = joint, make.joint("pin", "revolute", "one", "two", forces=True)
    bodies = make.body("one"), make.body("two")
    motors = (Motor("motor", "pin"),)
    name = f"held_by_{kind.replace('-', '_')}"
    mechanism = Mechanism(name, bodies, joints, motors, gravity=make.point(10))
    if not cut:
        return mechanism
    y = Simulation(mechanism, compile=False).outputs()
    place = tuple(np.r_[y["body.one.position"], y["body.one.orientation"]].tolist())
    free = Joint("float", "free", "ground", "one", start=place)
    return replace(mechanism, joints=(free, replace(joint, start=(), cut=True), joints[1]))


new = pytest.mark.parametrize("kind", NEW)


@new
@pytest.mark.parametrize("reverse", [False, True])
def test_a_new_type_moves_alike_in_the_tree_and_cut(kind: str, reverse: bool, known: None) -> None:
    one, other = (Simulation(held(kind, cut, reverse), compile=False) for cut in (False, True))
    assert [s.tree.cut_names for s in (one, other)] == [(), ("hold",)]
    assert one.tree.links[0].reverse == reverse
    names = [n for n in one.outputs() if n.split(".")[0] in ("joint", "body", "reaction", "energy")]
    assert {"joint.hold.position", "joint.hold.acceleration", "reaction.hold.moment"} <= set(names)
    a, b = (s.run(0.5, 0.1, "variable", 1e-12, names) for s in (one, other))
    assert np.ptp(a.values, axis=0).max() > 0.5
    np.testing.assert_allclose(b.values, a.values, rtol=0, atol=1e-7)


BY_HAND = {
    "rocker": lambda q: transform(Rotation.from_euler("x", q[2]).as_matrix(), [q[0], q[1], 0]),
    "point-on-line": lambda q: transform(quaternion_matrix(q[1:]), [0, 0, q[0]]),
}
CASES = {
    "tree": lambda seed: Case(random_tree(seed), seed),
    "loop": lambda seed: Case(random_loop(seed, bodies=4), seed),
    "closed": Closed,
    "seed": lambda seed: seed,
}
PROPERTIES = {name: f for name, f in vars(test_properties).items() if name.startswith("test_")}
# what a joint becomes when parent and child are exchanged is written by hand for the shipped types
del PROPERTIES["test_joints_may_point_either_way"]


@new
@pytest.mark.parametrize(
    "property",
    [
        pytest.param(name, marks=[m for m in getattr(f, "pytestmark", ()) if m.name == "compiler"])
        for name, f in PROPERTIES.items()
    ],
)
@pytest.mark.parametrize("seed", bulk([3, 9], 1), ids="seed{}".format)
def test_a_new_type_has_the_property(
    kind: str, property: str, seed: int, known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests of `test_properties.py`, on random mechanisms with the type in the tree and cut."""
    twin = random_mechanisms.moved
    monkeypatch.setattr(
        random_mechanisms, "moved", lambda j, q: BY_HAND[j.type](q) if j.type in BY_HAND else twin(j, q)
    )
    monkeypatch.setattr(random_mechanisms, "MOVING", [kind, "revolute"])
    monkeypatch.setattr(random_mechanisms, "CUTTABLE", [kind])
    holds, cases = (
        PROPERTIES[property],
        CASES | {"kind": lambda _: kind, "monkeypatch": lambda _: monkeypatch},
    )
    holds(*(cases[name](seed) for name in signature(holds).parameters))


@new
def test_a_new_type_has_named_outputs_with_units(kind: str, known: None) -> None:
    table = {v.name: v for v in Simulation(held(kind), compile=False).variables()}
    units = {"rocker": ("m", "m", "rad"), "point-on-line": ("m", "1", "1", "1", "1")}[kind]
    speeds = {"rocker": ("m/s", "m/s", "rad/s"), "point-on-line": ("m/s", *["rad/s"] * 3)}[kind]
    assert table["joint.hold.position"].units == units
    assert table["joint.hold.velocity"].units == speeds


@new
def test_a_new_type_is_written_and_read_back(kind: str, known: None) -> None:
    for mechanism in (held(kind), held(kind, cut=True)):
        assert read(write(mechanism)) == check(mechanism)


DRAWN = """
name: drawn
bodies: {{plate: {{mass: 2, com: [0, 0, 0.1], inertia: [0.1, 0.1, 0.1]}}}}
joints: {{hold: {{type: {kind}, parent: ground, child: plate, at: [0, 0, 0], {directions}}}}}
"""


@new
def test_a_new_type_is_described_as_drawn(kind: str, known: None) -> None:
    both = "axis: [0, 0, 1], across: [0, 1, 0]"
    joint = read(DRAWN.format(kind=kind, directions=both)).joint("hold")
    assert Rotation.from_quat([*joint.on_parent.orientation[1:], joint.on_parent.orientation[0]]).apply(
        np.eye(3)
    ) == pytest.approx(np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]))
    missing = {"rocker": ("axis: [0, 0, 1]", "across"), "point-on-line": ("start: [0, 1, 0, 0, 0]", "axis")}
    directions, field = missing[kind]
    with pytest.raises(DescriptionError, match=f"joint 'hold'.*'{field}' is missing"):
        read(DRAWN.format(kind=kind, directions=directions))


@new
def test_a_new_type_is_the_same_in_cartesian_coordinates(kind: str, known: None) -> None:
    """As the lock constraint with its mask, cut or not."""
    mechanism = held(kind)
    ours, engine = CartesianSimulation(mechanism), Simulation(mechanism, compile=False)
    found, wanted = ours.outputs(), engine.outputs()
    assert {"joint.hold.position", "reaction.hold.force", "body.two.acceleration"} <= set(found)
    for name, value in found.items():
        np.testing.assert_allclose(value, wanted[name], atol=1e-9, err_msg=name)


@new
@pytest.mark.compiler
def test_a_new_type_runs_in_an_fmu(kind: str, known: None, tmp_path: Path) -> None:
    mechanism, path = held(kind, cut=True), tmp_path / "new.fmu"
    names = ["joint.hold.position", "joint.hold.velocity", "body.two.position"]
    export(mechanism, path, outputs=names, optimize=0)
    engine = Simulation(mechanism, compile=False)
    engine.set_inputs({"motor": 1.0})
    engine.run(0.2, 1e-3)
    options = {"stop_time": 0.2, "output_interval": 0.1, "start_values": {"motor.motor.torque": 1.0}}
    options["relative_tolerance"] = 1e-9
    for fmi_type, tolerance in (("CoSimulation", 1e-9), ("ModelExchange", 1e-7)):
        last = simulate_fmu(str(path), fmi_type=fmi_type, **options)[-1]
        for name in names:
            for k, wanted in enumerate(np.atleast_1d(engine.outputs()[name])):
                assert last[f"{name}[{k + 1}]"] == pytest.approx(wanted, abs=tolerance), (fmi_type, name)


@new
def test_a_new_type_is_a_chain_in_urdf(kind: str, known: None, tmp_path: Path) -> None:
    yourdfpy = pytest.importorskip("yourdfpy")
    for reverse in (False, True):
        simulation = Simulation(held(kind, reverse=reverse), compile=False)
        simulation.run(0.3, 0.1)
        file = tmp_path / "new.urdf"
        file.write_text(urdf(simulation.mechanism, simulation.tree))
        robot = yourdfpy.URDF.load(str(file), load_meshes=False)
        values = JointValues(simulation)
        values.read()
        endings = {"rocker": "x y rx", "point-on-line": "z rz ry rx"}[kind].split()
        assert list(values.names) == [*(f"hold_{ending}" for ending in endings), "pin"]
        robot.update_cfg(dict(zip(values.names, values.position.tolist(), strict=True)))
        for body, (R, origin) in simulation.body_poses().items():
            if body != "ground":
                T = robot.get_transform(body, "ground")
                np.testing.assert_allclose(T, np.vstack([np.c_[R, origin], [0, 0, 0, 1]]), atol=1e-9)


@new
def test_a_new_type_is_drawn_with_its_marker_and_axes(kind: str, known: None) -> None:
    simulation = Simulation(held(kind, cut=True), compile=False)
    axes = draw(simulation.mechanism, simulation.body_poses(), ["hold"]).axes[0]
    assert kind in [text.get_text() for text in axes.get_legend().get_texts()]
    (place,) = (line.get_xydata() for line in axes.lines if line.get_marker() == NEW[kind].marker)
    assert place.shape == (1, 2)
    assert NEW[kind].ticks == {"rocker": (Z, X), "point-on-line": (Z,)}[kind]
    assert (NEW[kind].filled, NEW[kind].stretched) == (kind == "point-on-line", kind == "point-on-line")


def test_the_new_types_are_gone_again() -> None:
    assert not set(NEW) & set(TYPES)


@pytest.mark.parametrize("make", [random_tree, random_loop])
def test_every_type_is_among_the_mechanisms_of_every_run(make: Any) -> None:
    """Cut ones, too: what `make study` adds is more of the same."""
    each_run = [x.values[0] for x in test_properties.SEEDS if pytest.mark.study not in x.marks]
    for cut in (False, True):
        wanted = {joint.type for seed in range(100) for joint in make(seed).joints if bool(joint.cut) >= cut}
        found = {joint.type for seed in each_run for joint in make(seed).joints if bool(joint.cut) >= cut}
        assert each_run and found == wanted
