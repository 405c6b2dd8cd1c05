"""ROS packages: which one a file is part of, and where others lie that it may name.

A robot's file names others by package. Looked for, in this order: the package of the file itself, by its
package.xml; the folders around it, by their names; packages beside its own; folders that the user names;
workspaces that the user has sourced. Nothing else is opened for a file.
"""

import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..base.errors import DescriptionError
from ..base.untrusted import read_text

DEPTH = 3  # folders that a description lies below its package's, at most
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*", re.ASCII)
_MARKS = ("package.xml", "model.config")  # of ROS packages, and of Gazebo's models
_LARGEST_MARK = 100_000  # bytes


def _name_of(folder: Path) -> str:
    """The name that a package gives itself; empty for a folder that is none."""
    mark = next((folder / name for name in _MARKS if (folder / name).is_file()), None)
    if mark is None:
        return ""
    try:
        text = read_text(mark, _LARGEST_MARK)
    except DescriptionError:
        return folder.name
    name = re.search(r"<name>\s*([^\s<]+)\s*</name>", text)
    return name[1] if name and mark.name == _MARKS[0] else folder.name


def package_around(folder: Path) -> Path:
    """The folder of the package that a folder is part of; the folder itself if it is part of none."""
    folder = folder.resolve()
    return next((up for up in (folder, *folder.parents[:DEPTH]) if _name_of(up)), folder)


def package_folders(name: str, folder: Path, named: Iterable[Path] = ()) -> list[Path]:
    """Where a package of that name may lie for a file in `folder`, the likeliest first."""
    if not _NAME.fullmatch(name):
        return []  # no way up or elsewhere is a package's name
    folder, named = folder.resolve(), [path.resolve() for path in named]
    around = [folder, *folder.parents[:DEPTH]]
    own = package_around(folder)
    found = [own] if _name_of(own) == name else []
    found += [up for up in around if up.name == name and not _is_private(up)]
    found += [path for up in around if _name_of(path := up / name) and path.resolve() == path]
    found += [path for place in named for path in (place / name, place / "share" / name) if path.is_dir()]
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    found += [path for p in prefixes if p and (path := Path(p, "share", name)).is_dir()]
    if not found:  # a package's folder may have another name
        places = [own.parent, *named, *(path for place in named for path in _folders(place))]
        found = [path for place in places for path in _folders(place) if _name_of(path) == name]
    return list(dict.fromkeys(found))


def _is_private(folder: Path) -> bool:
    """Whether a folder is the user's own, that of temporary files, or above: it is no package."""
    places = (Path(os.path.expanduser("~")), Path(tempfile.gettempdir()))
    return any(place.resolve().is_relative_to(folder) for place in places)


def _folders(place: Path) -> list[Path]:
    try:
        return sorted(path for path in place.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []
