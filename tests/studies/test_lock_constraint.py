"""The lock constraint and its motion laws (paper 001), against independent differentiation."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from cutjoint.model.base.errors import DescriptionError, SimulationError
from cutjoint.model.cartesian import Lock, Marker, laws, lock
from cutjoint.model.cartesian.drives import motion_lock
from cutjoint.model.describe.mechanism import Joint
from cutjoint.papers.tasora_joints import feasible, rank_of_mask

TIME = ca.SX.sym("t")


def rotation(q):
    """Eq. 3 with 2(ϑ1ϑ2 + ϑ0ϑ3), entry by entry, as printed but for that misprint."""
    w, x, y, z = (q[k] for k in range(4))
    return ca.vertcat(
        ca.horzcat(2 * (w**2 + x**2) - 1, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 2 * (w**2 + y**2) - 1, 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 2 * (w**2 + z**2) - 1),
    )


def times(a, b):
    return ca.vertcat(
        a[0] * b[0] - ca.dot(a[1:], b[1:]), a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:])
    )


def inverse(q):
    return ca.vertcat(q[0], -q[1:])


class Curves:
    """Random smooth motions of both bodies, both markers and the wanted place; plain C along them."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.x1, self.x2, self.uP, self.uS, self.xD = (self.curve(3) for _ in range(5))
        self.p1, self.p2, self.qP, self.qS, self.qD = (self.unit() for _ in range(5))

    def curve(self, size: int):
        c = self.random.normal(size=(size, 4))
        return ca.vertcat(*(a + b * ca.sin(w * TIME) + d * TIME**2 for a, b, w, d in c))

    def unit(self):
        q = self.curve(4)
        return q / ca.norm_2(q)

    def residual(self, x1=None, p1=None, x2=None, p2=None, turn=rotation):
        """Eqs. 29 and 49 (with q_P)."""
        x1, p1 = (self.x1, self.p1) if x1 is None else (x1, p1)
        x2, p2 = (self.x2, self.p2) if x2 is None else (x2, p2)
        w = x1 + turn(p1) @ self.uP - x2 - turn(p2) @ self.uS
        relative = times(times(times(times(inverse(self.qD), inverse(self.qS)), inverse(p2)), p1), self.qP)
        return ca.vertcat(rotation(self.qS).T @ turn(p2).T @ w - self.xD, relative - ca.SX([1, 0, 0, 0]))

    @property
    def q(self):
        return ca.vertcat(self.x1, self.p1), ca.vertcat(self.x2, self.p2)

    def terms(self):
        def columns(x, q):
            both = ca.vertcat(x, q)
            return ca.horzcat(both, rate(both), rate(rate(both)))

        (q1, q2), markers = self.q, ((self.uP, self.qP), (self.uS, self.qS), (self.xD, self.qD))
        return lock.lock_terms(q1, rate(q1), q2, rate(q2), *(columns(*m) for m in markers))


def rate(x):
    return ca.jacobian(x, TIME)


def at(expression, t: float) -> np.ndarray:
    return np.array(ca.Function("f", [TIME], [ca.densify(expression)])(t))


@pytest.mark.parametrize("seed", range(6))
def test_all_terms_along_rheonomic_motions(seed):
    curves = Curves(seed)
    C, T = curves.residual(), curves.terms()
    q = ca.vertcat(*curves.q)
    for t in (-0.7, 0.4):
        assert np.abs(at(T.C - C, t)).max() < 1e-12
        assert np.abs(at(T.Cq @ rate(q) + T.Ct - rate(C), t)).max() < 1e-10, "Ċ = C_q q̇ + C_t"
        assert np.abs(at(T.Cq @ rate(rate(q)) - T.Qc - rate(rate(C)), t)).max() < 1e-9, "C̈ = C_q q̈ − Q_c"


@pytest.mark.parametrize("seed", range(3))
def test_jacobian_by_automatic_differentiation(seed):
    """Column by column with Λ(q/|q|); Eq. 3 as it stands agrees on the tangent only."""
    curves = Curves(seed)
    x = ca.SX.sym("x", 14)
    parts = x[:3], x[3:7], x[7:10], x[10:]
    here = ca.vertcat(*curves.q)
    normalized = curves.residual(*parts, turn=lambda q: rotation(q / ca.norm_2(q)))
    plain = curves.residual(*parts)
    full, naive = (at(ca.substitute(ca.jacobian(phi, x), x, here), 0.3) for phi in (normalized, plain))
    ours = at(curves.terms().Cq, 0.3)
    assert np.abs(full - ours).max() < 1e-11
    assert np.abs(naive - ours)[:3].max() > 0.5, "the caveat of Eq. 42"
    tangent = np.eye(14)
    for columns, p in ((slice(3, 7), curves.p1), (slice(10, 14), curves.p2)):
        value = at(p, 0.3)
        tangent[columns, columns] -= value @ value.T
    assert np.abs((naive - ours) @ tangent).max() < 1e-11


def test_misprints_fail():
    curves = Curves(1)
    T, C = curves.terms(), curves.residual()
    q = ca.vertcat(*curves.q)
    wrong_sign = T.Cq @ rate(rate(q)) + T.Qc - rate(rate(C))
    assert np.abs(at(wrong_sign, 0.3))[:3].max() > 1.0, "43 as printed"
    # 49 as printed has q_P inverted: it is not zero where the markers coincide
    built, q1, q2 = feasible("xyzijk", np.random.default_rng(0))
    P, S, D = (m.columns(0.0)[3:, 0] for m in (built.P, built.S, built.wanted))
    product = times(times(times(times(inverse(D), inverse(S)), inverse(q2[3:])), q1[3:]), inverse(ca.DM(P)))
    assert np.abs(np.array(product)[1:]).max() > 0.1
    assert np.abs(built.evaluate(0.0, q1, 0 * q1, q2, 0 * q2).C).max() < 1e-12
    # 59, 60, 63 without the conjugate of q_O2
    before = times(times(inverse(curves.qD), inverse(curves.qS)), curves.p2)
    printed = ca.horzcat(*(times(times(before, unit), curves.qP) for unit in ca.horzsplit(ca.SX.eye(4))))
    assert np.abs(at(printed - T.Cq[3:, 3:7], 0.3)).max() > 0.1
    # 3 as printed: 2(ϑ1ϑ2 + 2ϑ0ϑ3) is no rotation
    e = at(curves.p1, 0.3)[:, 0]
    R = np.array(ca.DM(rotation(ca.DM(e))))
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-12
    R[1, 0] += 2 * e[0] * e[3]
    assert np.abs(R @ R.T - np.eye(3)).max() > 1e-2
    # 22 lacks −¼|ω|² q
    omega = 2 * times(rate(curves.p1), inverse(curves.p1))
    half = 0.5 * times(rate(omega), curves.p1)
    assert np.abs(at(half - rate(rate(curves.p1)), 0.3)).max() > 1e-2
    corrected = half - 0.25 * ca.sumsqr(omega) * curves.p1
    assert np.abs(at(corrected - rate(rate(curves.p1)), 0.3)).max() < 1e-10


def test_there_are_64_joints_and_table_1_names_some():
    assert len(set(lock.masks())) == 64
    assert set(lock.TABLE1.values()) <= set(lock.masks())
    assert lock.TABLE1["revolute"] == "xyzij" and lock.TABLE1["Oldham"] == "xijk"


@pytest.mark.parametrize("rows", range(7))
def test_every_mask_leaves_the_freedom_it_says(rows):
    random = np.random.default_rng(rows)
    for mask in lock.masks():
        if len(mask) == rows:
            for _ in range(3):
                rank, smallest, residual = rank_of_mask(mask, random)
                assert residual < 1e-12, "the pose is feasible"
                assert rank == rows, mask
                assert smallest > 1e-4, "and not nearly singular"


def test_masks_are_checked():
    for mask in ("xx", "w", "xyzijkx"):
        with pytest.raises(DescriptionError, match="a mask is some of the letters"):
            Lock("hinge", "a", "b", mask=mask)


def test_kept_rows_are_taken_in_order():
    built, q1, q2 = feasible("xyzij", np.random.default_rng(5))
    assert built.kept == [0, 1, 2, 4, 5], "the real row of the quaternion is the fourth"
    T = built.evaluate(0.2, q1, 0 * q1, q2, 0 * q2)
    assert T.Cq.shape == (5, 14) and T.C.shape == T.Ct.shape == T.Qc.shape == (5,)


# -- motion laws -----------------------------------------------------------------------------

_KNOTS = np.linspace(0, 2, 9)
LAWS = {
    "constant": (laws.constant(3.0), 3.0 + 0 * TIME),
    "ramp": (laws.ramp(2.0, 0.5), 0.5 + 2 * TIME),
    "polynomial": (laws.polynomial([1, -2, 0.5, 0.25]), 1 - 2 * TIME + 0.5 * TIME**2 + 0.25 * TIME**3),
    "sine": (laws.sine(0.3, 1.5, 0.2, 0.1), 0.1 + 0.3 * ca.sin(2 * ca.pi * 1.5 * TIME + 0.2)),
    # a not-a-knot cubic spline reproduces any cubic
    "table": (laws.table(_KNOTS, _KNOTS**3 - _KNOTS), TIME**3 - TIME),
    "function": (laws.function(ca.Function("f", [TIME], [ca.exp(-TIME) * ca.cos(3 * TIME)])), None),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_have_exact_derivatives(name):
    law, plain = LAWS[name]
    plain = ca.exp(-TIME) * ca.cos(3 * TIME) if plain is None else plain
    expected = ca.Function("jet", [TIME], [plain, rate(plain), rate(rate(plain))])
    for t in (0.0, 0.37, 1.9):
        for ours, value in zip(law(t), expected(t), strict=True):
            assert abs(float(ours[0]) - float(value)) < 1e-10


def test_laws_stack_to_vectors():
    law = laws.stack(laws.constant([1.0, 2.0]), laws.ramp(3.0, name="lift"))
    assert law.size == 3 and law.name == "lift" and not law.still
    assert np.array_equal(np.array(law(2.0)), [[1, 2, 6], [0, 0, 3], [0, 0, 0]])
    assert laws.stack(laws.constant(1.0), laws.constant(2.0)).still


def test_places_of_driven_joints_have_exact_derivatives():
    """Turn and slide of every driven joint type: fourth-order differences of the place itself."""
    law, four = laws.sine(0.8, 0.7, 0.3), laws.ramp([0.3, -0.2, 0.5, 0.1], [1.0, 0.2, -0.3, 0.4])
    types = {"revolute": 1, "prismatic": 1, "helical": 1, "cylindrical": 2, "universal": 2, "planar": 3}
    cases = [(kind, [law] * count) for kind, count in types.items()] + [("spherical", [four])]
    h = 1e-3
    for kind, given in cases:
        place = motion_lock(Joint("j", kind, "ground", "b", pitch=0.2), given).wanted
        x = {k: place.columns(0.4 + k * h) for k in (-2, -1, 0, 1, 2)}
        for order in (0, 1):
            slope = (x[-2] - 8 * x[-1] + 8 * x[1] - x[2])[:, order] / (12 * h)
            assert np.abs(slope - x[0][:, order + 1]).max() < 1e-8, (kind, order)
        assert abs(np.linalg.norm(x[0][3:, 0]) - 1) < 1e-14


def test_a_law_that_is_not_a_number_names_itself():
    root = laws.function(ca.Function("f", [TIME], [ca.sqrt(1 - TIME)]), name="lift")
    assert root(0.5).x[0] > 0
    with pytest.raises(SimulationError, match="motion law 'lift' gives nan as its value at t = 2 s"):
        root(2.0)
    with pytest.raises(SimulationError, match="'lift' gives -inf as its first derivative at t = 1 s"):
        root(1.0)


@pytest.mark.parametrize(
    "build",
    [
        lambda: laws.constant(float("nan"), name="odd"),
        lambda: laws.table([0, 1, 1], [0, 1, 2], name="odd"),
        lambda: laws.table([0, 1], [0, float("inf")], name="odd"),
        lambda: laws.function(ca.Function("odd", [TIME, ca.SX.sym("x")], [TIME])),
        lambda: motion_lock(Joint("odd", "universal", "ground", "b"), laws.ramp(1.0)),
        lambda: motion_lock(Joint("odd", "universal", "ground", "b"), [laws.ramp(1.0), None]),
        lambda: motion_lock(Joint("odd", "spherical", "ground", "b"), laws.ramp(1.0)),
        lambda: motion_lock(Joint("odd", "free", "ground", "b"), laws.ramp(1.0)),
    ],
)
def test_laws_that_make_no_sense_are_refused_by_name(build):
    with pytest.raises(DescriptionError, match="'odd'"):
        build()


def test_a_table_ends_where_it_ends():
    with pytest.raises(SimulationError, match="'cam' is a table from 0 to 2 s and says nothing"):
        laws.table(_KNOTS, _KNOTS, name="cam")(2.5)


def test_markers_take_euler_parameters_of_any_length():
    moving = Marker(orientation=laws.ramp([0.1, 0.2, 0.3, 0.4], [2.0, 0.0, 1.0, 0.0]))
    place = moving.columns(0.8)[3:]
    assert abs(np.linalg.norm(place[:, 0]) - 1) < 1e-14
    assert abs(place[:, 0] @ place[:, 1]) < 1e-14
    assert abs(place[:, 0] @ place[:, 2] + place[:, 1] @ place[:, 1]) < 1e-14
