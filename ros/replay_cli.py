"""`cutjoint replay`: make a motion again that a node recorded, and compare; or publish what it published."""

import argparse
import importlib
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..model.base.errors import CutjointError
from ..model.base.thresholds import LARGEST
from ..model.base.untrusted import find_inside
from ..model.cli.common import Options, positive
from ..model.control.joint_values import JointValues
from ..model.control.runtime_parameters import with_runtime_parameters
from ..model.describe.reader import example_names
from ..model.loading import load
from ..model.simulation import Simulation
from ..model.state import State
from .recording_reader import INPUTS, JOINTS, NUMBERS, STATES, TEXT, messages, naming, read_about
from .settings import SETTINGS

HELP = "Make a recorded motion again from its inputs, and say how far it is from the recorded one."
EXAMPLE = """
cutjoint replay run.mcap          # of: cutjoint node stewart --record run.mcap
cutjoint replay run.mcap --publish --speed 0.5
"""
MOST_STEPS = 10**8  # of a whole replay: a day at 1 kHz
SHORTEST_RATE = 1e6  # Hz: steps are not shorter than the node's shortest, 1 µs
LONGEST_PAUSE = 3600  # s between two messages
PACKAGES = (
    *("builtin_interfaces", "std_msgs", "sensor_msgs", "geometry_msgs", "nav_msgs", "tf2_msgs"),
    *("visualization_msgs", "diagnostic_msgs", "rosgraph_msgs", "trajectory_msgs", "control_msgs"),
)


def add_arguments(option: Options) -> None:
    option("file", "FILE", "what 'cutjoint node --record' wrote")
    option("--mechanism", "NAME", "the mechanism, if the file names none that may be read: one elsewhere")
    option("--trust")
    option("--accept-inertia")
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
    done = again(args.file, args.mechanism, args.trust, args.accept_inertia)
    if args.json:
        print(json.dumps(done._asdict()))
    else:
        print(
            f"{done.periods} periods made again; {done.states} recorded joint states differ by at most "
            f"{done.position:.3g} rad or m, and {done.velocity:.3g} rad/s or m/s"
        )
    return 0


def again(
    file: str, mechanism: str | None = None, trust: bool = False, accept_inertia: bool = False
) -> Replayed:
    """Simulate with the recorded inputs from the recorded states; `mechanism` instead of the one it names."""
    about = _settings(file)
    named = load(mechanism or _named(file, about.mechanism), trust, accept_inertia)
    described, _ = with_runtime_parameters(named, about.live_gravity, about.wrench_on)
    simulation = Simulation(described, gravity=about.gravity, substeps=about.substeps)
    values, h = JointValues(simulation), 1.0 / about.rate / about.steps
    values.read()
    periods = states = 0
    worst = [0.0, 0.0]
    for message in messages(file):
        if message.topic == STATES:
            with naming(file):
                state = _state(simulation, json.loads(message.decoded(TEXT).data))
            simulation.put(state)
            values.read()
        elif message.topic == INPUTS:
            with naming(file):
                inputs = _numbers(message.decoded(NUMBERS).data, simulation.u.size, "inputs")
            simulation.set_inputs(inputs)
            for _ in range(about.steps):
                simulation.step(h)
            periods += 1
            if periods * about.steps > MOST_STEPS:
                raise CutjointError(f"{file}: more than {MOST_STEPS:.0e} steps are too many to be made again")
        elif message.topic.endswith("/joint_states"):
            with naming(file):
                told = message.decoded(JOINTS)
                size = values.position.size
                found = [_numbers(getattr(told, what), size, what) for what in ("position", "velocity")]
            values.read()
            states += 1
            for k, (ours, theirs) in enumerate(zip((values.position, values.velocity), found, strict=True)):
                worst[k] = max(worst[k], float(np.abs(ours - theirs).max(initial=0.0)))
    return Replayed(periods, states, *worst)


class About(NamedTuple):
    """What a recording says of its node, checked as the node checks its parameters."""

    mechanism: str
    rate: float
    steps: int
    gravity: Any
    substeps: int | None
    live_gravity: bool
    wrench_on: str


def _settings(file: str) -> About:
    found = read_about(file)
    missing = [name for name in About._fields if name not in found]
    if missing:
        raise CutjointError(f"{file}: the recording does not say '{missing[0]}'; it is damaged")
    found["substeps"] = found["substeps"] or 0
    with naming(file):
        about = {name: SETTINGS[name].check(name, found[name]) for name in About._fields if name != "steps"}
        steps = found["steps"]
        if type(steps) is not int or not 1 <= steps <= SHORTEST_RATE / about["rate"]:
            raise CutjointError(f"steps must be a whole number of 1 µs or more each, not '{str(steps)[:40]}'")
    return About(steps=steps, **about)


def _state(simulation: Simulation, kept: Any) -> State:
    """A recorded state; in older ones internal states end q, and driven motions end p."""
    if not isinstance(kept, dict):
        raise CutjointError("a state must be a mapping of names to numbers")
    own = simulation.state
    whole, nq = list(kept["q"]), own.q.size
    said = {"q": whole[:nq], "v": kept["v"], "p": list(kept["p"])[: own.p.size]}
    said["z"] = kept.get("z", whole[nq:])
    q, v, p, z = (_numbers(x, getattr(own, name).size, f"{name} of a state") for name, x in said.items())
    time, work = _numbers([kept["time"], kept["work"]], 2, "time and work of a state")
    return State(float(time), q, v, 0 * simulation.u, p, float(work), z=z)


def _numbers(values: Any, count: int, what: str) -> np.ndarray:
    """Finite numbers, as many as the mechanism has."""
    found = np.array(values, float)
    if found.shape != (count,) or not np.isfinite(found).all() or np.abs(found).max(initial=0.0) > LARGEST:
        raise CutjointError(f"{what} must be {count} finite numbers: is it a recording of this mechanism?")
    return found


def _named(file: str, name: Any) -> str:
    """The mechanism that a recording names: an example, or a file in the recording's own folder."""
    if name in example_names():
        return str(name)
    try:
        return str(find_inside(str(name), [Path(file).parent]))
    except CutjointError:
        raise CutjointError(
            f"{file}: it names the mechanism '{name}', which is no example and not in the folder of the "
            "recording; say which it is with --mechanism NAME"
        ) from None


def publish(file: str, speed: float) -> int:
    """Publish every recorded message at its time, but what is for replay alone; latched ones stay."""
    import rclpy
    from rclpy.serialization import deserialize_message
    from rclpy.signals import SignalHandlerOptions

    from ..model.base.posix_signals import stop_on_signal

    with stop_on_signal() as stop:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = rclpy.create_node("cutjoint_replay")
        try:
            made: dict[str, Any] = {}
            begin, first, count = time.monotonic(), None, 0
            for message in messages(file):
                if message.topic in (INPUTS, STATES):
                    continue
                if message.topic not in made:
                    with naming(file):
                        kind = _kind(message.type)
                        made[message.topic] = kind, node.create_publisher(kind, message.topic, 10)
                first = message.time if first is None else first
                ahead = begin + (message.time - first) / 10**9 / speed - time.monotonic()
                if ahead > LONGEST_PAUSE:
                    raise CutjointError(f"{file}: nothing happens in it for {ahead:.0f} s; it is damaged")
                if ahead > 0 and stop.wait(ahead):
                    break
                kind, publisher = made[message.topic]
                with naming(file):
                    whole = deserialize_message(message.data, kind)
                publisher.publish(whole)
                count += 1
            node.get_logger().info(f"{count} messages published")
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
    return 0


def _kind(name: str) -> Any:
    """The class of a message's type; only packages of ROS's own messages are imported for a file."""
    package, _, message = name.split("/")
    if package not in PACKAGES or not message.isidentifier() or message.startswith("_"):
        raise CutjointError(f"messages of the type '{name[:80]}' are not published")
    return getattr(importlib.import_module(f"{package}.msg"), message)
