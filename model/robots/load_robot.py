"""A robot of another format as a checked mechanism."""

import os
from dataclasses import replace
from pathlib import Path

from ..base.errors import DescriptionError
from ..describe.mechanism import Mechanism
from ..loading import check_names
from .read_robot import read_robot
from .translate import Imported, ImportOptions


def load(path: Path, trust: bool = False, accept_inertia: bool = False) -> Mechanism:
    """The mechanism of a robot's file, as its author's numbers say it; options as for `loading.load`."""
    return load_robot(path, ImportOptions(trust=trust, accept_inertia=accept_inertia)).mechanism


def load_robot(path: str | os.PathLike[str], wishes: ImportOptions | None = None) -> Imported:
    """The mechanism in a URDF, xacro, MJCF or SDF file, and what was read, repaired, merged and left out.

    Parameters
    ----------
    path : the robot's file.
    wishes : what you decide where the file leaves it open; as the file says if None.
    """
    path = Path(path)
    imported = read_robot(path, wishes)
    try:
        mechanism = replace(check_names(imported.mechanism), folder=str(path.parent.resolve()))
        return imported._replace(mechanism=mechanism)
    except DescriptionError as error:
        raise DescriptionError(f"{path}: {error}") from None
