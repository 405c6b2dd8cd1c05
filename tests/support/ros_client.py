"""Start real nodes in processes of their own and talk to them with real rclpy."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from processes import CUTJOINT, PATIENCE, Process

# Before rclpy is first imported: other machines and other tests must not hear us.
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ.pop("ROS_DOMAIN_ID", None)
rclpy = pytest.importorskip(
    "rclpy", reason="rclpy can't be imported: no ROS 2, and no wheels for this platform"
)

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

AGAIN = 2.0  # seconds after which a request is made again
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_count = 0


def new_domain() -> int:
    """A ROS domain that no other test process uses at the time: each worker has its share of 100."""
    global _count
    _count += 1
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    share = 100 // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "2"))
    return 1 + worker * share + (os.getpid() + _count) % share


def environment(domain: int) -> dict[str, str]:
    return {**os.environ, "ROS_DOMAIN_ID": str(domain), "RCUTILS_COLORIZED_OUTPUT": "0"}


class RosProcess(Process):
    """A process in a ROS domain of its own."""

    def __init__(self, words: Sequence[str], domain: int):
        super().__init__(words, environment(domain))

    def shared_memory(self) -> set[Path]:
        """Segments of Fast DDS that belong to this process; those of ports are shared with others."""
        maps = Path(f"/proc/{self.popen.pid}/maps").read_text()
        return {Path(found) for found in re.findall(r"/dev/shm/fastrtps_[0-9a-f]{16}$", maps, re.MULTILINE)}


def eventually(check: Callable[[], None], attempts: int = 5) -> None:
    """Real time needs a free processor: a machine that was busy for a moment gets another attempt."""
    for left in reversed(range(attempts)):
        try:
            return check()
        except AssertionError:
            if not left:
                raise


def node(domain: int, *arguments: str) -> RosProcess:
    """`cutjoint node ...` with the interpreter that runs the tests."""
    return RosProcess([*CUTJOINT, "node", *arguments], domain)


def stamp(state: JointState) -> float:
    return state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec


class Client:
    """A ROS node of the test: keeps joint states, sends commands, calls services."""

    def __init__(self, domain: int, namespace: str = ""):
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("tester", namespace=namespace, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.states: list[JointState] = []
        self.hears_states = self.node.create_subscription(
            JointState, "joint_states", self.states.append, 1000
        )
        self.commands = self.node.create_publisher(Float64MultiArray, "commands", 1000)
        self.joint_commands = self.node.create_publisher(JointState, "joint_commands", 1000)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)

    def until(self, done: Callable[[], Any], what: str, timeout: float = PATIENCE) -> Any:
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            result = done()
            if result:
                return result
            self.executor.spin_once(timeout_sec=0.02)
        raise AssertionError(f"waited {timeout:g} s for {what}")

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.02)

    def ready(self, process: Process) -> None:
        """The node is there and hears our commands."""

        def heard() -> bool:
            assert process.popen.poll() is None, process.output
            return self.commands.get_subscription_count() and self.joint_commands.get_subscription_count()

        process.says(" Hz, inputs")
        self.until(heard, "the node")
        self.until(lambda: self.node.count_publishers("joint_states"), "joint states")

    def call(self, name: str, data: bool | None = None) -> Any:
        kind = Trigger if data is None else SetBool
        client = self.node.create_client(kind, f"cutjoint/{name}")
        self.until(client.service_is_ready, f"service {name}")
        future = client.call_async(kind.Request() if data is None else kind.Request(data=data))
        self.until(future.done, f"answer of {name}")
        self.node.destroy_client(client)
        return future.result()

    def first_answer(self, client: Any, request: Any) -> Any:
        """Of a service just found, to what changes nothing: who answers may not know its asker yet."""
        asked, sent = list[Any](), 0.0

        def answered() -> Any:
            nonlocal sent
            if time.monotonic() > sent + AGAIN:
                asked.append(client.call_async(request))
                sent = time.monotonic()
            return next((future for future in asked if future.done()), None)

        self.until(client.service_is_ready, "the service")
        return self.until(answered, "an answer").result()

    def latched(self, kind: Any, topic: str) -> Any:
        got: list[Any] = []
        subscription = self.node.create_subscription(kind, topic, got.append, LATCHED)
        self.until(lambda: got, topic)
        self.node.destroy_subscription(subscription)
        return got[-1]

    def collect(self, kind: Any, topic: str) -> list[Any]:
        got: list[Any] = []
        self.node.create_subscription(kind, topic, got.append, 1000)
        return got

    def set_parameter(self, name: str, value: Any) -> Any:
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        client = self.node.create_client(SetParameters, "cutjoint/set_parameters")
        self.until(client.service_is_ready, "parameter service")
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        future = client.call_async(request)
        self.until(future.done, "parameter")
        self.node.destroy_client(client)
        return future.result().results[0]

    def simulated_time(self) -> float:
        """As the next status tells it, so that nothing said earlier counts."""
        return float(self.diagnostics()["simulated time"])

    def diagnostics(self) -> dict[str, str]:
        """Key-value pairs of the next status."""
        from diagnostic_msgs.msg import DiagnosticArray

        got: list[Any] = []
        subscription = self.node.create_subscription(DiagnosticArray, "/diagnostics", got.append, 10)
        self.until(lambda: got, "diagnostics")
        self.node.destroy_subscription(subscription)
        status = got[-1].status[0]
        return {"level": str(status.level[0]), "message": status.message} | {
            v.key: v.value for v in status.values
        }
