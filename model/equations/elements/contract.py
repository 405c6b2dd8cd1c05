"""The contract of elements: what acts on bodies and joints, a class a kind and a file a class.

An element has, all in one place:

1. parameters: the fields of its class in the description, with unit, meaning, range (`describe/fields.py`);
2. inputs: the rows that class declares of itself (`describe/inputs.py`);
3. `states`: internal states z, each with a rate ż = a − b z;
4. `outputs`: what can be read of it;
5. `indicators`: where what it does has a kink, so that solvers land there;
6. `evaluate`: wrenches, joint forces, energies, powers, rates, outputs and indicators at a state, traced;
7. `measure`: values of outputs that need accelerations or constraint forces, traced.

`forces.applied` adds up what all of them do; names, layout and values of states and outputs follow from
their declarations. A kind of your own is one more subclass and a call of `register`: its items are read
from descriptions under the name of its group, and everything that lists, steps, linearizes, exports or
publishes knows them.

Nothing here knows the kinematics, so that the layout of states can follow from it (`topology.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, ClassVar, NamedTuple

import casadi as ca

from ...describe.field_kinds import Group
from ...describe.mechanism import Mechanism, add_group

NOTHING = ca.SX(0)


class InternalState(NamedTuple):
    """An internal state of an element; an output has its name."""

    name: str
    units: tuple[str, ...]
    about: str


class Output(NamedTuple):
    """Something that can be read, a number for each unit."""

    name: str
    units: tuple[str, ...]
    about: str
    low: float = -inf
    sampled: bool = False  # held between samples


class Indicator(NamedTuple):
    """A function of the state that is zero where what an element does has a kink."""

    name: str
    unit: str
    about: str
    width: float = 0.0  # it counts as crossed when it is so far beyond: at rest, round-off has no say


class Flow(NamedTuple):
    """Rate of an internal state, ż = a − b z, and b, not negative."""

    rate: Any
    decay: Any


class Wrench(NamedTuple):
    """A force at a point of a link, and a torque on it, world axes; link −1 is the ground."""

    link: int
    r: Any
    force: Any
    torque: Any


class Action(NamedTuple):
    """What an element does at a state."""

    joint_forces: Mapping[str, Any] = {}  # joint -> force on its speeds, as the description counts them
    wrenches: Sequence[Wrench] = ()
    potential: Any = NOTHING  # energy kept in springs and stops
    kinetic: Any = NOTHING  # energy of what moves by itself: rotors behind play, currents
    supplied: Any = NOTHING  # power that comes in
    dissipated: Any = NOTHING  # power that is lost, not negative
    flows: Mapping[str, Flow] = {}  # state -> its rate
    values: Mapping[str, Any] = {}  # output -> its value; others that traced code asks for may stand here
    indicators: Mapping[str, Any] = {}  # indicator -> its value


class Element:
    """A kind of element: its declarations, and what one of its items does. Subclasses give what they have."""

    group: ClassVar[str]  # where a mechanism holds its items, such as `struts`
    word: ClassVar[str]  # first word of the names of its outputs, states and parameters, such as `strut`
    field: ClassVar[Group | None] = None  # of a kind that is registered: how descriptions hold its items

    def states(self, item: Any, mechanism: Mechanism) -> Sequence[InternalState]:
        """Its internal states, by the last word of their names."""
        return ()

    def outputs(self, item: Any, mechanism: Mechanism) -> Sequence[Output]:
        """What can be read of it beside its states, by the last word of their names."""
        return ()

    def indicators(self, item: Any, mechanism: Mechanism) -> Sequence[Indicator]:
        """Where it has kinks, by the last word of their names."""
        return ()

    def evaluate(self, item: Any, at: Any, u: Mapping[str, Any], z: Mapping[str, Any]) -> Action:
        """What it does at an `Instant`, with its inputs by role, within their bounds, and states by name."""
        return Action()

    def measure(self, item: Any, at: Any) -> Mapping[str, Any]:
        """Values of outputs at a `Solved` motion, where `evaluate` can't know them."""
        return {}


ELEMENTS: dict[str, Element] = {}  # by group, in the order in which states and outputs follow each other


def register(element: Element) -> None:
    """Make a kind of element known to descriptions and to the equations."""
    if element.field is not None:
        add_group(element.group, element.field)
    ELEMENTS[element.group] = element


def each(mechanism: Mechanism) -> Iterator[tuple[Element, Any, str]]:
    """All elements of a mechanism: kind, item, and what its names begin with."""
    for element in ELEMENTS.values():
        for item in getattr(mechanism, element.group):
            yield element, item, f"{element.word}.{item.name}"


def internal_states(mechanism: Mechanism) -> list[InternalState]:
    """All states beside coordinates and speeds, by their whole names and in their order."""
    return [
        state._replace(name=f"{stem}.{state.name}")
        for element, item, stem in each(mechanism)
        for state in element.states(item, mechanism)
    ]


def element_outputs(mechanism: Mechanism) -> Iterator[Output]:
    """Outputs of all elements by their whole names, states among them."""
    for element, item, stem in each(mechanism):
        found = [Output(*state) for state in element.states(item, mechanism)]
        for output in (*found, *element.outputs(item, mechanism)):
            yield output._replace(name=f"{stem}.{output.name}")


def element_indicators(mechanism: Mechanism) -> list[Indicator]:
    """Those of all elements by their whole names."""
    return [
        indicator._replace(name=f"{stem}.{indicator.name}")
        for element, item, stem in each(mechanism)
        for indicator in element.indicators(item, mechanism)
    ]
