"""A planar delta robot of 23 g whose loops close on beads of 7 mg: inertias of very different size.

Numbers are those of a desk-top robot drawn in CAD (its lengths in millimetres, its masses in grams), with
the closing hinges between beads as the drawing program writes them: each bead turns on one link, and is fixed
to the bead of the other.
"""

import numpy as np
from cutjoint import Body, Frame, Joint, Mechanism, Simulation
from cutjoint.model.verify.laws import check_linear
from cutjoint.model.verify.motion import move
from scipy.spatial.transform import Rotation

MILLI = 1e-3
# Name: mass in g, centre in mm, inertias xx, yy, zz, xy in g·mm².
LINKS = {
    "rod1": (2.84, (0, 20, -1.25), (442.55, 26.94, 466.53, 0)),
    "connecting_rod1": (4.46, (0, -30, -1.25), (1692.72, 41.28, 1729.36, 0)),
    "effector": (3.8208, (-6.1176, 5.1037, -3.5514), (128.49, 144.14, 224.98, -10.74)),
    "rod2": (2.84, (0, 20, -1.25), (442.55, 26.94, 466.53, 0)),
    "connecting_rod2": (4.46, (0, 30, -1.25), (1692.72, 41.28, 1729.36, 0)),
    "transmission_rod": (1.4908, (0, 20, -1.25), (254.55, 4.027, 257.03, 0)),
    "transmission": (1.338, (-3.094, 5.0567, -1.25), (28.703, 38.998, 66.307, 12.185)),
    "transmission_connecting_rod": (2.1658, (0, 30, -1.25), (761.09, 5.785, 764.62, 0)),
    **{f"bead{k}": (0.00654498, (0, 0, 0), (0.01636246,) * 3 + (0,)) for k in range(1, 7)},
}
TURN = 0.021170584225393276  # rad: how far the first rod is turned in the drawing
# Joint: parent, child, where on the parent in mm, roll, pitch and yaw of its frame there.
HINGES = {
    "motor1": ("ground", "rod1", (5, -10, 50), (-np.pi / 2, TURN, np.pi / 2)),
    "elbow1": ("rod1", "connecting_rod1", (0, 40, 0), (np.pi, 0, 0)),
    "wrist": ("connecting_rod1", "effector", (0, -60, 0), (np.pi, 0, 0)),
    "on_effector3": ("effector", "bead1", (-9.659258262890694, -2.5881904510252, -7.5), (np.pi, 0, -TURN)),
    "on_effector2": ("effector", "bead2", (0, 0, -2.5), (-np.pi, 0, np.pi - TURN)),
    "motor2": ("ground", "rod2", (5, 10, 50), (-np.pi / 2, 0, np.pi / 2)),
    "elbow2": ("rod2", "connecting_rod2", (0, 40, -2.5), (0, 0, 0)),
    "on_connecting_rod2": ("connecting_rod2", "bead3", (0, 0, -2.5), (0, 0, -1.9618098062391556)),
    "end_of_connecting_rod2": ("connecting_rod2", "bead4", (0, 60, 0), (-np.pi, 0, np.pi / 2)),
    "base3": (
        "ground",
        "transmission_rod",
        (7.5, 12.070552360820205, 57.7274066103122),
        (-np.pi / 2, 0, np.pi / 2),
    ),
    "corner": ("transmission_rod", "transmission", (0, 40, -2.5), (0, 0, np.pi / 2)),
    "elbow3": ("transmission", "transmission_connecting_rod", (-10, 8, -2.5), (0, 0, -np.pi / 2)),
    "end3": ("transmission_connecting_rod", "bead5", (0, 60, 0), (-np.pi, 0, -np.pi)),
    "on_transmission": ("transmission", "bead6", (0, 8, 0), (0, 0, -np.pi / 2)),
}
WELDS = (("bead6", "bead3"), ("bead2", "bead4"), ("bead5", "bead1"))


def robot() -> Mechanism:
    bodies = [
        Body(
            name,
            mass * MILLI,
            tuple(x * MILLI for x in com),
            tuple(x * MILLI**3 for x in (*inertia, 0.0, 0.0)),
        )
        for name, (mass, com, inertia) in LINKS.items()
    ]
    joints = []
    for name, (parent, child, at, turn) in HINGES.items():
        x, y, z, w = Rotation.from_euler("xyz", turn).as_quat()
        joints.append(
            Joint(name, "revolute", parent, child, Frame(tuple(c * MILLI for c in at), (w, x, y, z)))
        )
    joints += [Joint(f"weld{k}", "fixed", *pair, cut=True) for k, pair in enumerate(WELDS)]
    return Mechanism("desk_delta", tuple(bodies), tuple(joints))


def test_accelerations_agree_with_a_null_space() -> None:
    """Under gravity from rest: 120 % off, silently, when all rows had one softness."""
    s = Simulation(robot(), compile=False)
    assert s.start_report.residual < 1e-12
    M, G, right, _, _ = s.engine.kernels.coefficients(*s.at)
    S = G @ np.linalg.solve(M, G.T)
    values = np.linalg.eigvalsh(S)
    assert values.max() > 1e10  # what makes it hard
    _, sizes, V = np.linalg.svd(G / np.linalg.norm(G, axis=1, keepdims=True).clip(1e-30))
    K = V[(sizes > 1e-9).sum() :].T
    exact = K @ np.linalg.solve(K.T @ M @ K, K.T @ right)
    assert np.abs(s.accelerations()[0] - exact).max() < 1e-8 * np.abs(exact).max()


def test_its_loops_stay_closed() -> None:
    s = Simulation(robot(), compile=False)
    start = s.energy()
    s.run(0.05, 1e-3, record=["energy"])
    assert np.abs(s.closure()[0]).max() < 1e-9
    assert np.abs(s.v).max() > 0.1
    assert abs(s.energy() - start) < 1e-6 * s.outputs()["energy_kinetic"]


def test_its_linear_model_in_motion() -> None:
    """Near a singular pose (smallest singular value 5e-4): against differences, as the trust report asks."""
    s = Simulation(robot(), compile=False)
    motion = move(s, s.state, 50, 1e-3, lambda part: None)
    assert check_linear(s, motion).passed
