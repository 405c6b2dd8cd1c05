"""Annexes: folders that can be taken off, and what each brings while it is there.

The core imports no annex. An annex is a folder with a file `annex.py`, which imports nothing and says in
plain data what the folder brings; the core looks for these files and imports what they name when asked.

COMMANDS : subcommand -> the three parts of a `Command`.
EXTENDS : subcommand of the core -> module that adds options to it; the core module says what it calls there.
READERS : ending of a file name -> module whose `load(path, trust, accept_inertia)` gives a mechanism, and
    `about(path)` more.
PAINTERS : "notebook" -> module whose `cell_html(item)` shows an item there.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from runpy import run_path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Command(NamedTuple):
    """A subcommand: the module that runs it, a line of help, and where it stands among the others."""

    module: str
    help: str
    place: int


class Annex(NamedTuple):
    """A folder, dotted from our root, and the data of its `annex.py`."""

    folder: str
    data: dict[str, Any]


@cache
def find_annexes() -> tuple[Annex, ...]:
    """The annexes that are there, by folder; their packages are not imported, which would take time."""
    folders = [folder for folder in ROOT.iterdir() if (folder / "__init__.py").is_file()]
    folders += [sub for folder in folders for sub in folder.iterdir() if (sub / "__init__.py").is_file()]
    names = sorted(folder.relative_to(ROOT).parts for folder in folders if (folder / "annex.py").is_file())
    return tuple(Annex(".".join(p), run_path(str(ROOT.joinpath(*p, "annex.py")))) for p in names)


def entries(what: str) -> Iterator[tuple[str, Any]]:
    """All entries of the mappings of that name, annex by annex."""
    for annex in find_annexes():
        yield from annex.data.get(what, {}).items()


def commands() -> dict[str, Command]:
    """The subcommands that annexes bring."""
    return {name: Command(*parts) for name, parts in entries("COMMANDS")}


def extensions(command: str) -> list[ModuleType]:
    """The modules that add to a subcommand of the core."""
    return [import_module(module) for name, module in entries("EXTENDS") if name == command]


def ask(command: str, function: str, *arguments: Any) -> list[Any]:
    """What the functions of that name say that extend a subcommand; those that say None are left out."""
    asked = (getattr(module, function, None) for module in extensions(command))
    return [answer for each in asked if each and (answer := each(*arguments)) is not None]


def reader(path: Path) -> ModuleType | None:
    """What reads a file of another format, told by its ending; None if nothing here does."""
    module = next((module for ending, module in entries("READERS") if path.suffix.lower() == ending), None)
    return import_module(module) if module else None
