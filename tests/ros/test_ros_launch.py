"""A node as its launch file starts it, in a namespace, by a file: the layouts show what it has."""

from __future__ import annotations

import importlib
import json
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")

from ros_client import Client, new_domain, node
from std_msgs.msg import String
from test_ros_package import layout_topics


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """With the words that launch_ros makes of stewart.launch.py."""
    file = tmp_path_factory.mktemp("launch") / "launch_params"
    file.write_text(json.dumps({"/**": {"ros__parameters": {"mechanism": "stewart"}}}))
    words = ["--ros-args", "-r", "__node:=cutjoint", "-r", "__ns:=/stewart", "--params-file", str(file)]
    domain = new_domain()
    with node(domain, *words) as process, Client(domain, "stewart") as client:
        client.ready(process)
        yield client
        assert process.stop() == 0, process.output


def test_it_has_the_topics_that_the_layouts_show_and_tells_something_there(launched: Client) -> None:
    for topic, kind in layout_topics().items():
        there = launched.until(
            lambda topic=topic: dict(launched.node.get_topic_names_and_types()).get(topic), topic
        )
        assert there == [kind], topic
        package, _, name = kind.partition("/msg/")
        message = getattr(importlib.import_module(f"{package}.msg"), name)
        if topic.endswith("/robot_description"):
            assert launched.latched(message, topic).data  # as the display asks for it
            continue
        heard = launched.collect(message, topic)  # reliably, as both programs ask where nothing is said
        launched.until(lambda heard=heard: heard, topic)


def test_the_layouts_look_from_a_frame_that_it_has(launched: Client) -> None:
    links = xml.fromstring(launched.latched(String, "robot_description").data).findall("link")
    assert "ground" in {link.get("name") for link in links}
    frames = {marker.header.frame_id for marker in shapes(launched)}
    assert frames == {"ground"}


def test_the_plots_show_the_motors(launched: Client) -> None:
    state = launched.until(lambda: launched.states, "joint states")[-1]
    assert list(state.name[:3]) == ["motor1", "motor2", "motor3"]
    assert len(state.position) == len(state.effort) >= 3


def shapes(client: Client) -> list[Any]:
    from visualization_msgs.msg import MarkerArray

    heard = client.collect(MarkerArray, "markers")
    return list(client.until(lambda: heard, "markers")[-1].markers)
