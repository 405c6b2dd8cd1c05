"""`cutjoint replay`: make a motion again that a node recorded, and compare; or publish what it published."""

import argparse
import importlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..model import CutjointError, Simulation, load
from ..model.cli.common import Options, positive
from ..model.errors import brought_by
from ..model.run.joint_values import JointValues
from ..model.run.live import made_live
from ..model.state import State

HELP = "Make a recorded motion again from its inputs, and say how far it is from the recorded one."
EXAMPLE = """
cutjoint replay run.mcap          # of: cutjoint node stewart --record run.mcap
cutjoint replay run.mcap --publish --speed 0.5
"""
INPUTS, STATES = "/cutjoint/inputs", "/cutjoint/state"  # topics of a file that are for replay


def add_arguments(option: Options) -> None:
    option("file", "FILE", "what 'cutjoint node --record' wrote")
    option("--publish", text="publish the recorded messages over ROS 2 instead")
    option("--speed", "FACTOR", "of publishing (default 1)")
    option("--json", text="print numbers for machines")


class Replayed(NamedTuple):
    """How a motion was made again."""

    periods: int
    states: int  # recorded joint states that were compared
    position: float  # largest difference, rad or m
    velocity: float


def run(args: argparse.Namespace) -> int:
    if args.publish:
        return publish(args.file, positive(args.speed, "--speed") if args.speed else 1.0)
    done = again(args.file)
    if args.json:
        print(json.dumps(done._asdict()))
    else:
        print(
            f"{done.periods} periods made again; {done.states} recorded joint states differ by at most "
            f"{done.position:.3g} rad or m, and {done.velocity:.3g} rad/s or m/s"
        )
    return 0


def again(file: str) -> Replayed:
    """Simulate with the recorded inputs from the recorded states."""
    with Path(_there(file)).open("rb") as stream:
        reader = _reader(stream)
        about = next((m.metadata for m in reader.iter_metadata() if m.name == "cutjoint"), None)
        if about is None:
            raise CutjointError(f"{file}: no inputs are recorded; 'cutjoint node --record' does that")
        given = {key: json.loads(value) for key, value in about.items()}
        described, _ = made_live(load(given["mechanism"]), given["live_gravity"], given["wrench_on"])
        simulation = Simulation(described, gravity=given["gravity"], substeps=given["substeps"])
        values, h = JointValues(simulation), 1.0 / given["rate"] / given["steps"]
        values.read()
        periods = states = 0
        worst = [0.0, 0.0]
        for topic, message in _messages(reader):
            if topic == STATES:
                s = json.loads(message.data)
                q, v, p = (np.array(s[name], float) for name in "qvp")
                simulation.put(State(s["time"], q, v, 0 * simulation.u, p, s["work"]))
                values.read()
            elif topic == INPUTS:
                simulation.set_inputs(np.array(message.data, float))
                for _ in range(given["steps"]):
                    simulation.step(h)
                periods += 1
            elif topic.endswith("/joint_states"):
                values.read()
                states += 1
                for k, what in enumerate(("position", "velocity")):
                    off = np.abs(getattr(values, what) - np.array(getattr(message, what), float))
                    worst[k] = max(worst[k], float(off.max(initial=0.0)))
    return Replayed(periods, states, *worst)


def publish(file: str, speed: float) -> int:
    """Publish every recorded message at its time, but what is for replay alone; latched ones stay."""
    import rclpy
    from rclpy.serialization import deserialize_message
    from rclpy.signals import SignalHandlerOptions

    from ..model.signals import stop_on_signal

    with Path(_there(file)).open("rb") as stream, stop_on_signal() as stop:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = rclpy.create_node("cutjoint_replay")
        try:
            made: dict[str, Any] = {}
            begin, first, count = time.monotonic(), None, 0
            for schema, channel, message in _reader(stream).iter_messages(log_time_order=False):
                if channel.topic in (INPUTS, STATES):
                    continue
                if channel.topic not in made:
                    package, _, name = schema.name.split("/")
                    kind = getattr(importlib.import_module(f"{package}.msg"), name)
                    made[channel.topic] = kind, node.create_publisher(kind, channel.topic, 10)
                first = message.log_time if first is None else first
                ahead = begin + (message.log_time - first) / 10**9 / speed - time.monotonic()
                if ahead > 0 and stop.wait(ahead):
                    break
                kind, publisher = made[channel.topic]
                publisher.publish(deserialize_message(message.data, kind))
                count += 1
            node.get_logger().info(f"{count} messages published")
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
    return 0


def _reader(stream: Any) -> Any:
    try:
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
        from mcap_ros2.decoder import DecoderFactory
    except ImportError as problem:
        raise CutjointError(f"replay needs mcap-ros2-support; {brought_by('ros')}") from problem
    try:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        reader.get_header()
    except McapError as problem:
        raise CutjointError(f"{stream.name}: this is no MCAP file ({problem})") from problem
    return reader


def _messages(reader: Any) -> Iterator[tuple[str, Any]]:
    """Topic and message of what replay needs, in the order in which it was written."""
    topics = [
        c.topic
        for c in reader.get_summary().channels.values()
        if c.topic in (INPUTS, STATES) or c.topic.endswith("/joint_states")
    ]
    for _, channel, _, message in reader.iter_decoded_messages(topics=topics, log_time_order=False):
        yield channel.topic, message


def _there(file: str) -> str:
    if not Path(file).is_file():
        raise CutjointError(f"there is no file '{file}'")
    return file
