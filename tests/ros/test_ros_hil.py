"""Hardware in the loop: controllers in processes of their own hold the platform, over ROS and over UDP."""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bulk import bulk
from cutjoint.model.control.packets import COMMAND, STATE, Packet, pack, unpack
from ros_client import Client, RosProcess, eventually, new_domain, node

MOTORS = ["motor1", "motor2", "motor3"]
POSE = 0.2  # rad: at this pose gravity pulls the platform down
PORT = 47000
World = tuple[int, RosProcess, Client]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    domain = new_domain()
    start = [f"{name}={POSE}" for name in MOTORS]
    parameters = ["joint_state_rate=0", "diagnostics_rate=5", f"udp=127.0.0.1:{PORT + domain}"]
    with (
        node(domain, "stewart", "--start", *start, "--param", *parameters) as process,
        Client(domain) as client,
    ):
        client.ready(process)
        yield domain, process, client


def controller(domain: int, *arguments: str) -> RosProcess:
    wanted = ["--target", *[str(POSE)] * 3]
    return RosProcess([sys.executable, "-m", *arguments, *wanted], domain)


def over_ros(domain: int, *arguments: str) -> RosProcess:
    return controller(domain, "cutjoint.examples.hil_ros_controller", "--joints", *MOTORS, *arguments)


def over_udp(domain: int, *arguments: str) -> RosProcess:
    to = f"127.0.0.1:{PORT + domain}"
    return controller(domain, "cutjoint.examples.hil_udp_controller", "--motors", "3", "--to", to, *arguments)


def hold(client: Client, device: RosProcess) -> None:
    """Let the device take over from a reset at the pose, hold for two seconds, then measure."""
    client.until(lambda: client.diagnostics()["command age"] != "none", "the device's commands")

    def held() -> None:
        assert client.call("reset").success
        client.until(lambda: client.simulated_time() > 2.0, "two seconds")
        state = client.states[-1]
        motors = [state.position[state.name.index(name)] for name in MOTORS]
        assert motors == pytest.approx([POSE] * 3, abs=0.01)
        assert max(abs(x) for x in state.velocity) < 0.05
        assert max(abs(x) for x in state.effort) > 1.0

    eventually(held)
    assert device.stop() == 0, device.output


@pytest.mark.parametrize("loss", bulk([0.0, 0.1], [0.1]))
def test_a_controller_over_ros_holds_the_platform(world: World, loss: float) -> None:
    domain, _, client = world
    with over_ros(domain, "--loss", str(loss)) as device:
        hold(client, device)
        report = json.loads(device.output.splitlines()[-1])
        assert report["answered"] > 100 and report["error"] < 0.01
        assert (report["dropped"] > 0.1 * report["answered"]) == (loss > 0)
        assert "p99" in device.output and "missed deadlines" in device.output


@pytest.mark.parametrize("loss", bulk([0.0, 0.1], [0.1]))
def test_a_controller_over_udp_holds_the_platform(world: World, loss: float) -> None:
    domain, _, client = world
    before = client.diagnostics()
    with (
        over_udp(domain, "--loss", str(loss)) as device,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noise,
    ):
        for k in range(50):  # garbage from somebody else
            noise.sendto(b"CJ" + bytes(range(k)), ("127.0.0.1", PORT + domain))
        hold(client, device)
        report = json.loads(device.output.splitlines()[-1])
        assert report["answered"] > 100 and report["error"] < 0.01
    after = client.diagnostics()
    grown = {
        name: int(after[f"udp {name}"]) - int(before[f"udp {name}"])
        for name in ("malformed", "lost", "received")
    }
    assert grown["malformed"] == 50
    assert grown["received"] > 100
    share = grown["lost"] / (grown["lost"] + grown["received"])
    assert 0.05 < share < 0.2 if loss else share < 0.05


@pytest.mark.parametrize("version", [1, 2])
def test_states_tell_position_velocity_and_force_as_the_device_speaks(world: World, version: int) -> None:
    """Of a motor the force is its torque; a device of the first version hears no forces."""
    domain, _, client = world
    client.until(lambda: client.diagnostics()["command age"] == "none", "silence after others")
    torques = (3.0, -4.0, 5.0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(0.2)
        for number in range(1, 1000):
            line.sendto(
                pack(Packet(COMMAND, number, 0, 0.0, 0.0, torques, version)), ("127.0.0.1", PORT + domain)
            )
            try:
                state = unpack(line.recv(2048), STATE)
            except TimeoutError:
                continue
            assert state is not None and state.version == version and len(state.parts) == 1 + version
            if state.answer > 5 and (version == 1 or state.parts[2] == torques):
                break
        else:
            raise AssertionError(f"no state with these forces; the last was {state}")


def test_a_killed_controller_leaves_zero_torque(world: World) -> None:
    domain, process, client = world
    left: set[Path] = set()
    for start in (over_ros, over_udp):
        with start(domain) as device:
            client.until(lambda: client.diagnostics()["command age"] != "none", "commands")
            client.until(lambda: max(map(abs, client.states[-1].effort)) > 0, "torque")
            left |= device.shared_memory()
            device.popen.send_signal(signal.SIGKILL)
            client.until(lambda: max(map(abs, client.states[-1].effort)) == 0, "zero torque", 20)
        client.until(lambda: "commands have stopped" in client.diagnostics()["message"], "a warning", 20)
    assert process.stop() == 0, process.output
    for words in ("udp packets", "udp response", "commands:", "period:"):
        assert words in process.output
    for path in left:  # a killed process can't tidy up; nothing runs in this domain any more but us
        for name in (path, path.with_name(f"{path.name}_el")):
            name.unlink(missing_ok=True)
