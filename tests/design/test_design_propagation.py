"""Design propagation: derivatives by three ways, changes absorbed and refused, the command."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from cutjoint import Body, Frame, Joint, Mechanism, Simulation, load
from cutjoint.model.base.errors import AssemblyError, CutjointError
from cutjoint.model.cli.main import main
from cutjoint.model.describe.writer import write
from cutjoint.model.design.dimensions import Design
from cutjoint.model.design.propagate import NotAbsorbed, propagate, stretch, stretched_body
from cutjoint.model.equations.kinematics import outward, position_rates
from cutjoint.model.equations.loops import cut_loops, loop_jacobian, residual, velocity_terms
from cutjoint.model.joints.euler import tilde
from cutjoint.model.joints.rows import (
    Across,
    Along,
    AlongChild,
    FixedDistance,
    SlideDistance,
    Thread,
    Together,
)
from cutjoint.model.joints.types import TYPES
from cutjoint.model.loading import read
from random_mechanisms import Maker, random_loop, random_tree
from scipy.spatial.transform import Rotation
from zou_derivatives import (
    End,
    by_euler_parameters,
    connected,
    frame_axes,
    joint_space,
    partials,
)

COMPOSITE = ("revolute-spherical", "spherical-translational", "translational-distance", "distance")


def composite_loop(seed: int) -> Mechanism:
    """A random tree with one composite joint across it, open: derivatives hold off the loop too."""
    make = Maker(500 + seed)
    tree = random_tree(seed, 3, forces=False)
    kind = COMPOSITE[seed % len(COMPOSITE)]
    a, b = (str(x) for x in make.random.choice(["ground", "b1", "b2", "b3"], 2, replace=False))
    cut = Joint("cut1", kind, a, b, make.frame(), make.frame(), cut=True)
    if "length" in TYPES[kind].fields:
        cut = replace(cut, length=float(make.random.uniform(0.5, 1.5)))
    if "travel" in TYPES[kind].fields:
        cut = replace(cut, travel=float(make.random.uniform(-0.5, 0.5)))
    return replace(tree, joints=(*tree.joints, cut))


MECHANISMS = [random_loop(seed, 5, forces=False) for seed in range(24)]
MECHANISMS += [composite_loop(seed) for seed in range(16)]
HALF = [pytest.param(m, id=m.name, marks=[pytest.mark.study] * (k % 2)) for k, m in enumerate(MECHANISMS)]


def off_the_loop(design: Design, seed: int) -> np.ndarray:
    q = design.q + 0.1 * np.random.default_rng(seed).normal(size=design.q.size)
    for link in design.tree.links:
        if link.move and not link.move.plain:
            q[link.q] /= np.linalg.norm(q[link.q])
    return q


def world_slopes(design: Design, q: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Residual in world axes and its derivative by plain automatic differentiation of the kinematics."""
    eq = design.equations
    motion = outward(eq.model, eq.q, ca.SX.zeros(eq.tree.nv, 1))
    rows = []
    for loop in cut_loops(eq.model, motion):
        at = 0
        for lock in TYPES[loop.joint.type].locks:
            if isinstance(lock, Together):  # the engine has it in the axes of the junction body
                rows.append(loop.ends.rj - loop.ends.ri)
            else:
                rows += [row.residual for row in loop.rows[at : at + lock.rows]]
            at += lock.rows
    g, delta = ca.vertcat(*rows), ca.SX.sym("delta", eq.tree.nv)
    tangent = ca.jacobian(position_rates(eq.model, eq.q, delta), delta)
    by_q, by_p = ca.jacobian(g, eq.q) @ tangent, ca.jacobian(g, eq.p)
    f = ca.Function("f", [eq.q, eq.p], [g, ca.densify(by_q), ca.densify(by_p)])
    value, by_q, by_p = (np.array(x) for x in f(q, design.p))
    found = {}
    for block in design.blocks:
        found[block.name] = by_q[:, block.columns] if block.kind == "coordinate" else by_p[:, block.values]
    return value.ravel(), found


@pytest.mark.parametrize("mechanism", HALF)
def test_the_papers_derivatives_are_those_of_the_traced_loops(mechanism):
    design = Design(mechanism)
    q = off_the_loop(design, 1)
    _, found = world_slopes(design, q)
    at = 0
    for cut in design.tree.cuts:
        rows = slice(at, at + TYPES[cut.type].rows)
        at = rows.stop
        written = joint_space(mechanism, design.tree, q, cut.name)
        for block in design.blocks:
            ours, theirs = written.get(block.name), found[block.name][rows]
            if ours is None:
                ours = np.zeros((rows.stop - rows.start, len(block.units)))
            if block.kind == "orientation":  # as Euler parameters, Eq. 39
                ours = by_euler_parameters(ours, design.p[block.values])
            assert np.abs(ours - theirs).max(initial=0) < 1e-8, f"{cut.name} by {block.name}"


def test_both_cases_of_the_paper_are_among_the_random_mechanisms():
    cases = [
        connected(design.tree, m, cut.name)
        for m in MECHANISMS
        for design in [Design(m)]
        for cut in design.tree.cuts
    ]
    assert cases.count(True) >= 5 and cases.count(False) >= 15


@pytest.mark.parametrize("mechanism", HALF)
def test_design_slopes_against_finite_steps(mechanism):
    """The columns that propagation uses, rotations included, against central differences along `moved`."""
    design = Design(mechanism)
    q = off_the_loop(design, 2)
    J = design.slope(q, design.p)[1]
    for k in range(design.width):
        step, h = np.zeros(design.width), 1e-4
        differences = []
        for size in (h, 2 * h):
            step[k] = size
            differences.append(
                design.residual(*design.moved(q, design.p, step))
                - design.residual(*design.moved(q, design.p, -step))
            )
        numeric = (8 * differences[0] - differences[1]) / (12 * h)
        assert np.abs(numeric - J[:, k]).max() < 1e-8, design.label(k)


def perturbed(end: End, which: str, k: int, size: float) -> End:
    """A small step on one variable of an end."""
    unit = size * np.eye(3)[k]
    turn = Rotation.from_rotvec(unit).as_matrix()
    match which:
        case "r":
            return end._replace(r=end.r + unit)
        case "turn":
            return end._replace(A=turn @ end.A)
        case "s":
            return end._replace(s=end.s + unit)
        case _:
            return end._replace(C=turn @ end.C)


FIELDS = SimpleNamespace(length=0.7, travel=0.4, pitch=0.3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "lock",
    [Across(0, 2), Along(1), AlongChild(0), Together(), FixedDistance(), SlideDistance(), Thread()],
    ids=lambda lock: type(lock).__name__,
)
def test_table_1_in_cartesian_space(lock, seed):
    random = np.random.default_rng(seed)
    i, j = (End(*(_random_end(random))) for _ in "ij")
    found = partials((lock,), i, j, FIELDS)

    def slope(value) -> np.ndarray:
        h = 1e-4
        return (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)

    for which in ("r", "turn", "s", "C"):
        for k in range(3):
            by_i = slope(lambda h: partials((lock,), perturbed(i, which, k, h), j, FIELDS).value)  # noqa: B023
            by_j = slope(lambda h: partials((lock,), i, perturbed(j, which, k, h), FIELDS).value)  # noqa: B023
            assert np.abs(getattr(found.i, which)[:, k] - by_i).max() < 1e-9
            assert np.abs(getattr(found.j, which)[:, k] - by_j).max() < 1e-9
    for name, given in vars(FIELDS).items():
        other = slope(lambda h: partials((lock,), i, j, _with(name, given + h)).value)  # noqa: B023
        assert np.abs(found.fields[name][:, 0] - other).max() < 1e-9
    if lock == Together():  # the paper says the sum is zero; it is −d̃ until the joint is closed
        total = found.i.state + found.j.state
        d = j.point - i.point
        assert np.abs(total[:, :3]).max() < 1e-12 and np.abs(total[:, 3:] + tilde(d)).max() < 1e-12


def _random_end(random: np.random.Generator) -> tuple[np.ndarray, ...]:
    A, C = (Rotation.random(random_state=random).as_matrix() for _ in "AC")
    r, s = random.normal(size=(2, 3))
    return A, r, s, C


def _with(name: str, value: float) -> SimpleNamespace:
    return SimpleNamespace(**(vars(FIELDS) | {name: value}))


@pytest.mark.parametrize("seed", range(16))
def test_composite_joints_move_as_their_rows_say(seed):
    """G is the derivative of g along v, and velocity_terms that of Gv, for every composite joint."""
    design = Design(composite_loop(seed))
    eq = design.equations
    motion = outward(eq.model, eq.q, eq.v)
    loops = cut_loops(eq.model, motion)
    g, G = residual(eq.model, motion, loops), loop_jacobian(eq.model, motion, loops)
    rate = position_rates(eq.model, eq.q, eq.v)
    first = ca.jtimes(g, eq.q, rate) - G @ eq.v
    second = ca.jtimes(ca.densify(G @ eq.v), eq.q, rate) - velocity_terms(eq.model, motion, loops)
    f = ca.Function("f", [eq.q, eq.v, eq.p], [first, second])
    v = np.random.default_rng(seed).normal(size=eq.tree.nv)
    for value in f(off_the_loop(design, seed), v, design.p):
        assert np.abs(np.array(value)).max() < 1e-9


def test_a_suspension_of_composite_joints_equals_one_of_bodies():
    """Arm and tie rod without mass, against the same as very light bodies: the same fall."""
    from cutjoint.papers.zou_mcpherson import converged

    composite = replace(converged("assembly").mechanism, gravity=(0.0, 0.0, -9.81))
    light = _with_bodies(composite)
    ends = []
    for mechanism in (composite, light):
        simulation = Simulation(mechanism, compile=False)
        simulation.run(0.1, 1e-3)
        ends.append(simulation.outputs()["body.wheel.position"])
        assert simulation.outputs()["loop.residual"] < 1e-12
    assert np.abs(ends[0] - ends[1]).max() < 1e-6
    assert abs(ends[0][2] - converged("assembly").mechanism.joint("strut").start[4]) > 1e-3


def _with_bodies(m: Mechanism) -> Mechanism:
    arm, rod = m.joint("arm"), m.joint("rod")
    tiny = (1e-9,) * 3 + (0.0,) * 3
    turn = frame_axes(arm.on_parent)
    start = Simulation(m, compile=False).joint_positions()["arm"]
    x, y, _ = turn.T @ (start[1] - start[0])
    hinge = Joint("hinge", "revolute", "ground", "bar", arm.on_parent, start=(float(np.arctan2(y, x)),))
    ball = Joint("ball", "spherical", "bar", "wheel", Frame((arm.length, 0.0, 0.0)), arm.on_child, cut=True)
    shift = frame_axes(rod.on_parent)[:, 2] * rod.travel
    tie = Joint(
        "tie",
        "distance",
        "ground",
        "wheel",
        Frame(tuple(float(v) for v in np.asarray(rod.on_parent.position) + shift)),
        rod.on_child,
        length=rod.length,
    )
    bar = Body("bar", 1e-6, (arm.length / 2, 0.0, 0.0), tiny)
    return replace(m, bodies=(*m.bodies, bar), joints=(m.joint("strut"), hinge, ball, tie))


@pytest.mark.parametrize("free", ["q", "s", "q,s", "C,q", "all"])
def test_a_longer_leg_of_the_platform_is_absorbed(free):
    mechanism = load("stewart")
    change = stretch(mechanism, "leg1", 0.02)
    result = propagate(mechanism, change, free)
    assert result.residual < 1e-12 and result.history[0] > 0.01
    new = result.mechanism
    assert read(write(new)) == new
    simulation = Simulation(new, compile=False)
    assert simulation.start_report.iterations == 0 and simulation.start_report.residual < 1e-12
    leg = np.subtract(new.joint("ball1").on_parent.position, new.joint("hinge1").on_child.position)
    old = np.subtract(
        mechanism.joint("ball1").on_parent.position, mechanism.joint("hinge1").on_child.position
    )
    assert np.linalg.norm(leg) - np.linalg.norm(old) == pytest.approx(0.02, abs=1e-12)
    moved = {c.name.split(".")[0] for c in result.changes if not c.wanted}
    assert ("q" in moved) == (free not in ("s",)) and ("joint" in moved) == (free != "q")
    assert mechanism == load("stewart")


def test_lengths_follow_and_stay_positive():
    mechanism = load("mcpherson")
    mount = np.add(mechanism.joint("top").on_parent.position, (0.0, 0.02, 0.0))
    result = propagate(mechanism, {"s12ST": mount}, "s,l")
    assert result.residual < 1e-12
    assert "joint.tie_rod.length" in [c.name for c in result.changes]
    assert all(not c.name.startswith("q.") for c in result.changes)


def test_weights_bounds_and_locks_do_what_they_say():
    change = {"s21": (-2.8, 0.2, 0.1)}

    def moved(result, name):
        change = {c.name: c for c in result.changes}.get(name)
        return 0.0 if change is None else float(np.abs(change.after - change.before).max())

    plain = propagate("slider_crank", change, "s")
    heavy = propagate("slider_crank", change, "s", weights={"s01": 100.0})
    assert moved(heavy, "joint.crank.on_parent.position") < 1e-3 * moved(
        plain, "joint.crank.on_parent.position"
    )
    locked = propagate("slider_crank", change, "s", locked="joint.crank.*, s03[2]")
    assert moved(locked, "joint.crank.on_parent.position") == 0.0
    slider = locked.mechanism.joint("slider").on_parent.position
    assert slider[1] == 3.8637 and slider[0] != 0.0
    bound = propagate("slider_crank", change, "s", bounds={"s01": (-0.01, 0.01), "s12[1]": (2.0, 2.02)})
    assert np.abs(bound.mechanism.joint("crank").on_parent.position).max() <= 0.01
    assert 2.0 <= bound.mechanism.joint("ball").on_parent.position[0] <= 2.02
    for result in (plain, heavy, locked, bound):
        assert result.residual < 1e-12
    # The first step is the least in the metric: with scale 1 and nothing else, the pseudo-inverse's.
    design = Design(load("slider_crank"))
    p, settled = design.given(change)
    columns = [c for c in design.columns("s") if c not in settled]
    g, J = design.slope(design.q, p)
    step = -np.linalg.pinv(J[:, columns]) @ g
    first = propagate("slider_crank", change, "s", scale=1.0, assemble_first=False)
    assert np.allclose(
        first.mechanism.joint("crank").on_parent.position,
        step[columns.index(design.columns("s01")[0]) :][:3],
        atol=1e-12,
    )


def test_orientations_can_change_and_can_follow():
    mechanism = load("slider_crank")
    turned = (0.5, 0.5, 0.51, 0.49)
    result = propagate(mechanism, {"joint.crank.on_parent.orientation": turned}, "q")
    assert result.residual < 1e-12
    assert np.linalg.norm(result.mechanism.joint("crank").on_parent.orientation) == pytest.approx(
        1, abs=1e-12
    )
    follow = propagate(mechanism, {"s21": (-2.8, 0.2, 0.1)}, "C,q.slider")
    assert follow.residual < 1e-12
    assert any(c.name.endswith("orientation") for c in follow.changes)


REFUSED = [
    ({"change": {"s22": 1.0}}, "no design variable 's22'; did you mean 's32'"),
    ({"change": {"joint.bell.on_child.position": (0, 0, 0)}}, "did you mean 'joint.ball"),
    ({"change": {"s21": (-2.8, 0.2)}}, "must be a list of 3 numbers"),
    ({"change": {"s21": (-2.8, 0.2, float("nan"))}}, "finite"),
    ({"change": {"s21": (-2.8, 0.2, 0.1)}, "free": "s21"}, "set by the change and can't be free"),
    ({"change": {"s21": (-2.8, 0.2, 0.1)}, "free": "s01", "locked": "s"}, "nothing is left to follow"),
    ({"change": {"s21": (-2.8, 0.2, 0.1)}, "free": ""}, "nothing is free"),
    ({"change": {"s21": (-2.8, 0.2, 0.1)}, "free": "l"}, "has none of 'l'"),
    ({"change": {"s21": (-2.8, 0.2, 0.1)}, "free": "s01[4]"}, "has the components 1 to 3"),
    (
        {"change": {"s21": (-2.8, 0.2, 0.1)}, "free": "s", "weights": {"s01": 0}},
        "must be positive and finite",
    ),
    ({"change": {"s21": (-2.8, 0.2, 0.1)}, "free": "s", "bounds": {"s01": (1, 0)}}, "(lowest, highest)"),
    ({"change": {"s21": (-2.8, 0.2, 0.1)}, "free": "s", "bounds": {"s12": (0, 0.5)}}, "outside its bounds"),
    ({"change": {"s21": (-2.8, 0.2, 0.1)}, "free": "C", "bounds": {"C": (0, 1)}}, "takes no bounds"),
    ({"change": {"q.crank": 1.0}}, "'q.crank' can't be set, only dimensions can"),
    ({"mechanism": "mcpherson", "change": {"tie_rod": -0.3}}, "length must be positive"),
    ({"mechanism": "double_pendulum", "change": {}}, "has no loops"),
]


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_what_makes_no_sense_is_refused_in_one_sentence(arguments, sentence):
    arguments = {"mechanism": "slider_crank", **arguments}
    with pytest.raises(CutjointError) as caught:
        propagate(**arguments)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
    assert not isinstance(caught.value, NotAbsorbed)


def test_a_change_that_does_not_fit_says_how_far_and_what_would_help():
    mechanism = load("stewart")
    with pytest.raises(NotAbsorbed) as caught:
        propagate(mechanism, stretch(mechanism, "leg1", 3.0), "q")
    text, error = str(caught.value), caught.value
    assert "can't be absorbed" in text and "stays open by" in text and "would help most" in text
    assert isinstance(error, AssemblyError) and max(gap for gap, _ in error.loops.values()) > 0.5
    name, part, _ = error.helpful[0]
    assert part > 0.5
    # and it does help
    assert propagate(mechanism, stretch(mechanism, "leg1", 3.0), ["q", name]).residual < 1e-12
    with pytest.raises(NotAbsorbed, match="at a bound"):
        propagate("slider_crank", {"s21": (-2.8, 0.2, 0.1)}, "s01", bounds={"s01": (-0.01, 0.01)})
    assert mechanism == load("stewart")


def test_command(tmp_path, capsys):
    out, picture = tmp_path / "new.yaml", tmp_path / "change.png"
    words = ["propagate", "slider_crank", "--set", "joint.s21=-2.8,0.2,0.1", "--free", "q,s"]
    assert main([*words, "-o", str(out), "--picture", str(picture)]) == 0
    text = capsys.readouterr().out
    assert "closed again in" in text and "joint.ball.on_child.position" in text
    assert load(out).joint("ball").on_child.position == (-2.8, 0.2, 0.1)
    assert picture.stat().st_size > 5000
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["residual"] < 1e-12 and report["changes"][-1]["wanted"]
    assert main(["propagate", "stewart", "--stretch", "leg1=3"]) == 3
    assert "stays open by" in capsys.readouterr().err
    for bad in (
        ["--set", "s21"],
        ["--stretch", "platform=0.1"],
        ["--stretch", "leg1=x"],
        [],
        ["--set", "s9=1"],
    ):
        assert main(["propagate", "slider_crank" if "leg1=x" not in bad else "stewart", *bad]) == 2
        assert capsys.readouterr().err.startswith("cutjoint: ")


def test_the_document_runs(tmp_path, monkeypatch):
    page = (Path(__file__).resolve().parents[2] / "docs" / "propagation.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = "\n".join(part.partition("\n")[2] for part in page.split("```")[1::2] if part.startswith("python"))
    code = code.replace("Simulation(result.mechanism)", "Simulation(result.mechanism, compile=False)")
    exec(code.replace('Simulation("stewart")', 'Simulation("stewart", compile=False)'), {})
    assert load(tmp_path / "longer.yaml").joint("ball1").on_parent.position[1] > 0.165
    commands = [
        line for part in page.split("```bash")[1:] for line in part.partition("```")[0].strip().splitlines()
    ]
    for line in commands:
        assert main(shlex.split(line)[1:]) == 0
    assert len(commands) == 2


COUPLED = """
name: coupled
bodies:
  left: {mass: 1, com: [0, 0, 0.5]}
  top: {mass: 2, com: [0.5, 0, 1]}
  right: {mass: 1, com: [1.2, 0, 0.5]}
  wheel: {mass: 1, com: [2, 0, 0.1]}
joints:
  A: {type: revolute, parent: ground, child: left, at: [0, 0, 0], axis: y, start: 0.3}
  B: {type: revolute, parent: left, child: top, at: [0, 0, 1], axis: y, start: -0.3}
  C: {type: revolute, parent: ground, child: right, at: [1.2, 0, 0], axis: y, start: 0.3}
  D: {type: revolute, parent: top, child: right, at: [1, 0, 1.1], axis: y}
  W: {type: revolute, parent: ground, child: wheel, at: [2, 0, 0], axis: y}
couplings: {gear: {joint: W, follows: [A], ratio: [2], offset: 0.1, curve: [0.3]}}
"""
NUMBERS = {"coupling.gear.ratio": (2.5,), "coupling.gear.offset": 0.2, "coupling.gear.curve[1]": 0.5}


@pytest.mark.parametrize("change", [*NUMBERS, "joint.B.on_parent.position[3]"])
@pytest.mark.parametrize("free", ["q", "s", "all", *NUMBERS])
def test_couplings_can_change_and_can_follow(change, free):
    """They were looked up among the joints."""
    mechanism = read(COUPLED)
    value = NUMBERS.get(change, 0.52)
    if change == free:
        with pytest.raises(CutjointError, match="can't be free as well"):
            propagate(mechanism, {change: value}, free)
        return
    followers = f"{free},q" if free == "s" or change.startswith("joint") else free
    result = propagate(mechanism, {change: value}, followers)
    assert result.residual < 1e-12
    assert [c.name for c in result.changes if c.wanted] == [change.split("[")[0]]
    q = {j.name: j.start[0] for j in result.mechanism.joints if j.start}
    (gear,) = result.mechanism.couplings
    a = q["A"]
    assert q["W"] == pytest.approx(gear.offset + gear.ratio[0] * a + gear.curve[0] * a**2, abs=1e-12)


def test_couplings_alone_are_closed_again():
    """A gripper has no loop: its change of an offset was said to fit as it is."""
    result = propagate("gripper", {"coupling.right_hinge_mimic.offset": 0.1}, "q")
    assert result.residual < 1e-12 and any(c.name == "q.right_hinge" for c in result.changes)


@pytest.mark.parametrize("grows", [False, True])
def test_a_stretched_body_is_that_of_its_points(grows):
    """Against points of mass on it, each moved along; at the same density they weigh more."""
    random = np.random.default_rng(3)
    points, masses = random.normal(size=(20, 3)), random.uniform(0.1, 1, 20)

    def body(points, masses):
        com = masses @ points / masses.sum()
        r = points - com
        I = np.einsum("k,kij->ij", masses, [(x @ x) * np.eye(3) - np.outer(x, x) for x in r])  # noqa: E741
        return masses.sum(), com, I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]

    mechanism = load("stewart")
    mass, com, inertia = body(points, masses)
    leg = replace(mechanism.body("leg1"), mass=mass, com=tuple(com), inertia=tuple(inertia))
    bodies = tuple(leg if b.name == "leg1" else b for b in mechanism.bodies)
    ends = [
        np.array(j.on_parent.position if j.parent == "leg1" else j.on_child.position)
        for j in mechanism.joints
        if "leg1" in (j.parent, j.child)
    ]
    length = np.linalg.norm(ends[1] - ends[0])
    axis = (ends[1] - ends[0]) / length
    k = 1 + 0.2 / length
    moved = points + (k - 1) * np.outer((points - ends[0]) @ axis, axis)
    new = stretched_body(replace(mechanism, bodies=bodies), "leg1", 0.2, grows=grows)
    wanted = body(moved, masses * (k if grows else 1))
    for found, right in zip((new.mass, new.com, new.inertia), wanted, strict=True):
        assert np.asarray(found) == pytest.approx(right, abs=1e-12)


def test_the_command_says_what_a_stretch_does_to_a_body(tmp_path, capsys):
    words = ["propagate", "stewart", "--stretch", "leg1=0.02", "--free", "s", "--lock", "joint.motor*"]
    assert main(words) == 0 and "mass, com and inertia of leg1 stay" in capsys.readouterr().out
    out = tmp_path / "longer.yaml"
    assert main([*words, "--inertia", "density", "-o", str(out)]) == 0
    assert "body.leg1.mass" in capsys.readouterr().out
    new = stretched_body(load("stewart"), "leg1", 0.02, grows=True)
    assert load(str(out)).body("leg1").mass == pytest.approx(new.mass)
