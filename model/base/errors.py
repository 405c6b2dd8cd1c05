"""The errors a user can cause, each one sentence long."""


class CutjointError(Exception):
    """Anything the user can put right; the command line prints it without a traceback."""


class DescriptionError(CutjointError):
    """A mechanism that is not described well: the message names the place and the fix."""


class AssemblyError(CutjointError):
    """Loops that can't be closed: the message names the loop and how far it stays open."""


class SimulationError(CutjointError):
    """A simulation asked for something it can't do, such as a step of negative length."""


class UnknownName(SimulationError):
    """A name that is not in the table of variables: the message has the nearest that is."""


def brought_by(extra: str) -> str:
    """How to get what an extra of `pyproject.toml` brings: no package index has Cutjoint, a clone does."""
    return f"\"pip install '.[{extra}]'\" in a clone of Cutjoint brings it"
