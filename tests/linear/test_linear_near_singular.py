"""Linear models close to singular poses: seeded random loops that are drawn along one line, then bent.

Witnesses are the derivative of the traced dynamics, the very code that is stepped, carried along null spaces
by singular values; and a parallelogram, whose rods stay parallel, in closed form. Below distances of about
1e-4 a step softens the rows it can hardly meet, and is no witness any more.
"""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from cutjoint import Body, Frame, Joint, Mechanism, Simulation
from cutjoint.model.equations.traced import closure
from cutjoint.model.linear.directional import directional
from cutjoint.model.linear.exact import linear
from cutjoint.model.linear.linearize import coordinate_map, tangents, underlying_slopes
from cutjoint.model.linear.tangent import tangent
from cutjoint.model.manifold.rank import allowed_motions
from cutjoint.model.run.independent import chart
from cutjoint.papers.spencer_closed_recursions import recursive_linear
from mechanisms import four_bars

SEEDS = range(4)
BENDS = {1e-2: 2e-9, 1e-3: 1e-6}  # rad: what the linear model may differ by, of a row's largest slope


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
        g, G = s.engine.closure(q, s.s, s.p)
        q = s.engine.retract(q, -np.linalg.pinv(G, rcond=1e-12) @ g)
    K, _ = allowed_motions(G, s.engine.generic_rank(q, s.s, s.p)[0])
    s.put(replace(s.state, q=q, v=K @ random.normal(size=K.shape[1])))
    return s


def stepped(s: Simulation, picked: np.ndarray) -> np.ndarray:
    """A by the derivative of the traced dynamics along null spaces, in a chart that picks speeds."""
    n, N, at = len(picked), coordinate_map(s.engine, s.q), (s.q, s.s, s.p)
    _, G = s.engine.closure(*at)
    K = np.linalg.lstsq(np.vstack([picked, G]), np.eye(n + len(G))[:, :n], rcond=1e-9)[0]
    _, (_, bends, _) = directional(s.engine, "closure", n, "q", closure)(at, [N @ K])
    slip = np.einsum("ijk,j->ik", bends.reshape(*G.shape, n, order="F"), s.v)
    L = np.linalg.lstsq(np.vstack([picked, G]), -np.vstack([np.zeros((n, n)), slip]), rcond=1e-9)[0]
    T = np.block([[K, 0 * K], [L, K]])
    rates = underlying_slopes(s.engine, s.state, T)
    return np.vstack([picked @ rates[: s.tree.nv], picked @ rates[s.tree.nv :]])


def along_directions(s: Simulation, picked: np.ndarray) -> np.ndarray:
    """A as an FMU has it: one direction after the other, in a chart that is chosen while it runs."""
    free, zero = 1.0 - picked.sum(axis=0), np.zeros(s.tree.nv)
    f, columns = tangent(s.equations, [], len(picked)), []
    for seeds in [(row, zero) for row in picked] + [(zero, row) for row in picked]:
        rate, dv, *_ = f(s.q, zero, s.v, s.z, free, free, s.u, s.p, *seeds, [], 0 * s.u, 0 * s.p)
        columns.append(np.concatenate([picked @ rate.full().ravel(), picked @ dv.full().ravel()]))
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
        assert error(along_directions(s, R), stepped(s, R)) < BENDS[bend], seed


# rad: what A of a parallelogram may be off by; one digit more than measured
PARALLEL = {1e-2: 1e-11, 1e-3: 1e-8, 1e-4: 1e-6, 1e-5: 1e-4, 1e-6: 1e-2}


@pytest.mark.parametrize("bend", PARALLEL)
def test_a_parallelogram_near_its_line_up(bend: float) -> None:
    """Two rods and a coupler of 1 m and 1 kg move as one: (2 J + m l²) θ̈ = −2 m g l cos θ."""
    for sign in (1, -1):
        s = Simulation(four_bars(1, angle=sign * bend, speed=0.7), compile=False)
        inertia = 2 * (s.mechanism.bodies[0].inertia[2] + 0.25) + 1.0
        g = -min(s.mechanism.gravity)
        picked = np.eye(s.tree.nv)[[s.tree.v["base0"].start]]
        angle = s.q[s.tree.q["base0"].start]
        wanted = np.array([[0.0, 1.0], [2.0 * g * np.sin(angle) / inertia, 0.0]])
        for found in (s.linearize(states=picked).A, along_directions(s, picked)):
            off = np.abs(found - wanted).max()
            print(f"distance {s.singularity_distance():.1e}, off by {off:.1e}")
            assert off < PARALLEL[bend]


@pytest.mark.parametrize("bend", [1e-2, 1e-4, 1e-5])
def test_both_forms_agree_at_any_bend(bend: float) -> None:
    """All columns at once, and one direction after the other, of the same derivation."""
    for seed in SEEDS:
        s = bent(seed, bend, ball=seed % 2 == 1)
        R = chart(s.engine, s.state, "partition").R
        one, other = s.linearize(states=R).A, along_directions(s, R)
        assert error(one, other) < 1e-13 / bend**1.5, seed


@pytest.mark.parametrize("states", ["partition", "tangent"])
def test_motions_are_those_of_a_null_space(states: str) -> None:
    """K divides by the distance, and K̇ by its square: that is how round-off of the pose itself grows."""
    for seed in SEEDS:
        s = bent(seed, 1e-4, ball=False)
        chosen = chart(s.engine, s.state, states)
        R = chosen.R
        rate = coordinate_map(s.engine, s.q) @ s.v
        (_, G, _), (_, dG, _) = directional(s.engine, "closure", 1, "q", closure)(
            (s.q, s.s, s.p), [rate[:, None]]
        )
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
                road(s.equations, R)(*s.at)[0].full() for road in (recursive_linear, linear)
            )
            off = error(recursive, automatic)
            print(f"seed {seed}: distance {s.singularity_distance():.1e}, off by {off:.1e}")
            assert off < 1e-7, seed
