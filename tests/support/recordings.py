"""Recordings made without ROS: what `cutjoint node --record` writes, for a double pendulum that falls."""

import json
from pathlib import Path
from typing import Any

from cutjoint.model.control.joint_values import JointValues
from cutjoint.model.simulation import Simulation
from cutjoint.ros.recording_reader import _TYPES, INPUTS, JOINTS, NUMBERS, STATES, TEXT

ABOUT = {
    **{"mechanism": "double_pendulum", "rate": 1000.0, "steps": 2, "gravity": [0.0, 0.0, -9.81]},
    **{"substeps": None, "live_gravity": False, "wrench_on": ""},
}


def write_recording(path: Path, periods: int = 5, packed: bool = True, **about: Any) -> Path:
    """A recording; of `about` an empty tuple is left out, a text that starts with ! is written as it is."""
    from mcap.writer import CompressionType
    from mcap_ros2.writer import Writer

    simulation = Simulation("double_pendulum", compile=False)
    values = JointValues(simulation)
    zstd = CompressionType.ZSTD if packed else CompressionType.NONE
    with path.open("wb") as stream:
        writer = Writer(stream, compression=zstd, enable_crcs=packed)
        told = {**ABOUT, **about}
        texts = {
            key: x[1:] if str(x).startswith("!") else json.dumps(x) for key, x in told.items() if x != ()
        }
        writer.add_metadata("cutjoint", texts)
        schemas = {name: writer.register_msgdef(name, text) for name, text in _TYPES.items()}

        def put(topic: str, kind: str, message: dict[str, Any]) -> None:
            writer.write_message(topic, schemas[kind], message, log_time=round(simulation.time * 1e9))

        state = simulation.state
        kept = {name: getattr(state, name).tolist() for name in "qvp"}
        put(STATES, TEXT, {"data": json.dumps({"time": 0.0, "work": 0.0, **kept})})
        for _ in range(periods):
            layout = {"dim": [], "data_offset": 0}
            put(INPUTS, NUMBERS, {"layout": layout, "data": simulation.u.tolist()})
            simulation.step(0.0005)
            simulation.step(0.0005)
            values.read()
            header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
            numbers = {what: getattr(values, what).tolist() for what in ("position", "velocity")}
            put("/joint_states", JOINTS, {"header": header, "name": [], "effort": [], **numbers})
        writer.finish()
    return path
