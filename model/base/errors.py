"""The errors a user can cause, each one sentence long."""

import re

# What moves a cursor, colours, renames or turns round in a terminal: names in files may have it.
_ACTIVE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_LONGEST = 1_600  # characters of a sentence


def inert(text: str) -> str:
    """A text on one line that no terminal obeys; what it quotes stays readable, but for what is endless."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST * 3 // 4]} ... {text[-_LONGEST // 8 :]}"
    line = re.sub(r"[\t\n\r]+", " ", text)
    return _ACTIVE.sub(lambda found: ascii(found[0])[1:-1], line)


class CutjointError(Exception):
    """Anything the user can put right; the command line prints it without a traceback."""

    def __init__(self, *said: object) -> None:
        super().__init__(*(inert(x) if isinstance(x, str) else x for x in said))


class DescriptionError(CutjointError):
    """A mechanism that is not described well: the message names the place and the fix."""


class AssemblyError(CutjointError):
    """Loops that can't be closed: the message names the loop and how far it stays open."""


class SimulationError(CutjointError):
    """A simulation asked for something it can't do, such as a step of negative length."""


class UnknownName(SimulationError, KeyError):
    """A name that is not in the table of variables: the message has the nearest that is."""

    __str__ = Exception.__str__  # a KeyError would put its sentence in quotes


def how_to_install(extra: str) -> str:
    """How to get what an extra of `pyproject.toml` brings: no package index has Cutjoint, a clone does."""
    return f"\"pip install '.[{extra}]'\" in a clone of Cutjoint brings it"
