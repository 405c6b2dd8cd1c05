"""Linear models close to singular poses: seeded random loops that are drawn along one line, then bent.

Witnesses are the derivative of the traced dynamics, the very code that is stepped, carried along the lift as
an FMU does; and null spaces by singular values. Below distances of about 1e-4 a step softens the rows it can
hardly meet, and is no witness any more.
"""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from cutjoint.model import Body, Frame, Joint, Mechanism, Simulation
from cutjoint.model.equations.traced import closure
from cutjoint.model.linear.derivatives_closed import recursive_linear
from cutjoint.model.linear.directional import directional
from cutjoint.model.linear.exact import linear
from cutjoint.model.linear.linearize import coordinate_map, tangents
from cutjoint.model.manifold.rank import allowed_motions
from cutjoint.model.manifold.tangent import tangent
from cutjoint.model.run.independent import chart

SEEDS = range(8)
BENDS = {1e-2: 1e-10, 1e-3: 1e-7}  # rad: what the linear model may differ by, of a row's largest slope


def in_line(seed: int, ball: bool) -> Mechanism:
    """Three to five bars of 10 g to 10 kg on hinges, the last one cut in space; or one of them on a ball."""
    random = np.random.default_rng(seed)
    while True:  # at least two bars point each way, so that the loop is not stretched out
        lengths = random.uniform(0.2, 1.0, random.integers(3, 6)) * random.choice([-1, 1])
        lengths[random.permutation(len(lengths))[:2]] *= -1
        ahead = np.sign([*lengths, -lengths.sum()])
        if abs(lengths.sum()) > 0.2 and min((ahead > 0).sum(), (ahead < 0).sum()) >= 2:
            break
    bodies, joints = [], []
    for k, length in enumerate(lengths):
        mass, side = 10 ** random.uniform(-2, 1), random.normal(scale=0.05, size=2)
        inertia = tuple(mass * length**2 * np.array([1 / 20, 1 / 12, 1 / 12])) + (0.0,) * 3
        bodies.append(Body(f"bar{k}", mass, (length / 2 + side[0], side[1], 0.0), inertia))
        before = Frame((lengths[k - 1] if k else 0.0, 0.0, 0.0))
        kind = "spherical" if ball and k == 1 else "revolute"
        joints.append(Joint(f"pin{k}", kind, f"bar{k - 1}" if k else "ground", f"bar{k}", before))
    end, there = Frame((lengths[-1], 0.0, 0.0)), Frame((lengths.sum(), 0.0, 0.0))
    joints.append(Joint("last", "revolute", f"bar{len(lengths) - 1}", "ground", end, there, cut=True))
    return Mechanism(f"in_line{seed}", tuple(bodies), tuple(joints), gravity=(0.0, -9.81, 0.0))


def bent(seed: int, bend: float, ball: bool) -> Simulation:
    """The loop closed near the line, moving."""
    s = Simulation(in_line(seed, ball), compile=False)
    random = np.random.default_rng(100 + seed)
    q = s.engine.retract(s.q, bend * random.normal(size=s.tree.nv))
    for _ in range(20):
        g, G = s.engine.closure(q, s.p)
        q = s.engine.retract(q, -np.linalg.pinv(G, rcond=1e-12) @ g)
    K, _ = allowed_motions(G, s.engine.generic_rank(q, s.p)[0])
    s.put(replace(s.state, q=q, v=K @ random.normal(size=K.shape[1])))
    return s


def stepped(s: Simulation, picked: np.ndarray) -> np.ndarray:
    """A by the derivative of the traced dynamics along the lift, in a chart that picks speeds."""
    free, zero = 1.0 - picked.sum(axis=0), np.zeros(s.tree.nv)
    f = tangent(s.equations, s.engine.traced("outputs"))
    columns = []
    for along in ("d", "v"):
        for row in picked:
            seeds = row if along == "d" else zero, row if along == "v" else zero
            found = f(s.q, zero, s.v, free, free, s.u, s.p, *seeds, [], 0 * s.u, 0 * s.p)
            columns.append(
                np.concatenate([picked @ found[0].full().ravel(), picked @ found[1].full().ravel()])
            )
    return np.array(columns).T


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """Of the largest entry of each row, or of one."""
    return float((np.abs(found - wanted) / np.abs(wanted).max(axis=1, keepdims=True).clip(1.0)).max())


@pytest.mark.parametrize("ball", [False, True])
@pytest.mark.parametrize("bend", BENDS)
def test_linear_model_is_the_derivative_of_what_is_stepped(bend: float, ball: bool) -> None:
    for seed in SEEDS:
        s = bent(seed, bend, ball)
        R = chart(s.engine, s.state, "partition").R
        off = error(s.linearize(states=R).A, stepped(s, R))
        print(f"seed {seed}: distance {s.singularity_distance():.1e}, off by {off:.1e}")
        assert off < BENDS[bend], seed


@pytest.mark.parametrize("states", ["partition", "tangent"])
def test_motions_are_those_of_a_null_space(states: str) -> None:
    """K divides by the distance, and K̇ by its square: that is how round-off of the pose itself grows."""
    for seed in SEEDS:
        s = bent(seed, 1e-4, ball=False)
        chosen = chart(s.engine, s.state, states)
        R = chosen.R
        rate = coordinate_map(s.engine, s.q) @ s.v
        (_, G, _), (_, dG, _) = directional(s.engine, "closure", 1, "q", closure)((s.q, s.p), [rate[:, None]])
        whole, n = np.vstack([R, G]), len(R)
        K = np.linalg.lstsq(whole, np.eye(len(whole))[:, :n], rcond=1e-9)[0]
        bends = dG.reshape(G.shape, order="F") @ K
        L = np.linalg.lstsq(whole, -np.vstack([0 * R @ K, bends]), rcond=1e-9)[0]
        found = tangents(s.engine, s.state, chosen)
        off = error(found, np.block([[K, 0 * K], [L, K]]))
        print(f"seed {seed}: distance {s.singularity_distance():.1e}, off by {off:.1e}")
        assert off < 1e-7, seed


def test_both_roads_agree_where_rows_nearly_vanish() -> None:
    for seed in SEEDS:
        for ball in (False, True):
            s = bent(seed, 1e-3, ball)
            R = ca.sparsify(ca.SX(ca.DM(chart(s.engine, s.state, "partition").R)))
            recursive, automatic = (
                road(s.equations, R)(s.q, s.v, s.u, s.p)[0].full() for road in (recursive_linear, linear)
            )
            off = error(recursive, automatic)
            print(f"seed {seed}: distance {s.singularity_distance():.1e}, off by {off:.1e}")
            assert off < 1e-7, seed
