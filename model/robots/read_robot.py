"""From the path of a robot in any of the formats we read to a mechanism and a report."""

from pathlib import Path

import numpy as np

from ..errors import DescriptionError
from .robot import Robot
from .translate import Imported, Wishes, translate
from .xml_nodes import read_xml

ENDINGS = (".urdf", ".xacro", ".xml", ".mjcf", ".sdf", ".world")


def is_robot(path: Path) -> bool:
    """Whether a file's name says that it is a robot in another format."""
    return path.suffix.lower() in ENDINGS


def read_robot(path: Path, wishes: Wishes | None = None) -> Imported:
    """The mechanism of a file, not checked yet, and what there is to say about it."""
    wishes = wishes or Wishes()
    with np.errstate(all="ignore"):  # what overflows is refused by name
        robot = _read(path, wishes)
        try:
            return translate(robot, wishes)
        except DescriptionError as error:
            raise DescriptionError(f"{path}: {error}") from None


def _read(path: Path, wishes: Wishes) -> Robot:
    """Readers are imported when they are needed: MuJoCo's parser and xacro take their time."""
    root = read_xml(path)
    if wishes.loops and root.tag in ("mujoco", "sdf"):
        raise DescriptionError(
            f"{path}: only URDF has what closes its loops in another file; leave --loops out"
        )
    if path.suffix.lower() == ".xacro":
        from .read_urdf import expanded

        root = expanded(path)
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
