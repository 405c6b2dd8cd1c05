"""Expands a xacro file on standard output: a program of its own, run by `read_urdf.py`.

Xacro evaluates expressions of the file. In a process of its own, with little memory and time and an almost
empty environment, they can neither hang nor harm the caller. Whatever the file includes is opened here, and
only if it lies in the file's folder and is not more than it should be.
"""

import io
import sys
from pathlib import Path
from typing import Any

LARGEST_INCLUDE = 10_000_000  # bytes
MEMORY = 2_000_000_000  # bytes


class RefusedInclude(Exception):
    """An include that is not opened."""


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
    xacro.open = guarded(Path(file).resolve().parent)
    try:
        sys.stdout.write(xacro.process_file(file).toxml())
    except Exception as error:  # expressions may raise anything
        told = getattr(error, "exc", None)
        print(f"xacro: {' '.join(str(told or error).split())}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
