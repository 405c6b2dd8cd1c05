"""Transforms of a moving mechanism, in real messages of tf2, beside the engine's poses.

Where tf2_msgs is not installed (it is in every ROS installation, but not among the wheels) these are skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")
pytest.importorskip("tf2_msgs", reason="tf2_msgs is not installed")

from cutjoint import Simulation
from ros_client import Client, new_domain, node, stamp
from scipy.spatial.transform import Rotation
from test_ros_among_others import torques
from tf2_msgs.msg import TFMessage


def pose(message: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rotation matrix and origin of a transform."""
    p, o = message.transform.translation, message.transform.rotation
    return Rotation.from_quat([o.x, o.y, o.z, o.w]).as_matrix(), np.array([p.x, p.y, p.z])


@pytest.mark.parametrize("mechanism", ["stewart", "loader"])
def test_every_body_is_where_the_engine_has_it(mechanism: str) -> None:
    domain, prefix = new_domain(), "left/"
    parameters = ["tf=*", f"frame_prefix={prefix}", "placed_at=2 0.5 0 0 0 1.5707963267948966"]
    arguments = [mechanism, "--mode", "lock_step", "--param", *parameters]
    with node(domain, *arguments) as process, Client(domain) as client:
        heard = client.collect(TFMessage, "/tf")
        client.ready(process)
        client.until(lambda: client.node.count_publishers("/tf"), "/tf")
        client.spin(0.3)
        still = client.latched(TFMessage, "/tf_static").transforms
        twin = Simulation(mechanism)
        force = 30.0 if mechanism == "stewart" else 2e3
        u = [force * (-1) ** k for k in range(len(twin.inputs))]
        for _ in range(50):
            client.commands.publish(torques(*u))
            twin.set_inputs(u)
            twin.step(1e-3)
        client.until(lambda: heard and round(stamp(heard[-1].transforms[0]) / 1e-3) == 50, "the last period")
        assert process.stop() == 0, process.output
    [ground] = still
    assert (ground.header.frame_id, ground.child_frame_id) == ("world", f"{prefix}ground")
    turn, at = pose(ground)
    assert at.tolist() == [2.0, 0.5, 0.0]
    assert turn == pytest.approx(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), abs=1e-15)
    told = {t.child_frame_id: t for t in heard[-1].transforms}
    assert {t.header.frame_id for t in told.values()} == {f"{prefix}ground"}  # one tree, with one root
    bodies = twin.body_poses()
    assert set(told) >= {prefix + name for name in bodies if name != "ground"}
    for name, (R, p) in bodies.items():
        if name != "ground":
            here, origin = pose(told[prefix + name])
            assert origin == pytest.approx(p, abs=1e-9) and here == pytest.approx(R, abs=1e-9), name
    start = Simulation(mechanism).body_poses()
    moved = max(float(np.abs(start[n][1] - bodies[n][1]).max()) for n in bodies)
    assert moved > 1e-3, "it must move for this to say something"
