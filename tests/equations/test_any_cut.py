"""Whatever is cut, in whatever order joints are listed: the same motion, outputs, energies, linear model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bulk import bulk
from cutjoint import (
    Body,
    Coupling,
    CutjointError,
    Frame,
    Joint,
    Mechanism,
    Motor,
    Simulation,
    motion_sensitivities,
    rollout,
    settle,
)
from cutjoint.model.describe.mechanism import GROUND
from cutjoint.model.joints.types import TYPES

INERTIA = (0.02, 0.03, 0.04, 0.002, -0.001, 0.003)


def _frame(point: np.ndarray, axis: np.ndarray) -> Frame:
    """Where a joint is drawn, its z along an axis; bodies are drawn in world axes."""
    z = np.asarray(axis, float) / np.linalg.norm(axis)
    half = np.array([0.0, 0.0, 1.0]) + z
    w, v = (z[2] + 1) / np.linalg.norm(half), np.cross([0, 0, 1.0], z) / np.linalg.norm(half)
    return Frame(tuple(point), (w, *v))


def _ring(name: str, joints: dict[str, tuple[str, tuple, tuple]]) -> Mechanism:
    """Bodies in a ring, ground first, held by joints that are drawn closed: type, place, axis."""
    names = [GROUND, *(f"b{k}" for k in range(1, len(joints)))]
    places = [np.array(place, float) for _, place, _ in joints.values()]
    bodies = tuple(
        Body(body, 0.7 + 0.3 * k, tuple((a + b) / 2 + [0.02, 0.05, -0.03]), INERTIA)
        for k, (body, a, b) in enumerate(zip(names[1:], places, places[1:], strict=False))
    )
    found = []
    for k, (joint, (kind, place, axis)) in enumerate(joints.items()):
        frame = _frame(np.array(place, float), np.array(axis, float))
        ends = names[k], names[(k + 1) % len(names)]
        found.append(Joint(joint, kind, *ends, frame, frame))
    return Mechanism(name, bodies, tuple(found), gravity=(1.0, -9.0, -2.0))


SHAPES = {
    "plane": _ring(
        "plane",
        {
            "a": ("revolute", (0, 0, 0), (0, 0, 1)),
            "b": ("revolute", (0.0, 0.3, 0), (0, 0, 1)),
            "c": ("revolute", (0.9, 0.75, 0), (0, 0, 1)),
            "d": ("revolute", (1.0, 0, 0), (0, 0, 1)),
        },
    ),
    # all axes through the origin: a spherical four-bar
    "spherical": _ring(
        "spherical",
        {
            "a": ("revolute", (0, 0, 1), (0, 0, 1)),
            "b": ("revolute", (0.3, 0, 0.95), (0.3, 0, 0.95)),
            "c": ("revolute", (0.5, 0.8, 0.4), (0.5, 0.8, 0.4)),
            "d": ("revolute", (-0.3, 0.9, 0.3), (-0.3, 0.9, 0.3)),
        },
    ),
    "spatial": _ring(
        "spatial",
        {
            "a": ("revolute", (0, 0, 0), (0, 0, 1)),
            "b": ("spherical", (0.2, 0.1, 0), (0, 0, 1)),
            "c": ("universal", (0.9, 0.3, 0.4), (0, 1, 0.3)),
            "d": ("prismatic", (0.9, 0.3, 0.5), (1, 0, 0.2)),
        },
    ),
    "cylinders": _ring(
        "cylinders",
        {
            "a": ("revolute", (0, 0, 0), (0, 0, 1)),
            "b": ("cylindrical", (0.2, 0.1, 0), (0.2, 1, 0)),
            "c": ("cylindrical", (0.9, 0.3, 0.4), (0, 0.3, 1)),
            "d": ("cylindrical", (0.5, -0.3, 0.5), (1, 0, 0.2)),
        },
    ),
}


def _on(joint: str, **fields: object) -> object:
    def change(mechanism: Mechanism) -> Mechanism:
        own = TYPES[mechanism.joint(joint).type]
        sized = {k: x * own.nv if isinstance(x, tuple) and len(x) == 1 else x for k, x in fields.items()}
        joints = (replace(j, **sized) if j.name == joint else j for j in mechanism.joints)  # type: ignore[arg-type]
        return replace(mechanism, joints=tuple(joints))

    return change


def _motor(joint: str, **fields: object) -> object:
    return lambda m: replace(m, motors=(*m.motors, Motor("motor", joint, **fields)))


def _tie(mechanism: Mechanism) -> Mechanism:
    """A gear without mass on a new hinge follows the joint."""
    wheel = Body("wheel", 0.4, (0, 0, 0), INERTIA)
    hinge = Joint("wheel_pin", "revolute", GROUND, "wheel", Frame((2.0, 0.0, 0.0)), Frame())
    tie = Coupling("tie", "wheel_pin", ("b",), (2.0,))
    return replace(
        mechanism,
        bodies=(*mechanism.bodies, wheel),
        joints=(*mechanism.joints, hinge),
        couplings=(tie,),
    )


FEATURES = {
    "nothing": lambda m: m,
    "spring beyond a turn": _on("b", stiffness=(3.0,), rest=(9.0,)),
    "damper": _on("b", damping=(0.3,)),
    "friction": _on("b", friction=(0.4,), friction_speed=0.5),
    "sticking": _on("b", friction=(0.3,), bristle_stiffness=(100.0,), bristle_damping=(1.0,)),
    "limits": _on("b", limits=(-4.0, 4.0), limit_stiffness=300.0, limit_damping=1.0),
    "armature": _on("b", armature=(0.05,)),
    "rotor": _motor("b", gear_ratio=5.0, rotor_inertia=0.002, efficiency=0.9),
    "torque": _motor("b"),
    "servo": _motor("b", servo_stiffness=4.0, servo_damping=0.4),
    "lag": _motor("b", servo_stiffness=4.0, servo_damping=0.4, lag=0.02),
    "play": _motor(
        "b", rotor_inertia=0.01, servo_stiffness=4.0, backlash=0.01, mesh_stiffness=500.0, mesh_damping=2.0
    ),
    "position": _motor("b", drive="position"),
    "velocity": _motor("b", drive="velocity"),
    "acceleration": _motor("b", drive="acceleration"),
    "coupling": _tie,
}
ONE_FREEDOM = {
    "rotor",
    "torque",
    "servo",
    "lag",
    "play",
    "position",
    "velocity",
    "acceleration",
    "coupling",
    "limits",
}
OF_SHAPE = {"plane": "b", "spherical": "b", "spatial": "a", "cylinders": "a"}  # which joint carries it


def _variant(shape: str, feature: str, cut: str, order: str) -> Mechanism:
    mechanism = SHAPES[shape]
    if feature in ONE_FREEDOM and OF_SHAPE[shape] != "b":  # the joint with one freedom is called b then
        names = {"a": "b", "b": "a"}
        joints = tuple(replace(j, name=names.get(j.name, j.name)) for j in mechanism.joints)
        mechanism = replace(mechanism, joints=joints)
    mechanism = FEATURES[feature](mechanism)  # type: ignore[operator]
    first = "b" if feature in ONE_FREEDOM and OF_SHAPE[shape] != "b" else "a"
    changed = [replace(j, cut=True) if j.name == cut else j for j in mechanism.joints]
    if feature not in ("velocity", "position"):
        changed = [replace(j, speed=(12.0,)) if j.name == first else j for j in changed]
    if order == "reversed":
        changed = changed[::-1]
    return replace(mechanism, joints=tuple(changed))


def _motion(shape: str, feature: str, cut: str, order: str = "listed") -> tuple[dict, dict]:
    """Outputs at the start, and after more than half a turn."""
    simulation = Simulation(_variant(shape, feature, cut, order), compile=False)
    inputs = {name: 0.4 for name in simulation.inputs if not name.endswith(("speed", "velocity"))}
    if feature in ("torque", "servo", "lag", "play", "rotor", "acceleration"):
        simulation.set_inputs(inputs)
    first = {k: np.array(x) for k, x in simulation.outputs().items()}
    law = {"position": "ramp(3)", "velocity": "3"}.get(feature)
    simulation.run(0.5, step=1e-3, inputs={"motor": law} if law else {})
    last = {k: np.array(x) for k, x in simulation.outputs().items()}
    return first, last


CASES = [(shape, feature) for shape in SHAPES for feature in FEATURES]
EACH_RUN = [
    *(("plane", feature) for feature in ("spring beyond a turn", "limits", "servo", "coupling", "position")),
    ("spherical", "rotor"),
    ("spatial", "limits"),
]


@pytest.mark.parametrize(("shape", "feature"), bulk(CASES, EACH_RUN))
def test_every_cut_gives_the_same(shape: str, feature: str) -> None:
    """Springs, stops and servos on cut hinges forgot whole turns; armatures and couplings were refused."""
    reference = _motion(shape, feature, "d")
    names = [key for key in reference[0] if not key.startswith(("loop", "singularity"))]
    for cut, order in (("a", "listed"), ("b", "listed"), ("c", "reversed"), ("b", "reversed")):
        found = _motion(shape, feature, cut, order)
        for name in names:
            _same(reference[0][name], found[0][name], 1e-9, f"{name} at the start, {cut} cut, {order}")
        for name in names:
            _same(reference[1][name], found[1][name], 1e-3, f"{name} later, {cut} cut, {order}")


def _same(a: np.ndarray, b: np.ndarray, tolerance: float, what: str) -> None:
    if what.split(" ")[0].endswith(("orientation", "position")) and a.size == 4:
        b = b * np.sign(a @ b)
    size = max(1.0, np.abs(a).max(initial=0.0))
    assert np.abs(a - b).max(initial=0.0) <= tolerance * size, f"{what}: {a} and {b}"


@pytest.mark.parametrize("shape", ["plane", "spherical"])
def test_every_cut_gives_the_same_linear_model(shape: str) -> None:
    """Eigenvalues at an equilibrium, where no choice of coordinates changes them."""
    found = []
    for cut in ("d", "b", "a"):
        mechanism = _on("b", stiffness=(200.0,), damping=(0.5,))(_variant(shape, "nothing", cut, ""))
        mechanism = replace(mechanism, joints=tuple(replace(j, speed=()) for j in mechanism.joints))
        simulation = Simulation(mechanism, compile=False)
        settle(simulation)
        found.append(np.sort_complex(simulation.linearize().eigenvalues()))
    assert np.abs(found[0]).min() > 0.1
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)


def test_a_free_joint_in_a_loop_keeps_its_springs() -> None:
    """It had neither springs nor dampers nor friction: it was left out with its rows."""
    body = Body("block", 2.0, (0.1, 0.0, 0.0), INERTIA)
    pin = Joint("pin", "spherical", GROUND, "block", speed=(1.0, 2.0, 3.0))
    mount = {"stiffness": (5.0,) * 6, "damping": (0.3,) * 6, "friction": (0.1,) * 6}
    loose = Joint("mount", "free", GROUND, "block", start=(0, 0, 0, 1, 0, 0, 0), **mount)  # type: ignore[arg-type]
    simulation = Simulation(Mechanism("mount", (body,), (pin, loose)), compile=False)
    assert simulation.tree.cut_names == ("mount",)
    simulation.run(0.2, step=1e-3)
    found = simulation.outputs()
    assert found["power_dissipated"] > 0.1
    np.testing.assert_allclose(found["joint.mount.velocity"][3:], found["joint.pin.velocity"], atol=1e-9)
    sprung = replace(pin, stiffness=(5.0,) * 3, damping=(0.3,) * 3, friction=(0.1,) * 3)
    other = Simulation(Mechanism("pin", (body,), (sprung,)), compile=False)
    other.run(0.2, step=1e-3)
    np.testing.assert_allclose(found["joint.pin.velocity"], other.outputs()["joint.pin.velocity"], atol=1e-6)


def test_a_spring_that_would_forget_turns_is_refused() -> None:
    """Between links without mass no joint stays in the tree; the spring was that of an angle within ±π."""
    mechanism = SHAPES["spherical"]
    bodies = (b if b.name == "b1" else replace(b, mass=0.0, inertia=(0.0,) * 6) for b in mechanism.bodies)
    joints = (
        replace(j, **{"cut": True} if j.name == "c" else {"armature": (0.1,)}) for j in mechanism.joints
    )
    mechanism = replace(mechanism, bodies=tuple(bodies), joints=tuple(joints))
    assert Simulation(mechanism, compile=False).tree.cuts[0].name == "c"
    with pytest.raises(CutjointError, match="neither 'b2' nor 'b3' resists its motion"):
        Simulation(_on("c", stiffness=(3.0,))(mechanism), compile=False)  # type: ignore[operator]
    stopped = _on("c", stiffness=(3.0,), limits=(-2.0, 2.0))(mechanism)  # type: ignore[operator]
    assert Simulation(stopped, compile=False).tree.cuts[0].name == "c"


FIELDS = [
    {"stiffness": (3.0,), "rest": (8.0,)},
    {"damping": (0.2,)},
    {"friction": (0.3,), "friction_speed": 0.5},
    {"friction": (0.3,), "bristle_stiffness": (100.0,), "bristle_damping": (1.0,)},
    {"limits": (-0.3, 0.4), "limit_stiffness": 300.0, "limit_damping": 1.0},
    {"armature": (0.05,)},
]
ACTUATED = [
    {"gear_ratio": 5.0, "rotor_inertia": 0.002, "efficiency": 0.9},
    {"servo_stiffness": 4.0, "servo_damping": 0.4, "limit": 3.0},
    {"servo_stiffness": 4.0, "lag": 0.02},
    {"rotor_inertia": 0.01, "backlash": 0.01, "mesh_stiffness": 500.0, "mesh_damping": 2.0},
    {"resistance": 1.0, "torque_constant": 0.5, "inductance": 0.01},
    {"drive": "acceleration"},
]
HERE = ("energy", "power_dissipated", "joint.b.position", "joint.c.velocity", "body.b2.acceleration")


def _together(seed: int, cut: str, order: str) -> Simulation:
    """Several features at two joints of a loop, of which any may be cut."""
    rng = np.random.default_rng(seed)
    mechanism = SHAPES[("plane", "spherical")[seed % 2]]
    for joint in ("b", "c"):
        for k in rng.choice(len(FIELDS), 2, replace=False):
            mechanism = _on(joint, **FIELDS[k])(mechanism)  # type: ignore[operator]
        what = ACTUATED[rng.integers(len(ACTUATED) - (joint == "c"))]  # one freedom, one given acceleration
        motor = Motor(f"m_{joint}", joint, **what)  # type: ignore[arg-type]
        mechanism = replace(mechanism, motors=(*mechanism.motors, motor))
    if rng.random() < 0.4:
        mechanism = _tie(mechanism)
    joints = [replace(j, cut=True) if j.name == cut else j for j in mechanism.joints]
    joints = [replace(j, speed=(4.0,)) if j.name == "a" else j for j in joints]
    if order == "reversed":
        joints = joints[::-1]
    simulation = Simulation(replace(mechanism, joints=tuple(joints)), compile=False)
    simulation.set_inputs(dict.fromkeys(simulation.inputs, 0.4))
    return simulation


@pytest.mark.parametrize("seed", bulk(range(24), [0]))
def test_features_together_on_any_cut(seed: int) -> None:
    """Outputs, their derivatives, one motion and many side by side."""

    def found(cut: str, order: str) -> list[dict[str, np.ndarray]]:
        s = _together(seed, cut, order)
        start, slopes = s.outputs(), motion_sensitivities(s, 0.02, HERE, ["body.b1.mass", "body.b2.mass"])
        many = rollout(s.engine, s.state, 50, 1e-3, record=HERE)
        s.run(0.2, 1e-3, record=[])
        names = [name for name in start if not name.startswith(("loop", "singularity"))]
        later, side = s.outputs(), {name: many[name] for name in many.names}
        by = dict(zip(slopes.outputs, slopes.matrix[-1], strict=True))
        return [{name: np.array(x[name]) for name in names} for x in (start, later)] + [side, by]

    reference = found("d", "listed")
    for cut, order in (("b", "listed"), ("c", "reversed"), ("a", "reversed")):
        for what, a, b in zip(range(4), reference, found(cut, order), strict=True):
            for name in a:
                _same(a[name], b[name], (1e-9, 1e-3, 1e-5, 1e-3)[what], f"{name} {what}, {cut} cut, {order}")
