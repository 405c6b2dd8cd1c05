"""What reads files and packets of strangers, each as a function of bytes that may raise `CutjointError` only.

`fuzz.py` tries them with inputs that reach ever more of their code, `test_corpus.py` with those kept.
"""

from __future__ import annotations

import contextlib
import json
import struct
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from math import isfinite
from pathlib import Path

from cutjoint.fmu.ssp.ssp import component
from cutjoint.model.base.errors import CutjointError, inert
from cutjoint.model.batch.store import read_results, read_summary
from cutjoint.model.control.packets import Gate
from cutjoint.model.laws import texts
from cutjoint.model.laws.tables import read_table
from cutjoint.model.loading import load
from cutjoint.model.robots.load_robot import load_robot
from cutjoint.model.simulation import Simulation
from cutjoint.model.urdf import read_meshes

INPUTS, RANGES, KEY = 2, (10.0, 0.5), b"0123456789abcdef"
MESHES = (".stl", ".obj", ".dae", ".ply", ".off", ".glb")


def of_file(ending: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], None]:
    def target(data: bytes, folder: Path) -> None:
        path = folder / f"it{ending}"
        path.write_bytes(data)
        read(path)

    return target


def mesh(data: bytes, folder: Path) -> None:
    """The first byte says which format; whatever its reader raises becomes a sentence in its own process."""
    path = folder / f"it{MESHES[data[0] % len(MESHES)] if data else '.stl'}"
    path.write_bytes(data[1:])
    with contextlib.suppress(Exception):
        read_meshes._load(path)


@cache
def pendulum() -> Simulation:
    return Simulation("double_pendulum", compile=False)


def recording(data: bytes, folder: Path) -> None:
    """All that `replay` reads of a file, without making the motion again."""
    from cutjoint.ros import replay_cli as replay
    from cutjoint.ros.recording_reader import INPUTS, NUMBERS, STATES, TEXT, messages, naming

    path = str(folder / "it.mcap")
    Path(path).write_bytes(data)
    replay._named(path, replay._settings(path).mechanism)
    for message in messages(path):
        with naming(path):
            if message.topic == STATES:
                replay._state(pendulum(), json.loads(message.decoded(TEXT).data))
            elif message.topic == INPUTS:
                replay._numbers(message.decoded(NUMBERS).data, pendulum().u.size, "inputs")


def sweep(data: bytes, folder: Path) -> None:
    """A folder of results: `sweep.json`, or after a zero byte a part."""
    names = {"sweep.json": b'{"name": "a", "names": ["b"]}', "part-000000.parquet": b""}
    names["sweep.json" if data[:1] != b"\0" else "part-000000.parquet"] = data.removeprefix(b"\0")
    for name, content in names.items():
        (folder / name).write_bytes(content)
    with contextlib.suppress(CutjointError):
        read_summary(folder)
    read_results(folder)


def packets(data: bytes, folder: Path) -> None:
    """Packets of any length, from two senders, at any times; the first byte says whether there is a key."""
    gate = Gate(INPUTS, RANGES, 0.1, key=KEY if data[:1] == b"k" else b"")
    at, now = 1, 0.0
    while at + 4 <= len(data):
        size, sender, pause, sent = struct.unpack_from("4B", data, at)
        now += pause / 100
        packet = gate.accept(data[at + 4 : at + 4 + size], ("127.0.0.1", sender % 2), now, sent)
        if packet is not None:
            assert all(isfinite(x) and abs(x) <= most for x, most in zip(packet.values, RANGES, strict=True))
        at += 4 + size


def law(data: bytes, folder: Path) -> None:
    """A table of numbers, or after a zero byte a text of a command line."""
    if data[:1] == b"\0":
        texts.law(data[1:].decode("utf-8", "replace"))
    else:
        path = folder / "it.csv"
        path.write_bytes(data)
        read_table(str(path), "torque", "N.m")


def archive(data: bytes, folder: Path) -> None:
    """The archive of a foreign FMU, or after a zero byte the XML in one."""
    path = folder / "it.fmu"
    path.write_bytes(data)
    if data[:1] == b"\0":
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("modelDescription.xml", data[1:])
    component(path)


TARGETS: dict[str, Callable[[bytes, Path], None]] = {
    "description": of_file(".yaml", load),
    "urdf": of_file(".urdf", load_robot),
    "mjcf": of_file(".xml", load_robot),
    "sdf": of_file(".sdf", load_robot),
    "xacro": of_file(".xacro", load_robot),
    **{
        "mesh": mesh,
        "recording": recording,
        "sweep": sweep,
        "packets": packets,
        "law": law,
        "archive": archive,
    },
}


def try_target(name: str, data: bytes, folder: Path) -> None:
    """One input; what is no sentence is raised. Warnings are sentences too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            TARGETS[name](data, folder)
        except CutjointError as error:
            said = str(error)
            assert said and said == inert(said) and len(said) < 2000, said[:3000]
