"""Runs the xacro package on a file that the user trusts, and prints what it becomes: a program of its own.

Xacro evaluates expressions as Python, so the file may do whatever its user may: `--trust` asks for it.
`$(find ...)` finds what `packages.py` finds, so that no workspace needs to be sourced.
"""

import json
import sys
from pathlib import Path
from types import ModuleType

from ..urdf.packages import package_folders


def main(file: str, arguments: str, *packages: str) -> int:
    try:
        import xacro
    except ImportError:
        print("install 'xacro' (pip install xacro) to trust xacro files", file=sys.stderr)
        return 1

    def find(name: str) -> str:
        found = package_folders(name, Path(file).parent, map(Path, packages))
        if not found:
            raise LookupError(f"there is no package '{name}' around the file")
        return str(found[0])

    index = sys.modules["ament_index_python.packages"] = ModuleType("ament_index_python.packages")
    sys.modules["ament_index_python"] = ModuleType("ament_index_python")
    index.get_package_share_directory = find  # type: ignore[attr-defined]
    try:
        sys.stdout.write(xacro.process_file(file, mappings=json.loads(arguments)).toxml())
    except Exception as error:  # expressions may raise anything
        said = getattr(error, "exc", None)
        print(f"xacro: {' '.join(str(said or error).split())}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
