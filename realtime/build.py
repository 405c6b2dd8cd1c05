"""A mechanism as a native loop: one program for hardware in the loop, and a library for other hosts.

Both are made of the step and core of the FMU. Beside them lie what a device needs: the packets and the shared
memory as a C header and as a Python file each, and a file of settings to change.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib.resources import files
from math import inf, isfinite
from pathlib import Path
from typing import Any

from ..model import control
from ..model.base.errors import CutjointError
from ..model.base.files import write_atomically
from ..model.base.marks import check_replaceable, marked_program
from ..model.base.thresholds import FAST_MOTIONS, LARGEST
from ..model.control import command_policy, packets, shared_memory
from ..model.control.command_law import FORCE, POSITION, VELOCITY, driven_values, input_columns
from ..model.control.input_ranges import drive_ranges
from ..model.control.wrench_sensors import with_wrench_sensors
from ..model.describe.mechanism import Mechanism
from ..model.equations.single_joints import single_joints, value_names
from ..model.loading import load
from ..native import c_compile
from ..native.c_sources import OF_NATIVE, c_files, identifier, native_sources, quote
from ..native.variable_layout import FmuVariable, Plan, budget, plan

OUTPUTS = ("joint.*.position", "joint.*.velocity", "joint.*.acceleration", "energy", "loop.residual")
PERIOD_MOST = 1.0  # seconds: a step inside is as long as the loop asks, up to this
OF_LOOPS = (
    *(f"loop_{part}.c" for part in ("main", "options", "time", "histogram", "report", "measure", "record")),
    *(f"loop_{part}.c" for part in ("gate", "drive", "udp", "shared", "can")),
)
LIBRARY = [*OF_NATIVE, "step.c", "kernels.c", "joints.c", "commands.c", "servo.c"]
PROGRAM = [*LIBRARY, *OF_LOOPS]
DEVICE = {"packets": "packets", "shared": "shared_memory"}  # what is copied for the device's side
BESIDE = (b"from .packets import", b"from cutjoint_packets import")  # they lie in one folder there
OF_PACKETS = (
    *("VERSION", "STATE", "COMMAND", "TAG", "FLAGGED", "FIELDS_TOLD", "ORDERS"),
    *("STOP", "BRAKE", "RESUME", "RESET", "MOTION", "FAULT", "STOPPED", "BRAKED", "SILENT"),
)
HEADERS = ("cutjoint_packets.h", "cutjoint_key.h", "cutjoint_shared.h")


def build_realtime(
    mechanism: Mechanism | str,
    folder: str | os.PathLike[str],
    *,
    rate: float = 1000.0,
    stepper: str = "runge_kutta",
    substeps: int | None = None,
    outputs: Sequence[str] = (),
    parameters: Sequence[str] = (),
    wrenches: Sequence[str] = (),
    platform: str = "",
    library: bool = True,
    optimize: int = 2,
    flags: Sequence[str] = (),
    force: bool = True,
) -> Path:
    """Write the loop of a mechanism and what goes with it into a folder; returns the program.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    folder : made if it is not there.
    rate : periods a second, unless the loop is told another.
    stepper, substeps, parameters : as for `export`.
    outputs : what can go out, by name or pattern; joints, energy and residual if empty.
    wrenches : joints, by name or pattern, whose wrench on the child goes out too (`with_wrench_sensors`).
    platform : of `c_compile.STATIC`; this machine's own if empty.
    library : also write the shared library, for ros2_control and hosts of your own.
    optimize : level of the C compiler.
    flags : for the compiler, such as those of sanitizers.
    force : replace files that are not as we wrote them, too.
    """
    name = platform or c_compile.here()
    if name not in c_compile.STATIC:
        known = ", ".join(c_compile.STATIC)
        raise CutjointError(f"--platform: a native loop needs Linux, so {known}; not '{name}'")
    c_compile.compilers(name)  # before long work: is there a compiler?
    described, sensed = with_wrench_sensors(
        load(mechanism) if isinstance(mechanism, str) else mechanism, wrenches
    )
    shown = [*(outputs or OUTPUTS), *(f"sensor.{name}.*" for name in sensed)]
    how: dict[str, Any] = {"step": PERIOD_MOST, "stepper": stepper, "substeps": budget(stepper, substeps)}
    planned = plan(described, outputs=shown, marked=parameters, **how)
    untraced = next((v.name for v in planned.of("output") if not v.differentiable), None)
    if untraced:
        raise CutjointError(f"--output: '{untraced}' is found by iteration, for which a loop has no time")
    texts = native_sources(planned) | c_files(__package__, *OF_LOOPS, "loop.h") | loop_headers(planned, rate)
    stem, where = identifier(planned.mechanism.name), Path(folder)
    if where.exists() and not where.is_dir():
        raise CutjointError(f"can't write to '{where}': it is a file; give a folder")
    made = {stem: c_compile.compile_program(name, texts, PROGRAM, optimize, flags)}
    if library:
        made[f"{stem}.so"] = c_compile.compile_for(name, texts, LIBRARY, optimize, True, flags)
    _write(where, made, texts, _settings(planned, stem, rate), force)
    return where / stem


def _write(
    where: Path, programs: Mapping[str, bytes], texts: Mapping[str, str], settings: str, force: bool
) -> None:
    """Programs, what a device needs, and a file of settings, if there is none yet."""
    made = {**programs, **{file: texts[file].encode() for file in (*HEADERS, "native.h")}}
    made |= {
        f"cutjoint_{part}.py": (files(control) / f"{module}.py").read_bytes().replace(*BESIDE)
        for part, module in DEVICE.items()
    }
    for file in made:
        check_replaceable(where / file, force=force)
    where.mkdir(parents=True, exist_ok=True)  # once everything is there to be written
    for file, data in made.items():
        with write_atomically(where / file) as temporary:
            temporary.write_bytes(marked_program(data, Path(file).suffix))
            temporary.chmod(0o755 if file in programs else 0o644)
    choices = where / f"{next(iter(programs))}.conf"
    if not choices.exists():  # somebody may have changed it
        with write_atomically(choices) as temporary:
            temporary.write_text(settings, encoding="utf-8")


def loop_headers(plan: Plan, rate: float) -> dict[str, str]:
    """Name -> text of the headers that only a native loop has."""
    return {
        "items.h": _items(plan),
        "policy.h": _policy(rate),
        "native_sizes.h": _native_sizes(plan),
        **device_headers(),
    }


def _native_sizes(plan: Plan) -> str:
    """How many joints there are; and that native.h names what an input is told as Python does."""
    told = {"FORCE": FORCE, "TO_POSITION": POSITION, "TO_VELOCITY": VELOCITY}
    same = " && ".join(f"CUTJOINT_{name} == {value}" for name, value in told.items())
    lines = (
        f"#define NJOINTS {len(value_names(plan.simulation.equations))}",
        *(f"#define {name} {getattr(command_policy, name)!r}" for name in ("TIMEOUT", "FREQUENCY")),
        f'_Static_assert({same}, "what inputs are commanded");',
    )
    return "\n".join((*lines, ""))


def device_headers() -> dict[str, str]:
    """Packets and shared memory for the device's side in C, fitted to what Python says of them."""
    form = {name: getattr(packets, name) for name in OF_PACKETS}
    parts = " : ".join(f"(version) == {version} ? {n}" for version, n in packets.PARTS.items())
    form["HEAD_SIZE"] = packets.HEAD.size
    form["PARTS(version)"] = f"({parts} : 0)  /* numbers for each input in a state */"
    memory = {f"SHARED_{name}": getattr(shared_memory, name) for name in ("VERSION", "TRIES")}
    memory |= {f"SHARED_{name}_SIZE": getattr(shared_memory, name).size for name in ("HEAD", "BLOCK")}
    declared = "\n    ".join(f"{text};" for *_, text in packets.FIELDS)
    found = {}
    for file, numbers in zip(HEADERS, (form, {}, memory), strict=True):
        (text,) = c_files(__package__, file).values()
        defines = "\n".join(f"#define CUTJOINT_{name} {value}" for name, value in numbers.items())
        found[file] = text.replace("/* @defines */", defines).replace("/* @fields */", declared)
    return found


def _policy(rate: float) -> str:
    counts = [f.name for f in fields(packets.Counts)]
    numbers = {
        **{
            name: getattr(command_policy, name)
            for name in ("DRAIN", "DRAIN_SHARE", "QUEUE", "MOST", "LEAST_KEY", "TIMEOUT", "FREQUENCY", "BUSY")
        },
        **{name: getattr(command_policy, name) for name in ("REPAY", "FORGIVEN")},
        **{name: getattr(packets, name) for name in ("WINDOW", "SILENCE", "TAG")},
        "RATE": rate,
        "RT_COUNTS": len(counts),
        "RT_GAPS": 1 << max(packets.WINDOW.bit_length() - 3, 0),  # bytes; numbers wrap at a power of two too
        **{f"RT_{name.upper()}": k for k, name in enumerate(counts)},
    }
    lines = ["/* What is refused, forgiven and counted: model/hil. */"]
    lines += [f"#define {name} {value!r}" for name, value in numbers.items()]
    lines += [f"#define RT_COUNT_NAMES {', '.join(map(quote, counts))}"]
    lines += [f"#define FAST_MOTIONS {{{', '.join(map(repr, FAST_MOTIONS))}}}"]
    return "\n".join([*lines, ""])


def _items(plan: Plan) -> str:
    """Names, units, bounds of all that native.h lists."""
    mechanism, joints = plan.mechanism, single_joints(plan.simulation.equations)
    values = value_names(plan.simulation.equations)  # joints, then cylinders
    driven = driven_values(mechanism, [part.joint for part in joints])
    sliding = [*(part.move.sliding for part in joints), *(True for _ in values[len(joints) :])]
    table = zip(mechanism.inputs(), input_columns(mechanism), drive_ranges(mechanism), driven, strict=True)
    inputs = [
        _item(name, row.units[0], row.low, row.high, 0.0, most, at, row.role) for name, row, most, at in table
    ]
    kinds = {
        "inputs": inputs,
        "parameters": _rows(plan.of("parameter"), "parameter."),
        "starts": _rows(plan.of("start"), "start."),
        "outputs": _rows(plan.of("output"), ""),
        "joints": [
            _item(name, "m" if slides else "rad", -inf, inf, 0.0, 0.0, driven.index(k) if k in driven else -1)
            for k, (name, slides) in enumerate(zip(values, sliding, strict=True))
        ],
    }
    lines = ["/* What a host can set and read. */", f"#define MECHANISM {quote(mechanism.name)}"]
    for name, rows in kinds.items():
        nothing = _item("", "", 0.0, 0.0, 0.0, 0.0, -1)
        lines += [
            f"enum {{ {name}_count = {len(rows)} }};",
            f"static const cutjoint_item {name}[] = {{",
            *(f"    {x}," for x in rows or [nothing]),
            "};",
        ]
    return "\n".join([*lines, ""])


def _rows(variables: Iterable[FmuVariable], prefix: str) -> list[str]:
    return [
        _item(name.removeprefix(prefix), v.units[k] if v.units else "1", v.low, v.high, value, 0.0, -1)
        for v in variables
        for k, (name, value) in enumerate(zip(v.elements(), v.start or (0.0,) * v.size, strict=True))
    ]


def _item(
    name: str, unit: str, low: float, high: float, value: float, range_: float, joint: int, role: str = ""
) -> str:
    numbers = (x if isfinite(x) else (LARGEST if x > 0 else -LARGEST) for x in (low, high, value, range_))
    texts = quote(name), quote(unit), *(repr(float(x)) for x in numbers), str(joint), quote(role)
    return f"{{{', '.join(texts)}}}"


def _settings(plan: Plan, stem: str, rate: float) -> str:
    """A file of settings that says what there is."""
    motors = [m.joint for m in plan.mechanism.motors] or ["JOINT"]
    return f"""# Settings: run it as './{stem} --config {stem}.conf'; './{stem} --help' explains all of them.
rate {rate:g}
steps 1
mode real_time
udp 127.0.0.1:47000
# peer 192.168.0.7
# key {stem}.key
# shared /{stem}
# shared-mode 0660
# can can0
# can-table {stem}.can
timeout {command_policy.TIMEOUT:g}
watchdog zero
# start {motors[0]}=0.1
# output joint.*.position
# record {stem}.npy
"""
