"""What is fixed to bodies and moves nothing: shapes that are shown, frames that have names."""

from dataclasses import dataclass
from typing import Annotated, Any

from ..joints.types import JointType
from .field_kinds import Choice, Numbers, Orientation, Reference, Text, Word
from .fields import Quantity
from .inputs import Input

# Shape -> what its `size` says; a mesh may say none.
SHAPES = {
    "box": ("edge along x", "edge along y", "edge along z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length along z"),
    "capsule": ("radius", "length along z between the centres of its ends"),
    "mesh": ("scale along x", "scale along y", "scale along z"),
}

PORTS = ("none", "motion", "force")
TURNED = Orientation("how it is turned", parameter=False, otherwise="as its body")


@dataclass(frozen=True)
class Visual:
    """A shape on a body, or on ground. Its own frame has its centre at the origin."""

    name: str  # by which others refer to it
    body: Annotated[str, Reference("what shows it; may be `ground`", "body")]
    shape: Annotated[str, Choice("what it is", tuple(SHAPES))]
    size: Annotated[
        tuple[float, ...],
        Numbers(
            "m: edges of a box; radius; radius and length along z; of a mesh scales along its axes",
            parameter=False,
            otherwise="needed but for a mesh",
        ),
    ] = ()
    file: Annotated[str, Text("of a mesh: STL, OBJ or DAE, beside the description")] = ""
    colour: Annotated[
        tuple[float, ...],
        Numbers("red, green, blue and opacity, from 0 to 1", parameter=False, otherwise="the body's"),
    ] = ()
    at: Annotated[Any, Quantity("where its origin is", "m", 3, on="body", parameter=False)] = (0.0, 0.0, 0.0)
    orientation: Annotated[Any, TURNED] = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class NamedFrame:
    """A place on a body, or on ground, that others know by name: a tool, a sensor, a merged link."""

    name: str  # by which others refer to it
    body: Annotated[str, Reference("what it is fixed to; may be `ground`", "body")]
    at: Annotated[Any, Quantity("where its origin is", "m", 3, on="body", parameter=False)] = (0.0, 0.0, 0.0)
    orientation: Annotated[Any, TURNED] = (1.0, 0.0, 0.0, 0.0)
    label: Annotated[str, Text("its name in ROS and in other formats", otherwise="its own")] = ""
    port: Annotated[
        str, Choice("`motion`: how it moves is an output; `force`: it takes a wrench as input, too", PORTS)
    ] = PORTS[0]
    axes: Annotated[
        str, Word("of that wrench: `world`, `body`, or those of a frame by name", otherwise="`world`")
    ] = "world"

    def inputs(self, kind: JointType | None) -> tuple[Input, ...]:
        """Its rows of the table of inputs: the wrench that it takes, whatever `kind` of joint."""
        units = {"force": "N", "torque": "N.m"} if self.port == "force" else {}
        stem, about = f"frame.{self.name}", f"on frame {self.name}, axes of {self.axes}"
        return tuple(
            Input(f"{self.name}.{role}", stem, role, (unit,) * 3, f"{role} {about}")
            for role, unit in units.items()
        )
