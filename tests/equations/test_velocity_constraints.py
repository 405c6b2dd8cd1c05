"""Velocity constraints: rows that hold speeds and no pose, on seeded random mechanisms and known motions.

The properties are those of `test_properties.py`, on floating trees with wheels, balls and blades between
ground and bodies and between bodies, some on running belts.
"""

from __future__ import annotations

from dataclasses import replace

import mechanisms
import numpy as np
import pytest
import test_properties as properties
from bulk import bulk
from cutjoint import Body, Frame, Joint, Simulation, SimulationError, load
from cutjoint.model.cartesian import CartesianSimulation
from cutjoint.model.design.eigenvalue_sensitivity import eigenvalue_sensitivities
from cutjoint.model.design.sensitivity import sensitivities
from cutjoint.model.equations.terms import equations
from cutjoint.model.equations.traced import dynamics, project_position, project_velocity
from cutjoint.model.linear import singular_values
from cutjoint.model.linear.linearize import coordinate_map, linearize, underlying_model
from cutjoint.model.run.independent import Independent
from cutjoint.model.run.local_form import LocalForm, LocalSolver
from cutjoint.papers.benchmarks.rolling import bicycle_at
from cutjoint.papers.methods.method import Method
from random_mechanisms import random_rolling
from test_properties import Case, Closed, equal

SEEDS = range(12)
WITHOUT_FORCES = SEEDS[1::2]


@pytest.fixture(scope="module", params=bulk(SEEDS, 4), ids="seed{}".format)
def case(request):
    return Case(random_rolling(request.param), request.param)


@pytest.fixture(scope="module", params=bulk(SEEDS, 4), ids="seed{}".format)
def moving(request):
    return Closed(request.param, random_rolling)


# -- rows ------------------------------------------------------------------------------------------


def test_contact_is_the_derivative_of_a_height_and_slip_of_nothing(case):
    """G of the rows that hold poses is ∂g; the others have no g, but accelerations Ġv all the same."""
    g = case.value(case.along(case.residual, case.a))
    held = np.array(case.tree.holds_poses)
    assert not held.all()
    equal(g[held], case.value(case.terms.G @ case.a)[held])
    assert not g[~held].any()
    case.agree(case.along(case.terms.G @ case.v + case.terms.b, case.v), -case.terms.gamma)


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
def test_what_holds_for_loops_holds_for_speeds(moving, name):
    getattr(properties, name)(moving)


@pytest.mark.parametrize("moving", WITHOUT_FORCES, indirect=True, ids="seed{}".format)
def test_every_body_obeys_newton_and_euler(moving):
    properties.test_every_body_obeys_newton_and_euler(moving)


# -- steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", WITHOUT_FORCES, ids="seed{}".format)
def test_steps_keep_contact_grip_and_energy(seed):
    s = Closed(seed, random_rolling).simulation
    s.put(replace(s.state, u=0 * s.u))
    energy, scale = s.outputs()["energy"], s.outputs()["energy_kinetic"]
    for _ in range(200):
        s.step(1e-3)
        slip, size = s.engine.slip(s.q, s.v, s.s, s.p)
        assert np.abs(slip).max() < 1e-12 * size
        assert np.abs(s.closure()[0]).max() < 1e-11
    assert s.outputs()["energy"] == pytest.approx(energy, abs=1e-8 * scale)


@pytest.mark.parametrize("seed", bulk(SEEDS[:6], 2), ids="seed{}".format)
def test_fixed_variable_and_local_steps_agree(seed):
    """On the underlying equation with projection, with variable steps, and over charts with fewer speeds."""
    start = Closed(seed, random_rolling).simulation
    ends = []
    for run in (lambda s: s.run(0.1, 1e-4), lambda s: s.run(0.1, 0.1, "variable", 1e-11), local):
        s = Simulation(start.mechanism, compile=False)
        s.put(start.state)
        run(s)
        ends.append(np.r_[s.q, s.v])
    for other in ends[1:]:
        equal(other, ends[0], 1e-7)


def local(s):
    solver = LocalSolver(s, 0.1, 1e-11)
    while solver.solver.status == "running":
        solver.advance()
    s.go(0.1, *solver.at(0.1))


# -- linear models ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", bulk(SEEDS[:8], 3), ids="seed{}".format)
def test_linear_model_against_differences(seed):
    """Columns of A and B by differences of the local form, whose states are more coordinates than speeds."""
    s = Closed(seed, random_rolling).simulation
    form = LocalForm(s, s.q)
    y = form.to_local(*s.at[:3])
    model = linearize(s.engine, s.state, states=Independent(form.R, form.speeds))
    assert len(model.A) == len(y) == len(form.R) + form.speeds < 2 * len(form.R)
    h = 1e-5
    for k, e in enumerate(np.eye(len(y))):
        form.to_full(y)
        form.accept()
        ends = [form.rates(y + c * h * e)[0] for c in (2, 1, -1, -2)]
        column = (8 * (ends[1] - ends[2]) - (ends[0] - ends[3])) / (12 * h)
        equal(column, model.A[:, k], 1e-7)
    u = s.u.copy()
    for k, e in enumerate(np.eye(len(u))):
        ends = []
        for sign in (1, -1):
            s.u[:] = u + sign * e
            ends.append(form.rates(y)[0])
        equal((ends[0] - ends[1]) / 2, model.B[:, k], 1e-8)


@pytest.mark.parametrize("seed", bulk(SEEDS[:6], 2), ids="seed{}".format)
def test_slopes_along_the_manifold_do_not_depend_on_the_chart(seed):
    s = Closed(seed, random_rolling).simulation
    for one, other in zip(
        *(underlying_model(s.engine, s.state, kind) for kind in ("partition", "tangent")), strict=True
    ):
        equal(one, other, 1e-8)


# -- what is refused, and what it costs ------------------------------------------------------------


def test_starts_that_slip_are_refused():
    disc = load("rolling_disc")
    motion = disc.joint("motion")
    faster = replace(motion, speed=(0.0, 3.0, *motion.speed[2:]))
    with pytest.raises(SimulationError, match="do not allow the speeds of motion together"):
        Simulation(replace(disc, joints=(faster, disc.joint("road"))), compile=False)


def test_surfaces_that_run_against_each_other_are_refused():
    disc = load("rolling_disc")
    road = disc.joint("road")
    other = replace(road, name="other", belt=(0.5, 0.0))
    with pytest.raises(
        SimulationError, match="do not allow the speeds of its running surfaces; change a 'be"
    ):
        Simulation(
            replace(disc, joints=(replace(disc.joint("motion"), speed=()), road, other)), compile=False
        )


def test_what_does_not_know_velocity_constraints_says_so():
    s = Simulation("rolling_disc", compile=False)
    with pytest.raises(SimulationError, match="velocity constraints, which the papers' methods do not know"):
        Method(s)
    with pytest.raises(SimulationError, match="joint 'road' is a velocity constraint"):
        CartesianSimulation(s.mechanism)
    with pytest.raises(SimulationError, match="velocity constraints and rests at whole families of poses"):
        eigenvalue_sensitivities(s, "mass", follow=True)


def test_sensitivities_keep_contact_and_grip():
    """The height of the leaning disc over its radius, other things held, is the cosine of its lean."""
    found = sensitivities(Simulation("rolling_disc", compile=False), "height", ["radius", "mass"])
    np.testing.assert_allclose(found.matrix, [[np.cos(np.radians(20)), 0]], atol=1e-9)


def test_the_implicit_step_rolls():
    s, other = (
        Simulation("rolling_disc", compile=False, stepper=kind) for kind in ("implicit", "runge_kutta")
    )
    for each in (s, other):
        each.run(0.2, 1e-3)
    equal(s.q, other.q, 1e-6)
    slip, size = s.engine.slip(s.q, s.v, s.s, s.p)
    assert np.abs(slip).max() < 1e-12 * size


# operations of the dynamics and of the two projections before there were velocity constraints; one more
# where a reciprocal is kept from becoming a division
OPERATIONS = {
    "delta": (2280, 1542, 1551),
    "fivebar": (486, 300, 316),
    "fourbar": (258, 157, 166),
    "hexapod": (11806, 8742, 8964),
    "loader": (1424, 934, 954),
    "mcpherson": (1076, 712, 694),
    "parallel_robot": (388, 227, 243),
    "slider_crank": (459, 286, 278),
    "stewart": (2743, 1863, 1905),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_loops_without_velocity_constraints_cost_what_they_did(name):
    eq = equations(load(name))
    for make, before in zip((dynamics, project_position, project_velocity), OPERATIONS[name], strict=True):
        assert make(eq).n_instructions() <= before


def test_a_singular_pose_is_left_from_rest_as_if_the_blade_were_a_pin():
    """No speed along a slide is no displacement along it: a support held so leaves the five-bar its cone."""
    bar = mechanisms.five_bar(mechanisms.SINGULAR)
    support = bar.joint("right")
    along = Frame(support.on_parent.position, (0.5**0.5, 0.0, 0.5**0.5, 0.0))  # z along the row that is lost
    own = Frame(orientation=along.orientation)
    more = (
        Joint("slide", "prismatic", "ground", "foot", along, own),
        Joint("blade", "knife-edge", "ground", "foot", along, own),
        replace(support, parent="foot", on_parent=replace(support.on_parent, position=(0.0, 0.0, 0.0))),
    )
    bodies = (*bar.bodies, Body("foot", 5.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)))
    joints = (*(j for j in bar.joints if j is not support), *more)
    found = []
    for each in (bar, replace(bar, bodies=bodies, joints=joints)):
        s = Simulation(each, compile=False)
        a, parted = s.engine.kernels.from_rest(s.q, s.z, s.u, s.p)
        assert parted[0]
        s.run(0.1, 1e-3)
        places = [s.tree.v[name].start for name in ("left", "elbow1", "apex", "elbow2")]
        found.append(np.r_[a[places], s.v[places]])
    equal(found[1], found[0], 1e-6)


def test_singular_values_on_a_running_surface_change_as_their_derivatives_say():
    """aᵀ δG b alone: what the surface adds to the slip changes too, and must not count."""
    s = bicycle_at(5.0, -5.0)
    G = s.engine.unitless_jacobian
    rng = np.random.default_rng(3)
    a, b, along = (rng.normal(size=n) for n in (*G(s.q, s.p).shape, s.tree.nv))
    dq = coordinate_map(s.engine, s.q) @ along
    found = float(singular_values.singular_tangent(s.equations)(s.q, s.p, a, b, along, 0 * s.p))
    h = 1e-6
    assert found == pytest.approx(a @ (G(s.q + h * dq, s.p) - G(s.q - h * dq, s.p)) @ b / (2 * h), rel=1e-7)
    row, _ = singular_values.singular_adjoint(s.equations)(s.q, s.p, a, b, 2.0)
    assert float(row.T @ along) == pytest.approx(2 * found, rel=1e-12)
