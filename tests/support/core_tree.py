"""A copy of the project without its annexes: the core alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from cutjoint.model.base import annexes

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".git", ".venv", "build", "demo", "__pycache__", "*.egg-info", ".*_cache")


def core_tree(where: Path) -> Path:
    """The tree, as a package that can be imported as `cutjoint` from `where`."""
    tree = where / "cutjoint"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for annex in annexes.find_annexes():
        shutil.rmtree(tree.joinpath(*annex.folder.split(".")))
    return tree
