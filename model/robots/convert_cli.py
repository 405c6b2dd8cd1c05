"""`cutjoint convert`: a mechanism in the formats of others, with a report of what they can't say."""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..base.errors import CutjointError
from ..base.files import write_atomically
from ..base.marks import check_replaceable
from ..cli.common import Options, check_targets, load_mechanism, tell_written, to_json
from ..control.joint_values import JointValues
from ..describe.mechanism import Mechanism
from ..describe.writer import save
from ..equations.topology import span
from ..simulation import Simulation
from ..urdf.surfaces import relocate_meshes
from ..urdf.writer_common import rewrite_for_format
from .urdf_dialects import DIALECTS, write_urdf
from .write_mjcf import CLOSING as MJCF_LOOPS
from .write_mjcf import write_mjcf
from .write_sdf import CLOSING as SDF_LOOPS
from .write_sdf import write_sdf

HELP = "Write a mechanism as URDF, MJCF, SDF or our own description, and report what the target can't hold."
EXAMPLE = """
cutjoint convert delta -o delta.urdf
cutjoint convert delta -o delta.urdf --loops loop
cutjoint convert robot.urdf -o robot.xml
"""
ENDINGS = (".urdf", ".xml", ".sdf", ".yaml")


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("-o --output", "FILE", f"what to write: {', '.join(ENDINGS)}", required=True, writes=True)
    option("--loops", text="how URDF says its loops", choices=tuple(DIALECTS), default="yaml")
    option("--json")


def run(args: argparse.Namespace) -> int:
    check_targets(args.output)
    target = Path(args.output)
    if target.suffix not in ENDINGS:
        raise CutjointError(f"'{target}' has no ending that is known; write {', '.join(ENDINGS)}")
    mechanism = load_mechanism(args)
    written, notes = convert(mechanism, target, args.loops, args.force)
    if args.json:
        print(to_json({"mechanism": mechanism.name, "report": notes, "written": [str(w) for w in written]}))
    else:
        print("\n".join(notes or ["nothing was lost"]))
    tell_written(args, written=", ".join(str(file) for file in written))
    return 0


def convert(
    mechanism: Mechanism, target: Path, loops: str = "yaml", force: bool = True
) -> tuple[list[Path], list[str]]:
    """Write a mechanism; returns the files, and a line for all that the target can't say.

    The loops of a URDF go to NAME.loops.yaml; without `force` only files that are ours are replaced.
    """
    notes: list[str] = []
    mechanism = relocate_meshes(mechanism, target.parent)
    if target.suffix == ".yaml":
        save(mechanism, target)
        return [target], notes
    closing = {".urdf": DIALECTS[loops], ".xml": MJCF_LOOPS, ".sdf": SDF_LOOPS}[target.suffix]
    plain = (
        mechanism
        if target.suffix == ".urdf" and loops == "tree"
        else rewrite_for_format(mechanism, closing, notes)
    )
    original = Simulation(replace(mechanism, parameters={}), compile=False)
    outputs = original.outputs()
    starts = {
        joint.name: np.atleast_1d(outputs[f"joint.{joint.name}.position"])
        for joint in mechanism.joints
        if f"joint.{joint.name}.position" in outputs
    }
    in_tree = span(plain).q
    plain = plain.with_start({name: q for name, q in starts.items() if name in in_tree})
    there = Simulation(plain, compile=False)
    texts = {target: ""}
    if target.suffix == ".urdf":
        texts[target], other = write_urdf(plain, loops, _singles(there), notes)
        if other:
            texts[target.with_suffix(".loops.yaml")] = other
    elif target.suffix == ".xml":
        texts[target] = write_mjcf(plain, _singles(there), notes)
    else:
        poses = there.body_poses()
        texts[target] = write_sdf(plain.with_start(starts), poses, notes)
    for path in texts:
        check_replaceable(path, force=force)
    for path, text in texts.items():
        with write_atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return list(texts), notes


def _singles(simulation: Simulation) -> Mapping[str, float]:
    """Values of all joints with one coordinate."""
    values = JointValues(simulation)
    values.read()
    return {joint.name: float(x) for joint, x in zip(values.joints, values.position, strict=False)}
