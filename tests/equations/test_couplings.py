"""Couplings of joint coordinates: seeded random mechanisms, and closed forms of gears, racks and cams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import test_properties as properties
from bulk import bulk
from cutjoint import Body, Coupling, Frame, Joint, Mechanism, Motor, Simulation
from cutjoint.model.base.errors import AssemblyError, DescriptionError, SimulationError
from cutjoint.model.cartesian import CartesianSimulation
from cutjoint.model.describe.writer import write
from cutjoint.model.design.sensitivity import Marked
from cutjoint.model.linear.linearize import linearize, underlying_model
from cutjoint.model.loading import read
from cutjoint.model.run.independent import Independent
from cutjoint.model.run.local_form import LocalForm
from cutjoint.model.verify.verify import verify
from cutjoint.papers.methods.method import Method
from random_mechanisms import random_coupled
from test_properties import Case, Closed, equal

SEEDS = range(18)
ABOUT_Y = (0.5, -0.5, -0.5, -0.5)


def geared(ratio: float = 6.0, **fields) -> Mechanism:
    """An arm under gravity and the rotor that drives it, on one axis."""
    bodies = (
        Body("arm", 1.2, (0.5, 0, 0), (0.1, 0.25, 0.3, 0, 0, 0)),
        Body("rotor", 0.2, (0, 0, 0), (0.01,) * 3 + (0,) * 3),
    )
    joints = (Joint("hinge", "revolute", "ground", "arm"), Joint("shaft", "revolute", "ground", "rotor"))
    tie = Coupling("gear", "shaft", ("hinge",), (ratio,), **fields)
    motors = (Motor("motor", "shaft"),)
    return Mechanism("geared", bodies, joints, motors, gravity=(0, -9.81, 0), couplings=(tie,))


# -- closed forms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [6.0, -50.0, 0.3])
def test_a_geared_rotor_is_felt_by_the_square_of_its_ratio(ratio):
    s = Simulation(geared(ratio), compile=False)
    s.set_inputs({"motor": 0.7})
    inertia = 0.3 + 1.2 * 0.25 + ratio**2 * 0.01
    wanted = (-1.2 * 9.81 * 0.5 + ratio * 0.7) / inertia
    found = s.outputs()
    assert found["joint.hinge.acceleration"] == pytest.approx(wanted, rel=1e-12)
    assert found["joint.shaft.acceleration"] == pytest.approx(ratio * wanted, rel=1e-12)
    own = 0.01 * ratio * wanted - 0.7  # what the rotor's own balance leaves to the gear
    assert found["coupling.gear.torque"] == pytest.approx([own, -ratio * own], rel=1e-10)


def test_offset_and_curve_are_kept_by_poses_speeds_and_accelerations():
    """A cam: the follower is at 0.2 + 0.5 x + 0.3 x² − 0.4 x³."""
    mechanism = geared(0.5, offset=0.2, curve=(0.3, -0.4))
    s = Simulation(mechanism.with_start({"hinge": (0.6,)}), start={"hinge": 0.6}, compile=False)
    s.run(0.3)
    found = s.outputs()
    x, v, a = (float(found[f"joint.hinge.{what}"]) for what in ("position", "velocity", "acceleration"))
    slope, bend = 0.5 + 0.6 * x - 1.2 * x**2, 0.6 - 2.4 * x
    assert abs(v) > 0.5
    assert found["joint.shaft.position"] == pytest.approx(0.2 + 0.5 * x + 0.3 * x**2 - 0.4 * x**3, abs=1e-12)
    assert found["joint.shaft.velocity"] == pytest.approx(slope * v, abs=1e-11)
    assert found["joint.shaft.acceleration"] == pytest.approx(slope * a + bend * v**2, abs=1e-9)


def test_a_rack_moves_by_the_radius_of_its_pinion():
    up = Frame((0, 0, 0), ABOUT_Y)
    bodies = (Body("rack", 2.0), Body("pinion", 1.0, inertia=(0.02,) * 3 + (0,) * 3))
    joints = (
        Joint("slide", "prismatic", "ground", "rack"),
        Joint("turn", "revolute", "ground", "pinion", up, up),
    )
    tie = Coupling("teeth", "slide", ("turn",), (0.1,))
    s = Simulation(Mechanism("rack", bodies, joints, couplings=(tie,)), compile=False)
    found = s.outputs()
    assert found["joint.slide.acceleration"] == pytest.approx(-9.81 * 2 / (2 + 0.02 / 0.1**2), rel=1e-12)
    units = s.variables().outputs.find("coupling.teeth.torque").units
    assert units == ("N", "N.m")


def test_a_differential_shares_its_torque():
    """The carrier turns by the mean of two equal wheels: with one wheel held the other turns twice as far."""
    wheel = (0.05,) * 3 + (0,) * 3
    bodies = tuple(Body(n, 1.0, inertia=wheel) for n in ("carrier", "left", "right"))
    joints = tuple(Joint(f"{b.name}_axle", "revolute", "ground", b.name) for b in bodies)
    tie = Coupling("differential", "carrier_axle", ("left_axle", "right_axle"), (0.5, 0.5))
    mechanism = Mechanism("car", bodies, joints, (Motor("engine", "carrier_axle"),), couplings=(tie,))
    s = Simulation(mechanism, compile=False)
    s.set_inputs({"engine": 3.0})
    found = s.outputs()
    assert found["joint.left_axle.acceleration"] == pytest.approx(3.0 / (0.05 + 0.025) / 2, rel=1e-12)
    left, right = found["coupling.differential.torque"][1:]
    assert left == pytest.approx(right, rel=1e-12)
    assert s.topology().mobility == 2
    held = Coupling("brake", "left_axle", (), (), 0.0)
    s = Simulation(replace(mechanism, couplings=(tie, held)), compile=False)
    s.set_inputs({"engine": 3.0})
    found = s.outputs()
    assert found["joint.right_axle.acceleration"] == pytest.approx(
        2 * found["joint.carrier_axle.acceleration"]
    )
    assert s.topology().mobility == 1


# -- properties on seeded random mechanisms ------------------------------------------------------------


@pytest.fixture(scope="module", params=bulk(SEEDS, 5), ids="seed{}".format)
def case(request):
    return Case(random_coupled(request.param), request.param)


@pytest.fixture(scope="module", params=bulk(SEEDS, 5), ids="seed{}".format)
def moving(request):
    return Closed(request.param, random_coupled)


def test_rows_are_the_derivatives_of_the_relations(case):
    case.agree(case.along(case.residual, case.a), case.terms.G @ case.a)
    case.agree(case.along(case.terms.G @ case.v, case.v), -case.terms.gamma)


SHARED = (
    "test_loops_are_closed",
    "test_accelerations_keep_loops_closed",
    "test_accelerations_and_multipliers_solve_the_equation_of_motion",
    "test_accelerations_are_those_of_every_chart",
    "test_power_is_the_rate_of_energy",
    "test_inverse_dynamics_undoes_forward_dynamics",
    "test_closed_bodies_are_where_the_plain_twin_puts_them",
)


@pytest.mark.parametrize("name", SHARED)
def test_what_holds_for_loops_holds_for_couplings(moving, name):
    getattr(properties, name)(moving)


@pytest.mark.parametrize("seed", bulk(SEEDS, 4), ids="seed{}".format)
def test_linear_model_against_differences(seed):
    s = Closed(seed, random_coupled).simulation
    form = LocalForm(s, s.q)
    y = form.to_local(*s.at[:3])
    model = linearize(s.engine, s.state, states=Independent(form.R, form.speeds))
    h = 1e-5
    for k, e in enumerate(np.eye(len(y))):
        form.to_full(y)
        form.accept()
        ends = [form.rates(y + c * h * e)[0] for c in (2, 1, -1, -2)]
        equal((8 * (ends[1] - ends[2]) - (ends[0] - ends[3])) / (12 * h), model.A[:, k], 1e-7)


@pytest.mark.parametrize("seed", SEEDS[:4], ids="seed{}".format)
def test_slopes_do_not_depend_on_the_chart(seed):
    s = Closed(seed, random_coupled).simulation
    kinds = (underlying_model(s.engine, s.state, kind) for kind in ("partition", "tangent"))
    for one, other in zip(*kinds, strict=True):
        equal(one, other, 1e-8)


@pytest.mark.parametrize("seed", SEEDS[1::4], ids="seed{}".format)
def test_steps_keep_relations_and_energy(seed):
    s = Closed(seed, random_coupled).simulation
    s.put(replace(s.state, u=0 * s.u))
    energy, scale = s.outputs()["energy"], s.outputs()["energy_kinetic"]
    s.run(0.2)
    assert np.abs(s.closure()[0]).max() < 1e-11
    assert s.outputs()["energy"] == pytest.approx(energy, abs=1e-7 * scale)


@pytest.mark.parametrize("stepper", ["runge_kutta", "implicit"])
@pytest.mark.parametrize("seed", [1, 5], ids="seed{}".format)
def test_the_trust_report_finds_nothing(seed, stepper):
    """Energy, convergence, Newton's law for every body, linear model, other units, by either stepper."""
    report = verify(random_coupled(seed), time=0.05, stepper=stepper, compile=False)
    assert [check for check in report.checks if check.passed is False] == []


# -- descriptions ----------------------------------------------------------------------------------------


def test_a_ratio_can_be_a_parameter():
    """And the equations follow it: the slope of the acceleration by the ratio is that of the closed form."""
    mechanism = replace(geared(), parameters={"ratio": "coupling.gear.ratio"})
    s = Simulation(mechanism, compile=False)
    s.set_inputs({"motor": 0.7})
    for ratio in (6.0, 9.0):
        s.set_parameters(ratio=[ratio])
        wanted = (-1.2 * 9.81 * 0.5 + ratio * 0.7) / (0.6 + ratio**2 * 0.01)
        assert s.outputs()["joint.hinge.acceleration"] == pytest.approx(wanted, rel=1e-12)
    marked = Marked(Simulation(geared(), compile=False), ["coupling.gear.ratio"], ["hinge"])
    shaft = marked.engine.tree.v["shaft"].start
    assert marked.dq[shaft, 0] == pytest.approx(0.0, abs=1e-12)  # it stands at zero


def test_what_is_written_reads_back():
    mechanism = Simulation(geared(0.5, offset=0.2, curve=(0.3, -0.4)), compile=False).mechanism
    assert read(write(mechanism)) == mechanism


TEXT = """
bodies:
  a: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}
  b: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}
  c: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}
joints:
  j: {type: revolute, parent: ground, child: a, at: [0, 0, 0], axis: z}
  k: {type: revolute, parent: ground, child: b, at: [0, 0, 0], axis: z}
  ball: {type: spherical, parent: ground, child: c, at: [0, 0, 0]}
couplings:
  tie: {%s}
"""


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ("joint: j, follows: nowhere", "there is no joint 'nowhere'"),
        ("joint: ball, follows: k", "joint 'ball' has not one degree of freedom, which a coupling needs"),
        ("joint: j, follows: ball", "joint 'ball' has not one degree of freedom, which a coupling needs"),
        ("joint: j, follows: j", "it names a joint twice"),
        ("joint: j, follows: k, ratio: [1, 2]", "it follows 1 joints; give as many ratios, not 2"),
        ("joint: j, curve: 1", "it follows no joint"),
        ("joint: j, follows: k, ratio: .nan", "ratio must be a finite number"),
        ("joint: j, follows: 3", "follows must be a list of joints"),
    ],
)
def test_a_coupling_that_makes_no_sense_is_refused(fields, sentence):
    with pytest.raises(DescriptionError, match=sentence):
        read(TEXT % fields)


def test_one_ratio_serves_all_and_is_one_if_left_out():
    assert read(TEXT % "joint: j, follows: k").couplings[0].ratio == (1.0,)
    assert read(TEXT % "joint: j, follows: k, ratio: 2, offset: 90 deg").couplings[0].offset == pytest.approx(
        np.pi / 2
    )


def test_a_name_for_a_joint_and_a_coupling_is_refused():
    with pytest.raises(DescriptionError, match="a joint and a coupling are both named 'j'"):
        read((TEXT % "joint: j, follows: k").replace("tie:", "j:"))


def test_relations_that_contradict_each_other_are_named():
    tie = Coupling("other", "shaft", ("hinge",), (6.0,), 0.5)
    mechanism = geared()
    with pytest.raises(AssemblyError, match=r"the coupling '(gear|other)' of shaft, hinge stays open"):
        Simulation(replace(mechanism, couplings=(*mechanism.couplings, tie)), compile=False)


def test_redundant_relations_are_named():
    tie = Coupling("other", "shaft", ("hinge",), (6.0,))
    mechanism = geared()
    found = Simulation(replace(mechanism, couplings=(*mechanism.couplings, tie)), compile=False).topology()
    assert (found.rows, found.rank, found.mobility) == (2, 1, 1)
    assert found.redundant in (("gear: coupling",), ("other: coupling",))
    assert found.not_unique == ("hinge", "shaft")


def test_what_knows_no_couplings_says_so():
    with pytest.raises(SimulationError, match="couplings, which Cartesian simulations do not know"):
        CartesianSimulation(geared())
    with pytest.raises(SimulationError, match="couplings, which the papers' methods do not know"):
        Method(Simulation(geared(), compile=False))
