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
    tag = "xacro" if path.suffix.lower() == ".xacro" else read_xml(path).tag
    if tag == "mujoco":
        from .read_mjcf import read_mjcf

        return read_mjcf(path, wishes.start if isinstance(wishes.start, str) else "")
    if isinstance(wishes.start, str):
        raise DescriptionError(f"{path}: only MJCF files have keyframes; give joint values instead")
    if tag == "sdf":
        from .read_sdf import read_sdf

        return read_sdf(path)
    if tag in ("robot", "xacro"):
        from .read_urdf import read_urdf, read_xacro
        from .urdf_loops import with_loops

        robot, root = (read_xacro if tag == "xacro" else read_urdf)(path)
        return with_loops(robot, root, path, wishes.loops)
    raise DescriptionError(f"{path}: it starts with <{tag}>; robots start with <robot>, <mujoco> or <sdf>")
