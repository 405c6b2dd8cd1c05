"""A mechanism as MJCF: nested bodies, several joints a body, equalities that close its loops.

A joint lies in its body's own frame, so no links without mass are needed. Loops are `connect`s of sites, two
on the axis of a hinge, and `weld`s; couplings are `joint` equalities, sums of several joints fixed tendons.
MuJoCo's equalities are springs: they are made as stiff as its step allows.
"""

from collections.abc import Mapping
from math import inf, isfinite
from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from ..describe.mechanism import GROUND, Body, Coupling, Joint, Mechanism, outer_name
from ..describe.visuals import Visual
from ..equations.scales import scales
from ..equations.single_joints import chain
from ..equations.topology import span
from ..joints.types import TYPES
from .outgoing import TreeJoint, body_names, digits, document, put, unsaid, visuals_by_body, way_out
from .placement import PlacedFrame, of_frame, point_at, quaternion
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
        self.start: dict[str, tuple[float, ...]] = {}  # joint -> its part of qpos
        self.tree = span(mechanism)
        self.names = body_names(mechanism)
        self.visuals = visuals_by_body(mechanism)
        self.root = xml.Element("mujoco", model=mechanism.name)
        put(self.root, "compiler", angle="radian", autolimits="true", balanceinertia="false")
        self.length = scales(mechanism, self.tree).length
        self.light = LIGHT * sum(float(body.mass) for body in mechanism.bodies)
        gravity = digits(mechanism.gravity)
        put(self.root, "option", gravity=gravity, timestep=repr(STEP), integrator="implicitfast")
        self.assets = put(self.root, "asset")
        self.ground = put(self.root, "worldbody")
        self.bodies = {GROUND: self.ground}
        self.equality = put(self.root, "equality")
        for step in way_out(mechanism, self.tree):
            self._body(step)
        for visual in self.visuals.get(GROUND, ()):
            self._visual(visual)
        for frame in mechanism.frames:
            at = quaternion(frame.at, frame.orientation)
            put(self.bodies[frame.body], "site", name=outer_name(frame), **_pose(at))
        for joint in self.tree.cuts:
            self._loop(joint)
        for tie in mechanism.couplings:
            self._coupling(tie)
        self._motors()
        notes += unsaid(mechanism, ())

    def text(self) -> str:
        """With the start as a keyframe, `start`."""
        order = [e.get("name", "") for e in self.ground.iter() if e.tag in ("joint", "freejoint")]
        if any(any(self.start[name][-1:] if len(self.start[name]) == 1 else (1,)) for name in order):
            key = put(put(self.root, "keyframe"), "key", name="start")
            key.set("qpos", digits(x for name in order for x in self.start[name]))
        for element in (self.assets, self.equality):
            if not len(element):
                self.root.remove(element)
        return document(self.root)

    # -- bodies -----------------------------------------------------------------------------------

    def _body(self, step: TreeJoint) -> None:
        outer = self.mechanism.body(step.outer)
        name = self.names[step.outer]
        element = put(self.bodies[step.inner], "body", name=name, **_pose(step.pose))
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
        put(element, "inertial", **how, quat=digits(_wxyz(axes.as_matrix())))

    def _joint(self, element: xml.Element, step: TreeJoint) -> None:
        joint = step.joint
        start = joint.start or TYPES[joint.type].zero
        if joint.type == "free" and step.inner == GROUND:
            put(element, "freejoint", name=outer_name(joint))
            moved = quaternion(start[:3], start[3:])
            at = step.near @ (moved.inverse if step.reverse else moved) @ step.far.inverse
            self.start[outer_name(joint)] = (*map(float, at.p), *_wxyz(at.R))
            return
        parts = list(chain(joint))
        balls = joint.type in ("spherical", "free")
        slides = [part for part in parts if part.move.sliding]
        turned = xml.Element("joint", name=outer_name(joint), type="ball", pos=digits(step.far.p))
        shown = slides if balls else parts
        elements = []
        for part in shown:
            axis = step.sign * step.far.R[:, part.move.axis]
            word = "slide" if part.move.sliding else "hinge"
            single = xml.Element(
                "joint", name=part.name, type=word, axis=digits(axis), pos=digits(step.far.p)
            )
            freedom = parts.index(part)
            self.start[part.name] = (float(self.starts.get(part.name, 0.0)),)
            if TYPES[joint.type].plain and freedom < TYPES[joint.type].nv:
                self._attributes(single, joint, freedom)
            elements.append(single)
        if balls:
            if any((*joint.damping, *joint.friction, *joint.stiffness)):
                self.notes.append(f"left out: damping, friction and springs of {joint.name}")
            elements.append(turned)
            w, *v = start[-4:]
            self.start[outer_name(joint)] = (w, *(step.sign * step.far.R @ np.array(v)).tolist())
        element.extend(elements[::-1] if step.reverse else elements)
        if "pitch" in TYPES[joint.type].fields:
            poly = digits((0.0, joint.pitch, 0.0, 0.0, 0.0))
            names = {"name": f"{joint.name}_thread", "joint1": parts[1].name, "joint2": parts[0].name}
            put(self.equality, "joint", polycoef=poly, **names, **STIFF)

    def _attributes(self, element: xml.Element, joint: Joint, freedom: int) -> None:
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
                element.set(theirs, digits([values[freedom]]))
        if joint.limits != (-inf, inf):
            low, high = (max(min(x, 1e6), -1e6) for x in joint.limits)
            element.set("range", digits((low, high)))

    def _visual(self, visual: Visual) -> None:
        """A geom that only looks: without mass and contacts."""
        sizes = {"sphere": visual.size, "box": tuple(x / 2 for x in visual.size)}
        size = sizes.get(visual.shape) or (visual.size[0], visual.size[1] / 2)
        how = {"mass": "0", "contype": "0", "conaffinity": "0", "group": "1"}
        how |= _pose(quaternion(visual.at, visual.orientation))
        if visual.shape == "mesh":
            scale = digits(visual.size)
            put(self.assets, "mesh", name=visual.name, file=visual.file, scale=scale)
            how |= {"mesh": visual.name}
        else:
            how |= {"size": digits(size)}
        if visual.colour:
            how |= {"rgba": digits(visual.colour)}
        put(self.bodies[visual.body], "geom", name=visual.name, type=visual.shape, **how)

    # -- equalities -------------------------------------------------------------------------------

    def _loop(self, joint: Joint) -> None:
        name = outer_name(joint)
        places = [(joint.parent, of_frame(joint.on_parent)), (joint.child, of_frame(joint.on_child))]
        offsets = (0.0,) if joint.type != "revolute" else (0.0, 0.1 * self.length)
        for n, z in enumerate(offsets):
            stem = name if n == 0 else f"{name}_{n + 1}"
            for k, (body, frame) in enumerate(places, 1):
                at = frame @ point_at((0.0, 0.0, z))
                put(self.bodies[body], "site", name=f"{stem}_{'ab'[k - 1]}", **_pose(at))
            tag = "weld" if joint.type == "fixed" else "connect"
            sites = {"site1": f"{stem}_a", "site2": f"{stem}_b"}
            put(self.equality, tag, name=stem, **sites, **STIFF)

    def _coupling(self, tie: Coupling) -> None:
        names = [outer_name(self.mechanism.joint(name)) for name in (tie.joint, *tie.follows)]
        if len(names) > 2:
            if any(tie.curve):
                self.notes.append(f"left out: coupling {tie.name}, curved and of several joints")
                return
            tendons = self.root.find("tendon")
            if tendons is None:
                tendons = put(self.root, "tendon")
            tendon = put(tendons, "fixed", name=f"{tie.name}_sum")
            for name, c in zip(names, (1.0, *(-r for r in tie.ratio)), strict=True):
                put(tendon, "joint", joint=name, coef=digits([c]))
            poly = digits((tie.offset, 0.0, 0.0, 0.0, 0.0))
            how = {"name": tie.name, "tendon1": f"{tie.name}_sum", "polycoef": poly}
            put(self.equality, "tendon", **how, **STIFF)
            return
        coefficients = (tie.offset, *tie.ratio[:1], *tie.curve)
        if len(coefficients) > 5:
            self.notes.append(f"left out: coupling {tie.name}, whose degree is above 4")
            return
        poly = digits([*coefficients, *(0.0,) * (5 - len(coefficients))])
        how = {"name": tie.name, "joint1": names[0]} | ({"joint2": names[1]} if len(names) == 2 else {})
        put(self.equality, "joint", polycoef=poly, **how, **STIFF)

    def _motors(self) -> None:
        if not self.mechanism.motors:
            return
        actuators = put(self.root, "actuator")
        for motor in self.mechanism.motors:
            joint = outer_name(self.mechanism.joint(motor.joint))
            limit = {"ctrlrange": digits((-motor.limit, motor.limit))} if isfinite(motor.limit) else {}
            put(actuators, "motor", name=motor.name, joint=joint, **limit)


def _wxyz(R: np.ndarray) -> tuple[float, ...]:
    x, y, z, w = Rotation.from_matrix(R).as_quat().tolist()
    return w, x, y, z


def _pose(at: PlacedFrame) -> dict[str, str]:
    found = {"pos": digits(at.p)} if at.p.any() else {}
    return found | ({} if np.array_equal(at.R, np.eye(3)) else {"quat": digits(_wxyz(at.R))})
