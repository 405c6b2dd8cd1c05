"""From the path of a robot in any of the formats we read to a mechanism and a report."""

from pathlib import Path

import numpy as np

from ..base.errors import DescriptionError
from .robot import Robot
from .translate import Imported, ImportOptions, translate
from .xml_nodes import Node, read_xml


def read_robot(path: Path, wishes: ImportOptions | None = None) -> Imported:
    """The mechanism of a file, not checked yet, and what there is to say about it."""
    wishes = wishes or ImportOptions()
    with np.errstate(all="ignore"):  # what overflows is refused by name
        robot = _read(path, wishes)
        try:
            return translate(robot, wishes)
        except DescriptionError as error:
            raise DescriptionError(f"{path}: {error}") from None


def _read(path: Path, wishes: ImportOptions) -> Robot:
    """Readers are imported when they are needed: MuJoCo's parser and xacro take their time."""
    root = read_xml(path)
    if wishes.loops and root.tag in ("mujoco", "sdf"):
        raise DescriptionError(
            f"{path}: only URDF has what closes its loops in another file; leave --loops out"
        )
    if path.suffix.lower() == ".xacro":
        root = _expanded(path, wishes)
    elif root.tag == "mujoco":
        from .read_mjcf import read_mjcf

        return read_mjcf(path, wishes.start if isinstance(wishes.start, str) else "")
    if isinstance(wishes.start, str):
        raise DescriptionError(f"{path}: only MJCF files have keyframes; give joint values instead")
    if root.tag == "sdf":
        from .read_sdf import read_sdf

        return read_sdf(root)
    if root.tag == "robot":
        from .read_urdf import read_urdf
        from .urdf_loops import with_loops

        return with_loops(read_urdf(root), root, path, wishes.loops)
    raise DescriptionError(
        f"{path}: it starts with <{root.tag}>; robots start with <robot>, <mujoco> or <sdf>"
    )


def _expanded(path: Path, wishes: ImportOptions) -> Node:
    """A xacro file as plain XML: by us, or by the xacro package if the user trusts the file."""
    if wishes.trust:
        from .read_urdf import expand_trusted

        return expand_trusted(path, wishes.arguments, wishes.packages)
    from .expand_xacro import expand_xacro

    return expand_xacro(path, wishes.arguments, wishes.packages)
