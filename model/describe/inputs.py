"""The table of inputs: all that is set from outside while a mechanism moves, a row for each.

Elements declare their rows (`Motor.inputs`, `Strut.inputs`, `NamedFrame.inputs`, or the `inputs` of a kind
that was registered); `Mechanism.input_table` puts them in order. Python, FMU, node, native loop and plugin
all read this table: nobody else decides what an input is, or how large it may be.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

EFFORT_ROLES = ("torque", "force")  # roles of inputs that are what a motor or cylinder gives
MOTION_ROLES = ("position", "speed", "velocity", "acceleration")  # roles of inputs that say how it shall move


@dataclass(frozen=True)
class Input:
    """A number or vector that is set from outside."""

    name: str
    element: str  # whose it is, such as `motor.shoulder`
    role: str  # what it is to the element: torque, force, voltage, position, speed, velocity, acceleration
    units: tuple[str, ...]  # one per component
    about: str = ""
    joint: str = ""  # the joint that it drives
    drives: str = ""  # the output that is the coordinate it drives; empty if it moves nothing of its own
    low: float = -inf  # beyond these it has no further effect
    high: float = inf
    follows: bool = False  # whether the element follows a path by itself, as servos and driven motions do
    first: int = 0  # its place in u

    @property
    def where(self) -> slice:
        return slice(self.first, self.first + self.size)

    @property
    def size(self) -> int:
        return len(self.units)

    @property
    def names(self) -> tuple[str, ...]:
        """Of its components."""
        return (self.name,) if self.size == 1 else tuple(f"{self.name}[{k + 1}]" for k in range(self.size))


def port_of(name: str, ports: Iterable[str]) -> str:
    """The port that an input's name stands for, `motor.motor1.torque` for `motor1`; else the name."""
    inner = {port: port.partition(".")[2] for port in ports}
    fitting = [port for port, rest in inner.items() if name in (rest, rest.rpartition(".")[0])]
    return name if name in inner or not fitting else fitting[0]  # the first of a drive bears its plain name
