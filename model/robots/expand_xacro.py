"""Expands a xacro file on standard output: a program of its own, run by `read_urdf.py`.

Xacro evaluates expressions of the file. In a process of its own, with little memory and time and an almost
empty environment, they can neither hang nor harm the caller. Whatever the file includes is opened here, and
only if it lies in the file's folder, or in the package it is part of, and is not more than it should be.
`$(find ...)` looks for that package first, so that no workspace needs to be sourced.
"""

import io
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

LARGEST_INCLUDE = 10_000_000  # bytes
PACKAGE_DEPTH = 3  # folders that a description lies below its package's, at most
MEMORY = 2_000_000_000  # bytes


class RefusedInclude(Exception):
    """An include that is not opened."""


def package_of(folder: Path) -> tuple[str, Path]:
    """The package that a folder is part of, by its package.xml; without one no name and the folder itself."""
    for up in (folder, *folder.parents[:PACKAGE_DEPTH]):
        if (up / "package.xml").is_file():
            text = (up / "package.xml").read_text(encoding="utf-8", errors="replace")
            name = re.search(r"<name>\s*(\S+?)\s*</name>", text)
            return (name[1] if name else up.name), up
    return "", folder


def guarded(folder: Path) -> Any:
    """`open` for files in a folder."""

    def opened(name: Any, *_: Any, **__: Any) -> io.StringIO:
        path = Path(name).resolve()
        if not path.is_relative_to(folder):
            raise RefusedInclude(f"'{name}' is outside the folder of the file; copy it there")
        if path.stat().st_size > LARGEST_INCLUDE:
            raise RefusedInclude(f"'{name}' is larger than {LARGEST_INCLUDE // 1_000_000} MB: no description")
        text = path.read_text(encoding="utf-8")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise RefusedInclude(f"'{name}': document types and entities are refused")
        return io.StringIO(text)

    return opened


def answer_find(folder: Path) -> None:
    """Let xacro's `find` ask us: for the file's own package, a folder of that name around it, then ROS."""
    own, where = package_of(folder)
    packages: Any
    try:
        from ament_index_python import packages
    except ImportError:
        packages = sys.modules["ament_index_python.packages"] = ModuleType("ament_index_python.packages")
        sys.modules["ament_index_python"] = ModuleType("ament_index_python")
    otherwise: Any = getattr(packages, "get_package_share_directory", None)

    def find(package: str) -> str:
        if package == own:
            return str(where)
        for up in (folder, *folder.parents[:PACKAGE_DEPTH]):
            if up.name == package:
                return str(up)
        try:
            return str(otherwise(package))
        except Exception:
            raise RefusedInclude(
                f"there is no package '{package}' around the file; copy it there, or source its workspace"
            ) from None

    packages.get_package_share_directory = find


def main(file: str) -> int:
    try:
        import xacro
    except ImportError:
        print("install 'xacro' (pip install xacro) to read xacro files", file=sys.stderr)
        return 1
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError, OSError):
        pass  # no limits on this system
    folder = Path(file).resolve().parent
    xacro.open = guarded(package_of(folder)[1])
    answer_find(folder)
    try:
        sys.stdout.write(xacro.process_file(file).toxml())
    except Exception as error:  # expressions may raise anything
        told = getattr(error, "exc", None)
        print(f"xacro: {' '.join(str(told or error).split())}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
