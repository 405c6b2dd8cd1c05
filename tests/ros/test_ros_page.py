"""The page on the node can be followed where pip brought ROS: its script moves its robot."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from processes import PATIENCE
from ros_client import Client, environment, new_domain, node

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ros.md"


def test_the_script_of_the_page_moves_the_robot_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no `ros2` command, nothing on it could be done."""
    robot, script = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), flags=re.M | re.S)[:2]
    monkeypatch.chdir(tmp_path)
    exec(compile(robot, PAGE.name, "exec"), {})
    Path("move.py").write_text(script)
    domain = new_domain()
    words = ["my_robot.urdf", "--no-compile", "--rate", "200"]
    with node(domain, *words) as process, Client(domain) as client:
        client.ready(process)
        done = subprocess.run(
            [sys.executable, "move.py"],
            env=environment(domain),
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        said = "elbow is at .*\nshoulder is at .*\ntracking_frequency set: True\nreset says: at the start\n"
        assert re.fullmatch(said, done.stdout), done.stdout
        assert process.stop() == 0, process.output
