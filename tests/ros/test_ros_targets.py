"""Commands by pose: the platform goes where it is asked to, or a sentence says why not."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from bulk import bulk
from cutjoint.model.base.errors import CutjointError
from cutjoint.model.chain.chain import Chain
from cutjoint.model.chain.target import Target
from cutjoint.model.describe.targets import SIX
from cutjoint.model.joints.rigid_motion import conjugate, product
from cutjoint.ros.loop import Loop
from geometry_msgs.msg import PoseStamped
from ros_client import Client, new_domain, node
from test_ros_hold import looped

BY = {"stewart": (0.05, -0.03, 0.0), "hexapod": (0.02, -0.01, 0.03), "delta": (0.1, 0.05, -0.05)}
TURNED = {"stewart": (1.0, 0.0, 0.0, 0.1), "hexapod": (1.0, 0.02, -0.03, 0.01)}


def place(loop: Loop) -> np.ndarray:
    return np.asarray(loop.simulation.body_poses()["platform"][1])


def moved(home: np.ndarray, *by: float) -> np.ndarray:
    return home + np.array(by)


def advance(loop: Loop, seconds: float) -> np.ndarray:
    """Positions of the platform after each period."""
    found = []
    for _ in range(round(seconds * loop.settings.rate)):
        loop.advance()
        found.append(loop.simulation.body_poses()["platform"][1])
    assert not loop.fault
    return np.array(found)


@pytest.mark.parametrize("name", bulk([*BY], ["hexapod", "delta"]))
def test_the_platform_goes_where_it_is_asked_to(name: str) -> None:
    loop = looped(name, rate=200.0, compile=False)
    at, turned = place(loop) + BY[name], TURNED.get(name)
    course = loop.trajectories.take_pose(Target(loop.simulation.mechanism.targets[0].name, at, turned))
    assert course.follower is not None
    advance(loop, course.follower.end + 1.0)
    chain = Chain(loop.simulation)
    (described,) = chain.mechanism.targets
    found = chain.pose("platform")
    turn = np.zeros(3)
    if turned is not None:
        off = product(ca.DM(found.orientation), conjugate(ca.DM(np.array(turned) / np.linalg.norm(turned))))
        turn = 2 * np.array(off).ravel()[1:]
    misses = dict(zip(SIX, (*(np.asarray(found.position) - at), *turn), strict=True))
    assert max(abs(misses[row]) for row in described.rows) < 1e-6


def test_a_new_target_blends_with_the_motion() -> None:
    loop = looped("delta", rate=200.0, compile=False)
    home = place(loop)
    loop.trajectories.take_pose(Target("platform", moved(home, 0.1, 0.0, -0.05)))
    first = advance(loop, 0.4)
    loop.trajectories._rests_until = 0.0  # of the machine's time, which is not looked at here
    course = loop.trajectories.take_pose(Target("platform", moved(home, -0.05, 0.1, 0.0)))
    assert course.follower is not None
    path = np.vstack((first, advance(loop, course.follower.end + 0.5)))
    assert path[-1] == pytest.approx(moved(home, -0.05, 0.1, 0.0), abs=1e-6)
    h = 1 / loop.settings.rate
    speed, acceleration = (np.linalg.norm(np.diff(path, k, axis=0) / h**k, axis=1) for k in (1, 2))
    assert speed.max() < 0.2 * 1.01
    assert acceleration.max() < 1.0 * 1.2


def test_what_cannot_be_reached_is_refused_and_nothing_moves() -> None:
    loop = looped("delta", rate=200.0, compile=False)
    home = place(loop)
    for target, said in (
        (Target("platform", moved(home, 0.0, 0.0, -3.0)), "of the way"),
        (Target("platform", (np.nan, 0.0, 0.0)), "finite"),
        (Target("tool", home, (1, 0, 0, 0), rows=("rx",)), "rows x, y, z"),
    ):
        with pytest.raises(CutjointError, match=said):
            loop.trajectories.take_pose(target)
    assert advance(loop, 0.5)[-1] == pytest.approx(home, abs=1e-9)


def test_a_stop_ends_the_way_and_refuses_the_next() -> None:
    loop = looped("delta", rate=200.0, compile=False)
    home = place(loop)
    loop.trajectories.take_pose(Target("platform", moved(home, 0.1, 0.0, 0.0)))
    advance(loop, 0.4)
    loop.emergency_stop(True)
    held = advance(loop, 1.0)
    assert np.abs(np.diff(held[-50:], axis=0)).max() < 1e-5
    assert held[-1][0] < home[0] + 0.09


def asked(x: Any, frame: str = "", orientation: Any = (1.0, 0.0, 0.0, 0.0)) -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    p, o = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = map(float, x)
    o.w, o.x, o.y, o.z = map(float, orientation)
    return message


def test_a_node_goes_by_pose_in_real_time() -> None:
    """Refused sentences are told, and the last target holds."""
    domain = new_domain()
    with node(domain, "delta", "--rate", "200") as process, Client(domain) as client:
        client.ready(process)
        publisher = client.node.create_publisher(PoseStamped, "target_pose", 1)
        client.until(publisher.get_subscription_count, "target_pose")
        publisher.publish(asked((0.0, 0.0, -5.0)))
        client.until(lambda: "target refused: " in process.output, "a refusal")

        def told() -> bool:
            """Warnings of a kind come every few seconds at most."""
            publisher.publish(asked((0.0, 0.0, -0.7), frame="nowhere"))
            return "its frame_id must be 'ground'" in process.output

        client.until(told, "a refusal")
        goal = np.array((0.05, 0.0, -0.7))
        publisher.publish(asked(goal, frame="ground", orientation=(0, 0, 0, 0)))  # what no row asks for
        legs = Chain("delta").inverse(Target("platform", goal)).actuators
        wanted = [legs[f"motor{k}"][0] for k in (1, 2, 3)]

        def there() -> bool:
            if not client.states:
                return False
            now = dict(zip(client.states[-1].name, client.states[-1].position, strict=True))
            return bool(np.abs(np.array([now[f"motor{k}"] for k in (1, 2, 3)]) - wanted).max() < 1e-6)

        client.until(there, "the pose")
        assert process.stop() == 0, process.output
