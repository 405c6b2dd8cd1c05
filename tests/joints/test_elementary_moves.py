"""Every elementary move keeps the contract at the top of `joints/moves.py`, passed either way."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from cutjoint.model.joints.moves import Hz, Px, Py, Pz, Q, Rx, Ry, Rz
from cutjoint.model.joints.rigid_motion import Pose, about_z, compose, inverse, rotation

MOVES = (Rx, Ry, Rz, Px, Py, Pz, Hz, Q)
SCREW = SimpleNamespace(pitch=0.17)
WAYS = {False: "outward", True: "reversed"}


class Case:
    """A move passed one way, at seeded coordinates and speeds."""

    def __init__(self, move, reverse):
        self.move, self.reverse = move, reverse
        random = np.random.default_rng(2 * MOVES.index(move) + reverse)
        self.q, self.r = (self.coordinates(random) for _ in range(2))
        self.v, self.k, self.d = random.normal(size=(3, move.nv))
        self.symbols = [ca.SX.sym(name, n) for name, n in (("q", move.nq), ("v", move.nv), ("k", move.nv))]

    def coordinates(self, random):
        x = random.normal(size=self.move.nq)
        return x if self.move.plain else x / np.linalg.norm(x)

    def pose(self, q, *at):
        return self.move.pose(q, SCREW, self.reverse, *at)

    def rates(self, q, v):
        return self.move.rates(q, v, self.reverse)

    def displacement(self, r, q):
        return self.move.displacement(r, q, self.reverse)

    def retraction(self, r, d):
        return self.move.normalized(r + self.rates(r, d))

    def value(self, expression):
        """Of an expression of `symbols`."""
        f = ca.Function("f", self.symbols, [ca.densify(ca.SX(expression))])
        return np.array(f(self.q, self.v, self.k))


@pytest.fixture(params=[(m, r) for m in MOVES for r in WAYS], ids=lambda p: f"{p[0]}-{WAYS[p[1]]}")
def case(request):
    return Case(*request.param)


def equal(a, b, tolerance=1e-12):
    a, b = (np.array(ca.DM(ca.densify(ca.SX(x)))) for x in (a, b))
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def test_names_and_units_are_one_a_number(case):
    move = case.move
    assert len(move.endings) == len(move.units) == len(move.zero) == move.nq
    assert len(move.speed_units) == move.nv
    assert [unit.endswith("/s") for unit in move.speed_units] == [True] * move.nv


def test_the_frames_coincide_at_zero(case):
    zero = case.pose(np.array(case.move.zero))
    equal(zero.R, np.eye(3))
    equal(zero.p, np.zeros(3))


def test_the_reversed_pose_is_the_inverse(case):
    there, back = (case.move.pose(case.q, SCREW, reverse) for reverse in (False, True))
    for a, b in zip(back, inverse(there), strict=True):
        equal(a, b)


def test_euler_parameters_turn_as_the_pose_does(case):
    e = case.move.euler_parameters(case.q, case.reverse)
    equal(ca.norm_2(e), 1.0)
    equal(rotation(e), case.pose(case.q).R)


def test_the_subspace_is_the_derivative_of_the_pose(case):
    """f⁻¹ḟ = [S v] along q̇ = N(q) v."""
    q, v, _ = case.symbols
    R, p = case.pose(q)
    R_rate, p_rate = (ca.reshape(ca.jtimes(ca.vec(x), q, case.rates(q, v)), *x.shape) for x in (R, p))
    twist = case.move.subspace(SCREW, case.reverse) @ v
    assert twist.shape == (6, 1)
    equal(case.value(R.T @ R_rate), case.value(ca.skew(ca.densify(twist)[:3])))
    equal(case.value(R.T @ p_rate), case.value(twist[3:]))


def test_the_subspace_moves_along_the_axes_the_move_names(case):
    S = np.array(ca.DM(case.move.subspace(SCREW, case.reverse)))
    assert set(np.flatnonzero(S[:3].any(axis=1))) == set(case.move.turns)
    assert set(np.flatnonzero(S[3:].any(axis=1))) == set(case.move.slides)
    assert np.linalg.matrix_rank(S) == case.move.nv


def test_moves_about_z_let_turns_and_slides_along_z_pass(case):
    """f with a constant turn and slide is f before or behind it."""
    if case.move.about_z:
        turn, slide = 0.7, -0.3
        constant = Pose(about_z(turn), ca.SX([0, 0, slide]))
        bare = case.pose(case.q)
        for other in (compose(bare, constant), compose(constant, bare)):
            for a, b in zip(case.pose(case.q, turn, slide), other, strict=True):
                equal(a, b)
    else:
        assert {*case.move.turns, *case.move.slides} != {2}


def test_rates_keep_the_length_of_what_has_one(case):
    rate = np.array(ca.DM(case.rates(case.q, case.v))).ravel()
    if case.move.plain:
        equal(rate, case.v)
    else:
        assert abs(rate @ case.q) < 1e-14


def test_normalized_coordinates_give_the_same_pose(case):
    q = case.move.normalized(case.q if case.move.plain else 1.7 * case.q)
    equal(q, case.q)


def test_displacement_undoes_the_retraction(case):
    equal(case.displacement(case.r, case.retraction(case.r, case.d)), case.d)


def test_retraction_undoes_the_displacement(case):
    q = case.retraction(case.r, case.displacement(case.r, case.q))
    back, there = case.pose(np.array(ca.DM(q)).ravel()), case.pose(case.q)
    equal(back.R, there.R)  # −e turns as e does
    equal(back.p, there.p)


def test_displacement_rates_are_the_rates_of_the_displacement(case):
    """ḋ = E(d) v along q̇ = N(q) v."""
    q, v, _ = case.symbols
    d = case.displacement(case.r, q)
    along = ca.jtimes(d, q, case.rates(q, v))
    equal(case.value(along), case.value(case.move.displacement_rates(d, v)), 1e-10)


def test_displacement_rates_begin_as_speeds(case):
    equal(case.move.displacement_rates(np.zeros(case.move.nv), case.v), case.v)


def test_rows_along_displacements_undo_the_rates(case):
    """E E⁻¹ = 1."""
    columns = [case.move.displacement_rates(case.d, v) for v in np.eye(case.move.nv)]
    E = ca.horzcat(*(ca.DM(column) for column in columns))
    equal(case.move.by_displacement(ca.SX(E), case.d), np.eye(case.move.nv))


def test_the_bracket_is_the_commutator_of_the_fields(case):
    """[N v, N k] = ∂(N k)/∂q N v − ∂(N v)/∂q N k = N [v, k]."""
    q, v, k = case.symbols
    Nv, Nk = case.rates(q, v), case.rates(q, k)
    commutator = ca.jtimes(Nk, q, Nv) - ca.jtimes(Nv, q, Nk)
    bracket = case.move.bracket(v)
    assert bracket.shape == (case.move.nv, case.move.nv)
    equal(case.value(commutator), case.value(case.rates(q, bracket @ k)))


def test_user_and_engine_move_the_coordinates_alike(case):
    s = case.move.user_speed(ca.DM(case.q), ca.DM(case.v), case.reverse)
    equal(case.move.rates(case.q, s), case.rates(case.q, case.v))
    equal(case.move.engine_speed(ca.DM(case.q), s, case.reverse), case.v)


def test_accelerations_change_sides_as_speeds_do(case):
    """The user's speed, differentiated along the motion at accelerations k, is `user_speed` of k."""
    q, v, k = case.symbols
    s = case.move.user_speed(q, v, case.reverse)
    rate = ca.jtimes(s, q, case.rates(q, v)) + ca.jtimes(s, v, k)
    equal(case.value(rate), case.value(case.move.user_speed(q, k, case.reverse)))


@pytest.mark.parametrize("move", MOVES, ids=str)
def test_single_moves_do_the_same(move):
    """The chain of single moves at the single values has the pose, and their rates are the single speeds."""
    case = Case(move, False)
    q, v, _ = case.symbols
    near = [0.1] * len(move.singles)
    values, speeds = move.single_values(ca.vertsplit(q), ca.vertsplit(v), near, SCREW)
    f = Pose(ca.SX.eye(3), ca.SX(3, 1))
    for single, value in zip(move.singles, values, strict=True):
        assert (single.nq, single.singles) == (1, (single,))
        f = compose(f, single.pose(value, SCREW))
    for a, b in zip(f, case.pose(q), strict=True):
        equal(case.value(a), case.value(b))
    along = ca.jtimes(ca.vertcat(*values), q, move.rates(q, v))
    equal(case.value(along), case.value(ca.vertcat(*speeds)))


def test_moves_are_equal_by_what_they_do():
    assert len(set(MOVES)) == len(MOVES)
    assert (type(Rz)(2), type(Q)()) == (Rz, Q)
