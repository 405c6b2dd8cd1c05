"""`cutjoint import`: a robot of another format as a description of ours, with a report."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.errors import CutjointError, DescriptionError
from ..base.marks import check_replaceable
from ..base.thresholds import OPEN_START
from ..cli.common import MANY, Options, check_targets, tell_written, to_json
from ..describe.writer import save
from ..describe.yaml_text import build_from_text, text_of
from ..engine import Engine
from ..equations.terms import described_start
from ..manifold.gaps import loop_gaps
from ..simulation import Simulation
from ..urdf.surfaces import relocate_meshes
from .annex import READERS
from .load_robot import load_robot
from .translate import FIXED, FLOATING, ImportOptions

HELP = "Read a URDF, xacro, MJCF or SDF file: what was read, repaired, left out; write our description."
EXAMPLE = """
cutjoint import robot.urdf -o mechanism.yaml
cutjoint import stewart.sdf --base fixed --drive 'piston?_prismatic_joint' -o stewart.yaml
cutjoint import cassie.xml --start home -o cassie.yaml
"""


def add_arguments(option: Options) -> None:
    option("file", "FILE", f"a robot: {', '.join(READERS)}")
    option("-o --output", "FILE", "write the description", writes=True)
    option(
        "--base",
        text="whether the base is fixed or floats, if not as the file says",
        choices=(FIXED, FLOATING),
    )
    option("--loops", "FILE", "a YAML file that says what closes the loops of a URDF")
    option("--drive", "JOINT", "joints with motors, * and ? for any letters", nargs="*", default=None)
    option("--start", "POSE", "start from a keyframe of MJCF, or from a YAML file of joint values")
    option("--argument", "NAME=VALUE", "of a xacro file: values of its arguments", **MANY)
    option("--packages", "FOLDER", "of a xacro file: folders of ROS packages that it may read", **MANY)
    option("--trust")
    option("--accept-inertia")
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(args.output)
    path = Path(args.file)
    if not path.is_file():
        raise CutjointError(f"there is no file '{path}'")
    if path.suffix.lower() not in READERS:
        raise CutjointError(f"'{path}' is no robot; the name must end in {', '.join(READERS)}")
    if args.output:
        check_replaceable(Path(args.output), [path.with_suffix(".loops.yaml")], args.force)
    wishes = ImportOptions(
        base=args.base,
        drive=None if args.drive is None else tuple(args.drive),
        loops=Path(args.loops) if args.loops else None,
        start=_start(args.start),
        accept_inertia=args.accept_inertia,
        trust=args.trust,
        arguments=_arguments(args.argument),
        packages=tuple(map(Path, args.packages)),
    )
    mechanism, report = load_robot(path, wishes)
    engine = Engine(mechanism, compile=False)
    gaps = loop_gaps(engine.closure(*described_start(engine.equations))[0], engine.tree)
    closed = Simulation(engine)
    found = closed.topology()
    lines = [
        *report,
        *(f"closed: {name} from a gap of {gap:.3g}" for name, gap in gaps.items() if gap > OPEN_START),
    ]
    lines.append(f"mobility: {found.mobility}, with {found.rows} constraints of rank {found.rank}")
    if args.json:
        print(to_json({"mechanism": mechanism.name, "report": lines, "gaps": gaps}))
    else:
        print(
            "\n".join(
                (f"{mechanism.name}: {len(mechanism.bodies)} bodies, {len(mechanism.joints)} joints", *lines)
            )
        )
    if args.output:
        if max(gaps.values(), default=0.0) > OPEN_START:
            mechanism = mechanism.with_start(closed.start_report.coordinates)
        save(relocate_meshes(mechanism, Path(args.output).parent), args.output)
    tell_written(args, written=args.output)
    return 0


def _arguments(words: list[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    for name, equals, _ in pairs:
        if not equals:
            raise CutjointError(f"--argument takes NAME=VALUE, not '{name}'")
    return {name.removesuffix(":"): value for name, _, value in pairs}


def _start(text: str | None) -> Mapping[str, Any] | str:
    """The name of a keyframe, or the coordinates in a file."""
    if text is None:
        return {}
    path = Path(text)
    if not path.is_file():
        return text

    def values(found: Any) -> Mapping[str, Any]:
        if not isinstance(found, dict) or not all(isinstance(x, float | list) for x in found.values()):
            raise DescriptionError("a start pose is a mapping of joints to numbers")
        return found

    return build_from_text(text_of(path), str(path), values)
