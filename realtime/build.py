"""A mechanism as a native loop: one program for hardware in the loop, and a library for other hosts.

Both are made of the step and core of the FMU. Beside them lie what a device needs: the packets and the shared
memory as a C header and as a Python file each, and a file of settings to change.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import fields
from importlib.resources import files
from math import inf, isfinite
from pathlib import Path

from ..model import hil
from ..model.describe.mechanism import Mechanism
from ..model.equations.single_joints import single_joints, value_names
from ..model.errors import CutjointError
from ..model.files import write_atomically
from ..model.hil import packets, policy, shared
from ..model.loading import load
from ..model.run.drive_ranges import drive_ranges
from ..model.run.drives import driven_values
from ..model.thresholds import LARGEST
from . import c_compile
from .c_sources import OF_LOOPS, OF_NATIVE, native_sources, quoted
from .effort import FAST
from .plan import FmuVariable, Plan, budget, plan
from .xml_common import identifier

OUTPUTS = ("joint.*.position", "joint.*.velocity", "joint.*.acceleration", "energy", "loop.residual")
PERIOD_MOST = 1.0  # seconds: a step inside is as long as the loop asks, up to this
LIBRARY = [*OF_NATIVE, "step.c", "kernels.c", "joints.c", "servo.c"]
PROGRAM = [*(unit for unit in LIBRARY if unit not in ("native_servo.c", "servo.c")), *OF_LOOPS]
DEVICE = ("packets", "shared")  # Python files that are copied for the device's side


def build_realtime(
    mechanism: Mechanism | str,
    folder: str | os.PathLike[str],
    *,
    rate: float = 1000.0,
    stepper: str = "runge_kutta",
    substeps: int | None = None,
    outputs: Sequence[str] = (),
    parameters: Sequence[str] = (),
    platform: str = "",
    library: bool = True,
    optimize: int = 2,
    flags: Sequence[str] = (),
) -> Path:
    """Write the loop of a mechanism and what goes with it into a folder; returns the program.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    folder : made if it is not there.
    rate : periods a second, unless the loop is told another.
    stepper, substeps, parameters : as for `export`.
    outputs : what can go out, by name or pattern; joints, energy and residual if empty.
    platform : of `c_compile.STATIC`; this machine's own if empty.
    library : also write the shared library, for ros2_control and hosts of your own.
    flags : for the compiler, such as those of sanitizers.
    """
    name = platform or c_compile.here()
    if name not in c_compile.STATIC:
        known = ", ".join(c_compile.STATIC)
        raise CutjointError(f"--platform: a native loop needs Linux, so {known}; not '{name}'")
    c_compile.compilers(name)  # before long work: is there a compiler?
    described = load(mechanism) if isinstance(mechanism, str) else mechanism
    planned = plan(
        described,
        step=PERIOD_MOST,
        stepper=stepper,
        substeps=budget(stepper, substeps),
        outputs=list(outputs) or list(OUTPUTS),
        marked=parameters,
    )
    untraced = next((v.name for v in planned.of("output") if not v.differentiable), None)
    if untraced:
        raise CutjointError(f"--output: '{untraced}' is found by iteration, for which a loop has no time")
    texts = native_sources(planned) | loop_headers(planned, rate)
    stem, where = identifier(planned.mechanism.name), Path(folder)
    if where.exists() and not where.is_dir():
        raise CutjointError(f"can't write to '{where}': it is a file; give a folder")
    program = c_compile.compile_program(name, texts, PROGRAM, optimize, flags)
    made: dict[str, bytes] = {stem: program}
    if library:
        made[f"{stem}.so"] = c_compile.compile_for(name, texts, LIBRARY, optimize, drop=True)
    made |= {file: texts[file].encode() for file in ("cutjoint_packets.h", "cutjoint_shared.h", "native.h")}
    made |= {f"cutjoint_{part}.py": (files(hil) / f"{part}.py").read_bytes() for part in DEVICE}
    where.mkdir(parents=True, exist_ok=True)  # once everything is there to be written
    for file, data in made.items():
        with write_atomically(where / file) as temporary:
            temporary.write_bytes(data)
            temporary.chmod(0o755 if file in (stem, f"{stem}.so") else 0o644)
    settings = where / f"{stem}.conf"
    if not settings.exists():  # somebody may have changed it
        with write_atomically(settings) as temporary:
            temporary.write_text(_settings(planned, stem, rate), encoding="utf-8")
    return where / stem


def loop_headers(plan: Plan, rate: float) -> dict[str, str]:
    """Name -> text of the headers that only a native loop has."""
    return {
        "items.h": _items(plan),
        "policy.h": _policy(rate),
        "native_sizes.h": f"#define NJOINTS {len(value_names(plan.simulation.equations))}\n",
        **device_headers(),
    }


def device_headers() -> dict[str, str]:
    """Packets and shared memory for the device's side in C, fitted to what Python says of them."""
    form = {name: getattr(packets, name) for name in ("VERSION", "STATE", "COMMAND", "TAG")}
    parts = " : ".join(f"(version) == {version} ? {n}" for version, n in packets.PARTS.items())
    form["PARTS(version)"] = f"({parts} : 0)  /* numbers for each input in a state */"
    memory = {f"SHARED_{name}": getattr(shared, name) for name in ("VERSION", "TRIES")}
    declared = "\n    ".join(f"{text};" for *_, text in packets.FIELDS)
    found = {}
    for file, numbers in (("cutjoint_packets.h", form), ("cutjoint_shared.h", memory)):
        text = (files(__package__) / "c" / file).read_text("utf-8")
        defines = "\n".join(f"#define CUTJOINT_{name} {value}" for name, value in numbers.items())
        found[file] = text.replace("/* @defines */", defines).replace("/* @fields */", declared)
    return found


def _policy(rate: float) -> str:
    counts = [f.name for f in fields(packets.Counts)]
    numbers = {
        **{name: getattr(policy, name) for name in ("DRAIN", "DRAIN_SHARE", "QUEUE", "LEAST_KEY", "TIMEOUT")},
        **{name: getattr(policy, name) for name in ("REPAY", "FORGIVEN")},
        **{name: getattr(packets, name) for name in ("WINDOW", "SILENCE", "TAG")},
        "RATE": rate,
        "RT_COUNTS": len(counts),
        "RT_GAPS": 1 << max(packets.WINDOW.bit_length() - 3, 0),  # bytes; numbers wrap at a power of two too
        **{f"RT_{name.upper()}": k for k, name in enumerate(counts)},
    }
    lines = ["/* What is refused, forgiven and counted: model/hil. */"]
    lines += [f"#define {name} {value!r}" for name, value in numbers.items()]
    lines += [f"#define RT_COUNT_NAMES {', '.join(map(quoted, counts))}"]
    lines += [f"#define FAST_MOTIONS {{{', '.join(map(repr, FAST))}}}"]
    return "\n".join([*lines, ""])


def _items(plan: Plan) -> str:
    """Names, units, bounds of all that native.h lists."""
    mechanism, joints = plan.mechanism, single_joints(plan.simulation.equations)
    values = value_names(plan.simulation.equations)  # joints, then cylinders
    driven = driven_values(mechanism, [part.joint for part in joints])
    driven += [-1] * (len(mechanism.inputs()) - len(driven))  # wrenches, which move nothing of their own
    sliding = [*(part.move.sliding for part in joints), *(True for _ in values[len(joints) :])]
    told = [v for v in plan.of("input", "hidden") for _ in range(v.size)]
    inputs = [
        _item(name, v.unit, v.low, v.high, 0.0, most, at)
        for name, v, most, at in zip(mechanism.inputs(), told, drive_ranges(mechanism), driven, strict=True)
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
    lines = ["/* What a host can set and read. */", f"#define MECHANISM {quoted(mechanism.name)}"]
    for name, rows in kinds.items():
        nothing = _item("", "", 0.0, 0.0, 0.0, 0.0, -1)
        lines += [
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


def _item(name: str, unit: str, low: float, high: float, value: float, range_: float, joint: int) -> str:
    numbers = (x if isfinite(x) else (LARGEST if x > 0 else -LARGEST) for x in (low, high, value, range_))
    return f"{{{quoted(name)}, {quoted(unit)}, {', '.join(repr(float(x)) for x in numbers)}, {joint}}}"


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
# can can0
# can-table {stem}.can
timeout {policy.TIMEOUT:g}
watchdog zero
# start {motors[0]}=0.1
# output joint.*.position
# record {stem}.npy
"""
