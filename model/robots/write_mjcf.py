"""A mechanism as MJCF: nested bodies, several joints a body, equalities that close its loops.

A joint lies in its body's own frame, so no links without mass are needed. Bodies are drawn where they start.
Loops are `connect`s of sites, two on the axis of a hinge, and `weld`s; couplings are `joint` equalities, sums
of several joints fixed tendons. MuJoCo's equalities are springs, as stiff as its step allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite
from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from ..describe.mechanism import GROUND, Body, Coupling, Joint, Mechanism, outer_name
from ..describe.motors import plain
from ..describe.visuals import Visual
from ..equations.scales import scales
from ..equations.single_joints import SingleJoint, chain
from ..equations.topology import span
from ..joints.types import TYPES
from ..urdf.placement import PlacedFrame, of_frame, point_at, quaternion
from ..urdf.writer_common import (
    TreeJoint,
    add_element,
    body_names,
    digits,
    document,
    unsaid,
    visuals_by_body,
    way_out,
)
from .mjcf_equalities import shift_polynomial
from .rigid import principal

CLOSING = ("spherical", "revolute", "fixed")  # types of joints that equalities close a loop by
STEP = 5e-4  # seconds
LEAST = 1e-14  # kg·m²: MuJoCo refuses moments below 1e-15
LIGHT = 1e-9  # of the whole mass: given to bodies that have none, and little enough to be read as none again
# Twice the step is the quickest that MuJoCo lets a constraint answer.
STIFF = {"solref": f"{2 * STEP!r} 1", "solimp": "0.9999 0.9999 0.001 0.5 2"}


def write_mjcf(mechanism: Mechanism, starts: Mapping[str, float], notes: list[str]) -> str:
    """The text of an MJCF file; `mechanism` has cut joints of the types above only (`outgoing.spelled`)."""
    return _Mjcf(mechanism, starts, notes).text()


class _Mjcf:
    def __init__(self, mechanism: Mechanism, starts: Mapping[str, float], notes: list[str]):
        self.mechanism, self.starts, self.notes = mechanism, starts, notes
        self.start: dict[str, float] = {}  # hinge or slide -> its `ref`
        self.tree = span(mechanism)
        self.names = body_names(mechanism)
        self.visuals = visuals_by_body(mechanism)
        self.root = xml.Element("mujoco", model=mechanism.name)
        add_element(self.root, "compiler", angle="radian", autolimits="true", balanceinertia="false")
        self.length = scales(mechanism, self.tree).length
        self.light = LIGHT * sum(float(body.mass) for body in mechanism.bodies)
        gravity = digits(mechanism.gravity)
        add_element(self.root, "option", gravity=gravity, timestep=repr(STEP), integrator="implicitfast")
        self.assets = add_element(self.root, "asset")
        self.ground = add_element(self.root, "worldbody")
        self.bodies = {GROUND: self.ground}
        self.equality = add_element(self.root, "equality")
        for step in way_out(mechanism, self.tree):
            self._body(step)
        for visual in self.visuals.get(GROUND, ()):
            self._visual(visual)
        for frame in mechanism.frames:
            at = quaternion(frame.at, frame.orientation)
            add_element(self.bodies[frame.body], "site", name=outer_name(frame), **_pose(at))
        for joint in self.tree.cuts:
            self._loop(joint)
        for tie in mechanism.couplings:
            self._coupling(tie)
        self._motors()
        lacking = tuple(
            m for m in mechanism.motors if not plain(replace(m, servo_stiffness=0.0, servo_damping=0.0))
        )
        notes += unsaid(replace(mechanism, motors=lacking), ())
        quick = [joint.name for joint in mechanism.joints if joint.speed_limit < inf]
        notes += [f"left out: speed_limit of {', '.join(quick)}"] if quick else []

    def text(self) -> str:
        for element in (self.assets, self.equality):
            if not len(element):
                self.root.remove(element)
        return document(self.root)

    # -- bodies -----------------------------------------------------------------------------------

    def _body(self, step: TreeJoint) -> None:
        outer = self.mechanism.body(step.outer)
        name = self.names[step.outer]
        element = add_element(self.bodies[step.inner], "body", name=name)
        self.bodies[step.outer] = element
        self._inertial(element, outer)
        self._joint(element, step)
        for visual in self.visuals.get(step.outer, ()):
            self._visual(visual)

    def _inertial(self, element: xml.Element, body: Body) -> None:
        """MuJoCo wants moving bodies to have a mass, and moments about all axes."""
        xx, yy, zz, xy, xz, yz = body.inertia
        moments, axes = principal(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        mass, least = (
            max(float(body.mass), self.light),
            max(LEAST, self.light * self.length**2 * (not body.mass)),
        )
        if body.mass < mass or moments[0] < least:
            self.notes.append(
                f"changed: {body.name} has a mass of {mass:.3g} and moments of {least:.3g} at least"
            )
        how = {
            "pos": digits(body.com),
            "mass": digits([mass]),
            "diaginertia": digits(np.maximum(moments, least)),
        }
        add_element(element, "inertial", **how, quat=digits(_wxyz(axes.as_matrix())))

    def _joint(self, element: xml.Element, step: TreeJoint) -> None:
        """The joints of a body, which is drawn where it starts: MuJoCo's `ref` is a joint's value there.

        pose = near · T₁(q₁) T₂(q₂) … · far⁻¹, and a joint lies in the frame of the body: far · (… T₂(r₂))⁻¹.
        """
        joint = step.joint
        start = joint.start or TYPES[joint.type].zero
        balls = joint.type in ("spherical", "free")
        parts = list(chain(joint))
        shown: list[SingleJoint | None] = [p for p in parts if p.move.sliding or not balls]
        shown += [None] * balls  # the turn of a ball, which has no value of its own: it is drawn turned
        there = step.far
        found = []
        for part in shown if step.reverse else shown[::-1]:  # from the body inwards
            if part is None:
                attributes = {"name": outer_name(joint), "type": "ball", "pos": digits(there.p)}
                moved = quaternion((0.0, 0.0, 0.0), start[-4:])
                moved = moved.inverse if step.reverse else moved
            else:
                attributes, moved = self._single(step, part, there)
                freedom = parts.index(part)
                if TYPES[joint.type].plain and freedom < TYPES[joint.type].nv:
                    attributes |= self._attributes(joint, freedom)
            found.append(attributes)
            there = there @ moved.inverse
        for key, text in _pose(step.near @ there.inverse).items():
            element.set(key, text)
        if joint.type == "free" and step.inner == GROUND:
            add_element(element, "freejoint", name=outer_name(joint))
            return
        for attributes in found[::-1]:
            add_element(element, "joint", **attributes)
        if balls and any((*joint.damping, *joint.friction, *joint.stiffness)):
            self.notes.append(f"left out: damping, friction and springs of {joint.name}")
        if "pitch" in TYPES[joint.type].fields:
            ends = {"joint1": parts[1].name, "joint2": parts[0].name}
            poly = self._polynomial((0.0, float(joint.pitch)), *ends.values())
            add_element(self.equality, "joint", name=f"{joint.name}_thread", polycoef=poly, **ends, **STIFF)

    def _single(
        self, step: TreeJoint, part: SingleJoint, at: PlacedFrame
    ) -> tuple[dict[str, str], PlacedFrame]:
        """A slide or hinge whose frame on the body is `at`, and what it does to the body at its start."""
        value = float(self.starts.get(part.name, 0.0))
        self.start[part.name] = value
        axis = step.sign * np.eye(3)[part.move.axis]
        moved = point_at(value * axis)
        if not part.move.sliding:
            moved = PlacedFrame(Rotation.from_rotvec(value * axis).as_matrix(), np.zeros(3))
        word = "slide" if part.move.sliding else "hinge"
        how = {"name": part.name, "type": word, "axis": digits(at.R @ axis), "pos": digits(at.p)}
        return how | ({"ref": digits([value])} if value else {}), moved

    def _attributes(self, joint: Joint, freedom: int) -> dict[str, str]:
        found = {}
        words = {
            "damping": "damping",
            "friction": "frictionloss",
            "armature": "armature",
            "stiffness": "stiffness",
            "rest": "springref",
        }
        for ours, theirs in words.items():
            values = getattr(joint, ours)
            if any(values):
                found[theirs] = digits([values[freedom]])
        if joint.limits != (-inf, inf):
            low, high = (max(min(x, 1e6), -1e6) for x in joint.limits)
            found["range"] = digits((low, high))
        return found

    def _visual(self, visual: Visual) -> None:
        """A geom that only looks: without mass and contacts."""
        sizes = {"sphere": visual.size, "box": tuple(x / 2 for x in visual.size)}
        size = sizes.get(visual.shape) or (visual.size[0], visual.size[1] / 2)
        how = {"mass": "0", "contype": "0", "conaffinity": "0", "group": "1"}
        how |= _pose(quaternion(visual.at, visual.orientation))
        if visual.shape == "mesh":
            scale = digits(visual.size)
            add_element(self.assets, "mesh", name=visual.name, file=visual.file, scale=scale)
            how |= {"mesh": visual.name}
        else:
            how |= {"size": digits(size)}
        if visual.colour:
            how |= {"rgba": digits(visual.colour)}
        add_element(self.bodies[visual.body], "geom", name=visual.name, type=visual.shape, **how)

    # -- equalities -------------------------------------------------------------------------------

    def _loop(self, joint: Joint) -> None:
        name = outer_name(joint)
        places = [(joint.parent, of_frame(joint.on_parent)), (joint.child, of_frame(joint.on_child))]
        offsets = (0.0,) if joint.type != "revolute" else (0.0, 0.1 * self.length)
        for n, z in enumerate(offsets):
            stem = name if n == 0 else f"{name}_{n + 1}"
            for k, (body, frame) in enumerate(places, 1):
                at = frame @ point_at((0.0, 0.0, z))
                add_element(self.bodies[body], "site", name=f"{stem}_{'ab'[k - 1]}", **_pose(at))
            tag = "weld" if joint.type == "fixed" else "connect"
            sites = {"site1": f"{stem}_a", "site2": f"{stem}_b"}
            add_element(self.equality, tag, name=stem, **sites, **STIFF)

    def _coupling(self, tie: Coupling) -> None:
        names = [outer_name(self.mechanism.joint(name)) for name in (tie.joint, *tie.follows)]
        if len(names) > 2:
            if any(tie.curve):
                self.notes.append(f"left out: coupling {tie.name}, curved and of several joints")
                return
            tendons = self.root.find("tendon")
            if tendons is None:
                tendons = add_element(self.root, "tendon")
            tendon = add_element(tendons, "fixed", name=f"{tie.name}_sum")
            drawn = 0.0
            for name, c in zip(names, (1.0, *(-r for r in tie.ratio)), strict=True):
                add_element(tendon, "joint", joint=name, coef=digits([c]))
                drawn += c * self.start[name]
            poly = digits((tie.offset - drawn, 0.0, 0.0, 0.0, 0.0))
            how = {"name": tie.name, "tendon1": f"{tie.name}_sum", "polycoef": poly}
            add_element(self.equality, "tendon", **how, **STIFF)
            return
        coefficients = (tie.offset, *tie.ratio[:1], *tie.curve)
        if len(coefficients) > 5:
            self.notes.append(f"left out: coupling {tie.name}, whose degree is above 4")
            return
        poly = self._polynomial(coefficients, *names)
        how = {"name": tie.name, "joint1": names[0]} | ({"joint2": names[1]} if len(names) == 2 else {})
        add_element(self.equality, "joint", polycoef=poly, **how, **STIFF)

    def _polynomial(self, c: Sequence[float], joint: str, follows: str = "") -> str:
        """q = Σ cₖ q_followsᵏ as MuJoCo has it, between what the two differ from their `ref` by."""
        constant, *rest = shift_polynomial([float(x) for x in c], -self.start.get(follows, 0.0))
        return digits([constant - self.start[joint], *rest, *(0.0,) * (4 - len(rest))])

    def _motors(self) -> None:
        if not self.mechanism.motors:
            return
        actuators = add_element(self.root, "actuator")
        for motor in self.mechanism.motors:
            how = {"name": motor.name, "joint": outer_name(self.mechanism.joint(motor.joint))}
            if motor.servo_stiffness:
                how |= {"kp": digits([motor.servo_stiffness]), "kv": digits([motor.servo_damping])}
            if isfinite(motor.limit):
                bounds = "forcerange" if motor.servo_stiffness else "ctrlrange"
                how[bounds] = digits((-motor.limit, motor.limit))
            add_element(actuators, "position" if motor.servo_stiffness else "motor", **how)


def _wxyz(R: np.ndarray) -> tuple[float, ...]:
    x, y, z, w = Rotation.from_matrix(R).as_quat().tolist()
    return w, x, y, z


def _pose(at: PlacedFrame) -> dict[str, str]:
    found = {"pos": digits(at.p)} if at.p.any() else {}
    return found | ({} if np.array_equal(at.R, np.eye(3)) else {"quat": digits(_wxyz(at.R))})
