"""Every service of simulation_interfaces that the node offers, called by a real client.

The interface package is in no registry of Python packages: where it is not installed these tests are skipped,
and `test_ros_simulator.py` holds the same answers without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform")
pytest.importorskip("simulation_interfaces", reason="simulation_interfaces is not installed")

from cutjoint import Simulation
from cutjoint.ros.simulator import FEATURES
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from ros_client import Client, RosProcess, new_domain, node
from simulation_interfaces import msg, srv
from simulation_interfaces.action import SimulateSteps
from test_ros_simulator import FLOATING

OK, UNSUPPORTED = msg.Result.RESULT_OK, msg.Result.RESULT_FEATURE_UNSUPPORTED
NOT_FOUND, FAILED = msg.Result.RESULT_NOT_FOUND, msg.Result.RESULT_OPERATION_FAILED
STOPPED, PLAYING = msg.SimulationState.STATE_STOPPED, msg.SimulationState.STATE_PLAYING
PAUSED, QUITTING = msg.SimulationState.STATE_PAUSED, msg.SimulationState.STATE_QUITTING
STEP = 1e-3
FLAGS = hasattr(srv.SetEntityState.Request(), "set_pose")  # since release 2


class Caller:
    """A client of all services of one node."""

    def __init__(self, process: RosProcess, client: Client, file: Path):
        self.process, self.client, self.file = process, client, file

    def call(self, name: str, **fields: Any) -> Any:
        """The response to a request; a service's file gives its own name."""
        kind = getattr(srv, name)
        client = self.client.node.create_client(kind, f"cutjoint/{snake(name)}")
        self.client.until(client.service_is_ready, name)
        future = client.call_async(kind.Request(**fields))
        self.client.until(future.done, f"answer of {name}")
        self.client.node.destroy_client(client)
        return future.result()

    def code(self, name: str, **fields: Any) -> int:
        return int(self.call(name, **fields).result.result)

    def state(self) -> int:
        done = self.call("GetSimulationState")
        assert done.result.result == OK
        return int(done.state.state)

    def go_to(self, state: int) -> int:
        return self.code("SetSimulationState", state=msg.SimulationState(state=state))

    def here(self, entity: str = "floating/craft") -> msg.EntityState:
        done = self.call("GetEntityState", entity=entity)
        assert done.result.result == OK, done.result.error_message
        return done.state

    def time(self) -> float:
        stamp = self.here().header.stamp
        return float(stamp.sec + 1e-9 * stamp.nanosec)

    def start(self) -> None:
        """At the start, paused."""
        if self.state() == PLAYING:
            assert self.go_to(PAUSED) == OK
        assert self.code("ResetSimulation") == OK and self.time() == 0


def snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def position(state: msg.EntityState) -> list[float]:
    p = state.pose.position
    return [p.x, p.y, p.z]


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    file = tmp_path_factory.mktemp("floating") / "floating.yaml"
    file.write_text(FLOATING)
    domain = new_domain()
    arguments = [str(file), "--mode", "paused", "--param", "hold=false", "command_timeout=0.0"]
    with node(domain, *arguments) as process, Client(domain) as client:
        client.ready(process)
        yield Caller(process, client, file)


def test_features_come_first_and_are_those_that_work(caller: Caller) -> None:
    features = caller.call("GetSimulatorFeatures").features
    assert sorted(features.features) == sorted(getattr(msg.SimulatorFeatures, name) for name in FEATURES)
    assert "one mechanism" in features.custom_info and not features.spawn_formats


def test_codes_are_those_of_the_package() -> None:
    """Ours are written without it."""
    from cutjoint.ros import simulator as ours

    result, states = msg.Result, msg.SimulationState
    assert (ours.UNSUPPORTED, ours.OK, ours.NOT_FOUND, ours.INCORRECT_STATE, ours.FAILED) == (
        result.RESULT_FEATURE_UNSUPPORTED,
        result.RESULT_OK,
        result.RESULT_NOT_FOUND,
        result.RESULT_INCORRECT_STATE,
        result.RESULT_OPERATION_FAILED,
    )
    assert (ours.STOPPED, ours.PLAYING, ours.PAUSE, ours.QUITTING) == (
        states.STATE_STOPPED,
        states.STATE_PLAYING,
        states.STATE_PAUSED,
        states.STATE_QUITTING,
    )
    change, reset = srv.SetSimulationState.Response, srv.ResetSimulation.Request
    assert (ours.ALREADY, ours.INCORRECT_TRANSITION) == (
        change.ALREADY_IN_TARGET_STATE,
        change.INCORRECT_TRANSITION,
    )
    assert (ours.TIME, ours.STATE, ours.SPAWNED, ours.ALL) == (
        reset.SCOPE_TIME,
        reset.SCOPE_STATE,
        reset.SCOPE_SPAWNED,
        reset.SCOPE_ALL,
    )
    category = msg.EntityCategory
    assert (ours.OBJECT, ours.ROBOT) == (category.CATEGORY_OBJECT, category.CATEGORY_ROBOT)


def test_states_follow_each_other(caller: Caller) -> None:
    change = srv.SetSimulationState.Response
    caller.start()
    assert caller.state() == PAUSED and caller.go_to(PAUSED) == change.ALREADY_IN_TARGET_STATE
    assert caller.go_to(PLAYING) == OK and caller.state() == PLAYING
    caller.client.until(lambda: caller.time() > 0, "time that runs")
    refused = caller.call("StepSimulation", steps=1).result
    assert refused.result == FAILED and "pause it first" in refused.error_message
    assert caller.go_to(PAUSED) == OK
    before = caller.time()
    caller.client.spin(0.1)
    assert caller.time() == before > 0
    assert caller.go_to(STOPPED) == OK and (caller.state(), caller.time()) == (STOPPED, 0.0)
    assert caller.go_to(PAUSED) == change.INCORRECT_TRANSITION
    assert caller.go_to(4) == UNSUPPORTED  # no world


def test_steps_are_counted_and_are_the_engines(caller: Caller) -> None:
    caller.start()
    assert caller.code("StepSimulation") == OK and caller.time() == pytest.approx(STEP)  # one if none is said
    assert caller.code("StepSimulation", steps=250) == OK  # more than are made in one go
    assert caller.time() == pytest.approx(251 * STEP) and caller.state() == PAUSED
    assert caller.code("StepSimulation", steps=0) == OK and caller.time() == pytest.approx(251 * STEP)


def test_an_action_steps_with_feedback_on_each_and_can_be_cancelled(caller: Caller) -> None:
    caller.start()
    every = QoSProfile(depth=1000)
    steps = ActionClient(
        caller.client.node, SimulateSteps, "cutjoint/simulate_steps", feedback_sub_qos_profile=every
    )
    caller.client.until(steps.server_is_ready, "the action")
    heard: list[tuple[int, int]] = []

    def told(message: Any) -> None:
        heard.append((message.feedback.completed_steps, message.feedback.remaining_steps))

    def goal(count: int) -> Any:
        sent = steps.send_goal_async(SimulateSteps.Goal(steps=count), feedback_callback=told)
        caller.client.until(sent.done, "acceptance")
        assert sent.result().accepted
        return sent.result()

    def outcome(made: Any) -> Any:
        got = made.get_result_async()
        caller.client.until(got.done, "the result")
        return got.result()

    made = goal(130)
    caller.client.until(lambda: len(heard) == 130, "feedback")
    assert heard == [(k, 130 - k) for k in range(1, 131)]
    done = outcome(made)
    assert (done.status, done.result.result.result) == (4, OK) and caller.time() == pytest.approx(130 * STEP)
    long = goal(10**9)
    cancelled = long.cancel_goal_async()
    caller.client.until(cancelled.done, "cancellation")
    ended = outcome(long)
    assert ended.status == 5 and 0 < caller.time() < 10**9 * STEP
    assert caller.state() == PAUSED
    assert caller.go_to(PLAYING) == OK
    refused = outcome(goal(3))
    assert (refused.status, refused.result.result.result) == (6, FAILED)
    assert "pause it first" in refused.result.result.error_message
    steps.destroy()


def test_resets_by_scope(caller: Caller) -> None:
    scopes = srv.ResetSimulation.Request
    caller.start()
    put(caller, [1.0, 2.0, 3.0], [0.5, 0.0, 0.0])
    assert caller.code("StepSimulation", steps=100) == OK
    moved = position(caller.here())
    assert moved == pytest.approx([1.05, 2.0, 3.0])
    assert caller.code("ResetSimulation", scope=scopes.SCOPE_TIME) == OK
    assert caller.time() == 0 and position(caller.here()) == moved
    assert caller.code("StepSimulation", steps=10) == OK
    assert caller.code("ResetSimulation", scope=scopes.SCOPE_STATE) == OK
    assert caller.time() == pytest.approx(10 * STEP) and position(caller.here()) == [0.0, 0.0, 0.0]
    refused = caller.call("ResetSimulation", scope=scopes.SCOPE_SPAWNED).result
    assert refused.result == UNSUPPORTED and "spawned" in refused.error_message
    assert caller.code("ResetSimulation", scope=scopes.SCOPE_ALL) == OK and caller.time() == 0


def test_entities_by_name_and_category_with_their_info(caller: Caller) -> None:
    def found(**filters: Any) -> list[str]:
        done = caller.call("GetEntities", filters=msg.EntityFilters(**filters))
        assert done.result.result == OK, done.result.error_message
        return list(done.entities)

    assert found() == ["floating", "floating/craft", "floating/flap"]
    assert found(filter=".*/c.*") == ["floating/craft"]
    robot = msg.EntityCategory(category=msg.EntityCategory.CATEGORY_ROBOT)
    assert found(categories=[robot]) == ["floating"]
    assert caller.code("GetEntities", filters=msg.EntityFilters(filter="(")) == FAILED
    tags = msg.EntityFilters(tags=msg.TagsFilter(tags=["body"]))
    bounds = msg.EntityFilters(bounds=msg.Bounds(type=msg.Bounds.TYPE_SPHERE, points=[vector(0), vector(1)]))
    for filters in (tags, bounds):
        for service in ("GetEntities", "GetEntitiesStates"):
            assert caller.code(service, filters=filters) == UNSUPPORTED
    info = caller.call("GetEntityInfo", entity="floating").info
    assert info.category.category == msg.EntityCategory.CATEGORY_ROBOT and list(info.tags) == ["mechanism"]
    assert list(caller.call("GetEntityInfo", entity="floating/flap").info.tags) == ["body"]
    for service in ("GetEntityInfo", "GetEntityState", "SetEntityState"):
        assert caller.code(service, entity="nobody") == NOT_FOUND


def test_states_that_are_set_are_got_and_move_as_in_the_engine(caller: Caller) -> None:
    caller.start()
    turn = [np.cos(0.3), 0.0, np.sin(0.3), 0.0]
    put(caller, [1.0, 2.0, 3.0], [0.1, 0.0, 0.0], [0.0, 0.0, 0.5], turn)
    here = caller.here()
    assert here.header.frame_id == "ground" and position(here) == pytest.approx([1, 2, 3], abs=1e-15)
    assert [getattr(here.pose.orientation, k) for k in "wxyz"] == pytest.approx(turn, abs=1e-15)
    assert here.twist.angular.z == pytest.approx(0.5, abs=1e-15)
    assert caller.code("StepSimulation", steps=200) == OK
    twin = Simulation(str(caller.file))
    w, *xyz = turn
    spin = np.array([2 * (xyz[0] * xyz[2] - w * xyz[1]), 2 * (xyz[1] * xyz[2] + w * xyz[0]), 0.0]) * 0.5
    spin[2] = 0.5 * (1 - 2 * (xyz[0] ** 2 + xyz[1] ** 2))  # in the craft's own axes
    q, v = twin.q.copy(), twin.v.copy()
    q[twin.tree.q["base"]] = [1, 2, 3, *turn]
    v[twin.tree.v["base"]] = [0.1, 0, 0, *spin]
    twin.state = replace(twin.state, q=q, v=v)
    for _ in range(200):
        twin.step(STEP)
    out = twin.outputs()
    every = caller.call("GetEntitiesStates")
    assert every.result.result == OK and len(every.states) == len(every.entities) == 3
    for name, state in zip(every.entities[1:], every.states[1:], strict=True):
        told = f"body.{name.partition('/')[2]}"
        assert position(state) == pytest.approx(list(out[f"{told}.position"]), abs=1e-12)
        linear, angular = state.twist.linear, state.twist.angular
        assert [linear.x, linear.y, linear.z] == pytest.approx(list(out[f"{told}.velocity"]), abs=1e-12)
        assert [angular.x, angular.y, angular.z] == pytest.approx(
            list(out[f"{told}.angular_velocity"]), abs=1e-12
        )
        rate = state.acceleration.linear
        assert [rate.x, rate.y, rate.z] == pytest.approx(list(out[f"{told}.acceleration"]), abs=1e-12)


def test_states_that_cannot_be_set_say_why(caller: Caller) -> None:
    caller.start()
    state = msg.EntityState()
    flags = {"set_pose": True, "set_twist": True} if FLAGS else {}
    carried = caller.call("SetEntityState", entity="floating/flap", state=state, **flags).result
    assert carried.result == UNSUPPORTED and "carried by joints" in carried.error_message
    state.pose.orientation.w, state.pose.orientation.x = 1.0, 1.0
    bad = caller.call("SetEntityState", entity="floating/craft", state=state, **flags).result
    assert bad.result == 101 and "length one" in bad.error_message  # INVALID_POSE
    state.pose.orientation.x, state.header.frame_id = 0.0, "map"
    assert caller.code("SetEntityState", entity="floating/craft", state=state, **flags) == UNSUPPORTED
    state.header.frame_id = ""
    if FLAGS:
        put(caller, [1.0, 2.0, 3.0], [0.1, 0.0, 0.0])
        before = caller.here()
        state.twist.linear.y = 0.7
        assert caller.code("SetEntityState", entity="floating/craft", state=state, set_twist=True) == OK
        after = caller.here()
        assert after.pose == before.pose and after.twist.linear.y == pytest.approx(0.7)
        accelerated = {"entity": "floating/craft", "state": state, "set_acceleration": True}
        assert caller.code("SetEntityState", **accelerated) == UNSUPPORTED
    state.twist.linear.y = float("nan")
    broken = caller.call("SetEntityState", entity="floating/craft", state=state, **flags).result
    assert broken.result not in (OK, UNSUPPORTED) and broken.error_message
    assert np.isfinite(position(caller.here())).all()
    assert caller.code("StepSimulation", steps=2) == OK


def test_what_one_mechanism_cannot_do_is_refused(caller: Caller) -> None:
    for name in ("SpawnEntity", "SpawnEntities", "DeleteEntity"):
        if hasattr(srv, name):
            refused = caller.call(name).result
            assert refused.result == UNSUPPORTED and "a node is one mechanism" in refused.error_message


def test_it_quits_when_told_to(caller: Caller) -> None:
    """The last test of this file: the node ends."""
    assert caller.go_to(QUITTING) == OK
    assert caller.process.popen.wait(30) == 0, caller.process.output
    assert "Traceback" not in caller.process.output


def put(
    caller: Caller,
    at: list[float],
    velocity: list[float],
    spin: list[float] | None = None,
    turn: list[float] | None = None,
) -> None:
    state = msg.EntityState()
    pose, twist = state.pose, state.twist
    pose.position.x, pose.position.y, pose.position.z = at
    pose.orientation.w, pose.orientation.x, pose.orientation.y, pose.orientation.z = turn or [1.0, 0, 0, 0]
    twist.linear.x, twist.linear.y, twist.linear.z = velocity
    twist.angular.x, twist.angular.y, twist.angular.z = spin or [0.0, 0, 0]
    flags = {"set_pose": True, "set_twist": True} if FLAGS else {}
    assert caller.code("SetEntityState", entity="floating/craft", state=state, **flags) == OK


def vector(value: float) -> Any:
    from geometry_msgs.msg import Vector3

    return Vector3(x=float(value), y=0.0, z=0.0)
