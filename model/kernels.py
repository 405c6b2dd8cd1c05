"""What every engine can compute, by name: one table of traced functions, made when they are first asked for.

`engine.functions.closure` is a function over symbols, `engine.kernels.closure` the same as fast code. What
has parameters of its own (steps, charts, chosen outputs) goes by `Engine.kernel`, under names that tell them.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import casadi as ca

from .equations import outputs as readings
from .equations import sampled_sensors, single_joints, traced
from .equations.terms import Equations
from .manifold import charts, closing, motion_projection, singular_start, step_error
from .manifold import lift as lifting

Trace = Callable[[Equations], ca.Function]
Made = TypeVar("Made")


class Named:
    """A function by the name of the attribute; `rare`: called once a start, where compiling takes longer."""

    def __init__(self, trace: Trace, rare: bool = False):
        self.trace, self.rare, self.name = trace, rare, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, registry: "Registry[Made]", owner: type) -> Made:
        found = registry.made(self.name, self.trace)
        vars(registry)[self.name] = found  # which is found first from now on
        return found


class Registry(Generic[Made]):
    """The functions themselves, or what `make` makes of them by name and trace."""

    closure = Named(traced.closure)
    coefficients = Named(traced.coefficients)
    decays = Named(traced.decays)
    dynamics = Named(traced.dynamics)
    given_accelerations = Named(traced.given_accelerations, rare=True)
    internal_rates = Named(traced.internal_rates)
    loop_accelerations = Named(traced.loop_accelerations, rare=True)
    mass_pivots = Named(traced.mass_pivots, rare=True)
    project_position = Named(traced.project_position)
    project_velocity = Named(traced.project_velocity)
    rates = Named(traced.rates)
    retraction = Named(traced.retraction)

    outputs = Named(readings.outputs)
    sampling = Named(sampled_sensors.sampling)
    sample_values = Named(sampled_sensors.sample_values)
    upcoming = Named(sampled_sensors.upcoming)

    assembly = Named(closing.assembly, rare=True)
    dependent_speeds = Named(closing.dependent_speeds)
    displacement = Named(lifting.displacement)
    displacement_rates = Named(lifting.displacement_rates)
    driven_jacobian = Named(charts.driven_jacobian, rare=True)
    from_rest = Named(singular_start.from_rest, rare=True)
    lift = Named(lifting.lift)
    lift_along = Named(lifting.lift_along)
    inputs_after = Named(motion_projection.inputs_after)
    project_to_motion = Named(motion_projection.project_to_motion)
    start_speeds = Named(closing.start_speeds, rare=True)
    unitless_jacobian = Named(charts.unitless_jacobian)

    project_and_estimate = Named(step_error.project_and_estimate)
    joint_accelerations = Named(single_joints.joint_accelerations)
    joint_values = Named(single_joints.joint_values)

    def __init__(self, make: Callable[[str, Trace], Made]):
        self.made = make

    def forget(self, name: str) -> None:
        """Make it anew when it is asked for again."""
        vars(self).pop(name, None)


TABLE: dict[str, Named] = {name: x for name, x in vars(Registry).items() if isinstance(x, Named)}
RARE = tuple(name for name, entry in TABLE.items() if entry.rare)


def trace_of(name: str, make: Trace | None = None) -> Any:
    """What traces a function of the table, unless it is given."""
    return make or TABLE[name].trace
