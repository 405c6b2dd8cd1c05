"""What the subcommands share: declaring arguments, reading name=value, files to write, JSON for machines."""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from math import isfinite, radians
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import annexes
from ..base.errors import CutjointError, DescriptionError, UnknownName
from ..base.files import check_writable, picture_format
from ..base.marks import check_replaceable
from ..base.units import in_unit, quantity
from ..describe.validation import nearest
from .drive import with_drives

if TYPE_CHECKING:
    from ..describe.mechanism import Mechanism
    from ..simulation import Simulation
    from ..variables import Variables


MANY: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
# What several subcommands take, and how it is told.
COMMON: dict[str, dict[str, Any]] = {
    "mechanism": {
        "metavar": "MECHANISM",
        "help": "name of an example, a description file, or a robot in URDF, MJCF or SDF",
    },
    "--trust": {
        "action": "store_true",
        "help": "hand a xacro file to the xacro package, which runs whatever the file says",
    },
    "--accept-inertia": {
        "action": "store_true",
        "help": "repair inertias of a robot's file that no body can have, however far off",
    },
    "--force": {
        "action": "store_true",
        "help": "replace a file that is there, even if it is read here, or not as cutjoint wrote it",
    },
    "--torque": {**MANY, "metavar": "NAME=VALUE"},
    "--input --torque": {**MANY, "metavar": "NAME=VALUE", "dest": "torque"},  # where inputs are constant
    "--set": {
        **MANY,
        "metavar": "JOINT=VALUE",
        "help": "hold joints, by name or pattern, at coordinates while it is assembled (rad, m, or 10deg)",
    },
    "--parameter": {
        **MANY,
        "metavar": "NAME=VALUE",
        "help": "another value of a parameter, or of any number by its path; several numbers with commas",
    },
    "--view": {
        "metavar": "A,E",
        "help": "look from azimuth A and elevation E, degrees (default: chosen, or -75,22)",
    },
    "--unit": {
        **MANY,
        "metavar": "UNIT",
        "help": "units to show results in, such as deg mm; they serve speeds too (default: SI)",
    },
    "--gravity": {
        "metavar": "G",
        "help": "gravity (m/s², or with a unit) instead of the description's: a number for -z, or X,Y,Z",
    },
    "--substeps": {
        "metavar": "N",
        "type": int,
        "help": "shorter steps that a step may try where it has to, which bounds its cost; 1: none",
    },
    "--no-compile": {"action": "store_true", "help": "do not use a C compiler"},
    "--progress": {"action": "store_true", "help": "show progress even if this is no terminal"},
    "--json": {"action": "store_true", "help": "print JSON for another program"},
}


class Options:
    """Declares the arguments of a subcommand: common ones by name, flags by a text, others by a value too."""

    def __init__(self, parser: Any):
        self.parser = parser
        self.written: list[str] = []  # what holds the names of files to write

    def __call__(self, names: str, value: str = "", text: str = "", **how: Any) -> None:
        """`writes` among the rest says that the value is a file, or a folder of files, that is written."""
        writes = how.pop("writes", False)
        known = COMMON.get(names, {} if value or how else {"action": "store_true"})
        given = {key: x for key, x in (("metavar", value), ("help", text)) if x}
        added = self.parser.add_argument(*names.split(), **(known | how | given))
        if names == "mechanism":
            self("--trust")
            self("--accept-inertia")
        if writes:
            if not self.written:
                self("--force")
            self.written.append(added.dest)


def read_gravity(text: str | None) -> float | tuple[float, ...] | None:
    """A number, three numbers, or None when nothing was said."""
    if text is None:
        return None
    numbers = tuple(number(part, "--gravity", "m/s2") for part in text.split(","))
    if len(numbers) not in (1, 3):
        raise CutjointError(f"--gravity takes one number or three with commas, not '{text}'")
    return numbers[0] if len(numbers) == 1 else numbers


def number(text: str, option: str, unit: str | None = None) -> float:
    """A finite number, with a unit where there may be one, or a sentence that says where it is missing."""
    try:
        value = float(text)
    except ValueError:
        if unit is None or not text.lstrip(" +-.")[:1].isdigit():
            raise CutjointError(f"{option}: '{text}' is not a number") from None
        try:
            value = quantity(text, unit)
        except DescriptionError as error:
            raise CutjointError(f"{option} {error}") from None
    if not isfinite(value):
        raise CutjointError(f"{option}: '{text}' is not a finite number")
    return value


def read_numbers(text: str, option: str, units: Sequence[str]) -> list[float]:
    """Several with commas, each with its unit or without."""
    parts = text.split(",")
    if len(parts) != len(units):
        raise CutjointError(f"{option} takes {len(units)} number(s), not {len(parts)}")
    return [number(part.strip(), option, unit) for part, unit in zip(parts, units, strict=True)]


def positive(text: str, option: str, unit: str | None = None) -> float:
    """A number above zero."""
    value = number(text, option, unit)
    if value <= 0:
        raise CutjointError(f"{option} must be more than zero, not {text}")
    return value


def read_pairs(
    words: Sequence[str], known: Mapping[str, Sequence[str]], option: str, what: str
) -> dict[str, list[float]]:
    """`name=value` words as a mapping; `all=value` stands for every known name, `motor*=value` for some.

    known : name -> the unit of each of its numbers.
    """
    pairs: dict[str, list[float]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise CutjointError(f"{option} takes NAME=VALUE, not '{word}'")
        everything = name == "all" and "all" not in known
        some = [] if name in known else [each for each in known if fnmatchcase(each, name)]
        for each in known if everything else some or [check_name(name, known, option, what)]:
            pairs[each] = read_numbers(text, f"{option} {name}", known[each])
        if everything and not known:
            number(text, f"{option} {name}")
    return pairs


def check_name(name: str, known: Collection[str], option: str, what: str) -> str:
    """The name, if it is known; otherwise an error with the nearest one or with all of them."""
    if name in known:
        return name
    raise CutjointError(f"{option}: there is no {what} '{name}'; {nearest(name, known)}")


def load_mechanism(args: argparse.Namespace, name: str | None = None) -> Mechanism:
    """What MECHANISM names, or one of several; a robot's file as --trust and --accept-inertia say."""
    from ..loading import load  # help should not wait for it

    return load(name or args.mechanism, trust=args.trust, accept_inertia=args.accept_inertia)


def prepare_simulation(
    args: argparse.Namespace, kind: Callable[..., Simulation] | None = None, **options: Any
) -> Simulation:
    """The simulation that MECHANISM, --gravity and --torque ask for, of a kind of its own if told."""
    from ..simulation import Simulation

    mechanism, led = with_drives(load_mechanism(args), getattr(args, "drive", ()))
    inputs = read_torques(args.torque, mechanism) | led
    if getattr(args, "set", None):
        options["start"] = read_joints(args.set, mechanism)
    if getattr(args, "parameter", None):
        options["parameters"] = read_parameters(args.parameter, mechanism)
    simulation = (kind or Simulation)(mechanism, gravity=read_gravity(args.gravity), **options)
    simulation.set_inputs(inputs)
    return simulation


def read_torques(words: Sequence[str], mechanism: Mechanism) -> dict[str, float]:
    """What `--torque`, or `--input` where inputs are constant, gives: inputs and their values."""
    law = next((word for word in words if "(" in word or ".csv" in word), None)
    if law:
        raise CutjointError(f"'{law}' is a law over time; here inputs are constant, see 'cutjoint simulate'")
    inputs = variable_names(mechanism).inputs
    units = {v.name: [v.unit] for v in inputs.columns()}
    pairs = (word.partition("=") for word in words)
    own = ["".join([inputs.aliases.get(name, name), *rest]) for name, *rest in pairs]
    found = read_pairs(own, units, "--torque", "motor or cylinder")
    return {name: value for name, (value,) in found.items()}


def read_laws(words: Sequence[str], names: Variables) -> dict[str, str]:
    """What `--input` gives: inputs and the texts of their laws."""
    texts: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise CutjointError(f"--input takes NAME=LAW, not '{word}'")
        name, known = names.inputs.aliases.get(name, name), [v.name for v in names.inputs.columns()]
        some = known if name == "all" and name not in known else [x for x in known if fnmatchcase(x, name)]
        for each in some or [check_name(name, known, "--input", "input")]:
            if each in texts:
                raise CutjointError(f"--input: '{each}' is given twice; add laws by sum(…)")
            texts[each] = text
    return texts


def read_joints(
    words: Sequence[str], mechanism: Mechanism, option: str = "--set"
) -> dict[str, float | list[float]]:
    """What `--set` holds: joints and their coordinates, several with commas."""
    kinds = {joint.name: mechanism.joint_type(joint) for joint in mechanism.joints}
    units = {name: kind.position_units if kind else () for name, kind in kinds.items()}
    found = read_pairs(words, units, option, "joint")
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def read_parameters(words: Sequence[str], mechanism: Mechanism) -> dict[str, Any]:
    """What `--parameter` changes: names, and a number or several with commas, each with its unit."""
    from ..describe.parameters import locate  # help should not wait for it

    known, found = variable_names(mechanism).parameters, {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise CutjointError(f"--parameter takes NAME=VALUE, not '{word}'")
        if name in known.named:
            alone, units = known.whole(name).size == 1, known.whole(name).units
        elif "." in name or name == "gravity":
            at = locate(mechanism, name, ("parameters", name))
            alone, units = at.alone, at.units
        else:
            check_name(name, list(known.named), "--parameter", "parameter")
        values = read_numbers(text, f"--parameter {name}", units)
        found[name] = values[0] if alone else values
    return found


def variable_names(mechanism: Mechanism) -> Variables:
    """Every name of a mechanism, without its equations."""
    from ..equations.topology import span  # help should not wait for it
    from ..variables import variables

    return variables(mechanism, span(mechanism))


def read_view(text: str | None) -> tuple[float, float] | None:
    """Azimuth and elevation in radians from two numbers of degrees, None when nothing was said."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise CutjointError(f"--view takes azimuth and elevation in degrees, such as -60,30, not '{text}'")
    azimuth, elevation = (number(part, "--view") for part in parts)
    if abs(elevation) > 90:
        raise CutjointError(f"--view: an elevation is between -90 and 90 degrees, not {elevation:g}")
    return radians(azimuth), radians(elevation)


def check_units(units: Sequence[str]) -> None:
    """Refuse units that are none, before the work starts."""
    try:
        in_unit("1", units)
    except DescriptionError as error:
        raise CutjointError(f"--unit: {error}") from None


def form_to_keep(source: str) -> str | None:
    """The description whose form a changed one keeps; robots of other formats have none."""
    return None if Path(source).suffix.lower() in dict(annexes.entries("READERS")) else source


def check_outputs(args: argparse.Namespace, written: Sequence[str]) -> None:
    """Refuse to replace what the command reads, and what is not ours, before the work starts."""
    others = [x for key, x in vars(args).items() if key not in written]
    said = [text for x in others for text in (x if isinstance(x, list) else [x]) if isinstance(text, str)]
    words = [word for text in said for word in (text, *re.split(r"[=,()'\s]+", text)) if word]
    for target in (getattr(args, key) for key in written):
        if target:
            check_replaceable(Path(target), map(Path, words), args.force)


def check_targets(*paths: str | None, picture: str | None = None) -> None:
    """Refuse files that can't be written, and pictures of unknown formats, before the work starts."""
    for path in (*paths, picture):
        if path:
            check_writable(path)
    if picture:
        picture_format(picture)


def tell_written(args: argparse.Namespace, **paths: str | None) -> None:
    """Say which files were written, by what is in them, unless a program reads."""
    for what, path in paths.items():
        if path and not args.json:
            print(f"{what}: {path}")


def output_columns(simulation: Simulation, names: Iterable[str], traced: bool = False) -> dict[str, str]:
    """What `--output` names: columns and their units; with `traced`, such as have derivatives."""
    from ..run.norms import columns_with_norms  # help should not wait for it

    outputs = simulation.variables().outputs
    try:
        if traced:
            chosen = {column.name: column for column in outputs.columns(names, traced)}
        else:
            chosen = columns_with_norms(outputs, names)
    except UnknownName as problem:
        raise CutjointError(f"--output: {problem}") from None
    return {name: "" if column.unit == "1" else column.unit for name, column in chosen.items()}


def to_json(value: Mapping[str, Any]) -> str:
    """JSON that any reader takes: arrays as lists, and null for what is not finite."""
    return json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value


@contextmanager
def progress_bar(args: argparse.Namespace) -> Iterator[Callable[[float], None]]:
    """A bar on standard error that a run fills from 0 to 1, if --progress or a terminal asks for it."""
    if not (args.progress or sys.stderr.isatty()):
        yield lambda fraction: None
        return
    from tqdm import tqdm

    with tqdm(total=100, unit="%", leave=False, bar_format="{percentage:3.0f}% {bar} {elapsed}") as bar:
        yield lambda fraction: bar.update(100 * fraction - bar.n)


@contextmanager
def progress_lines(args: argparse.Namespace, *packages: str) -> Iterator[None]:
    """What packages log of long work, as lines on standard error.

    All of them if --progress or a terminal asks for it, else the first, which says what is going on.
    """
    logs, tell = [logging.getLogger(name) for name in packages], _Lines(args.progress or sys.stderr.isatty())
    levels = [log.level for log in logs]
    for log in logs:
        log.addHandler(tell)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)
            log.removeHandler(tell)


class _Lines(logging.Handler):
    def __init__(self, every: bool):
        super().__init__()
        self.every, self.said = every, False

    def emit(self, record: logging.LogRecord) -> None:
        if self.every or not self.said:
            print(f"cutjoint: {record.getMessage()}", file=sys.stderr, flush=True)
        self.said = True
