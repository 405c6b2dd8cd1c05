"""From a robot of any format to a mechanism of ours, with a line for all that was changed on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import DescriptionError
from ..base.thresholds import INERTIA_ROUND_OFF, INERTIA_ROUNDED, PARALLEL, ROTOR_MASS
from ..describe.mechanism import GROUND, Mechanism
from ..describe.validation import nearest
from ..joints.types import TYPES
from ..urdf.placement import HERE, PlacedFrame, quaternion
from .converters import (
    body_of,
    couplings_of,
    frames_of,
    joint_of,
    motors_of,
    names,
    our_word,
    visuals_of,
)
from .loop_mending import mend_rounded_loops
from .loop_tolerance import ON_AXIS, loosen_rounded_loops
from .rigid import massless, merge_fixed_joints, principal, prune_massless_links, without
from .robot import WORLD, Drive, Robot, RobotJoint, RobotLink, reached_from

FIXED, FLOATING = "fixed", "floating"


@dataclass(frozen=True)
class ImportOptions:
    """What the owner of a file decides where the file leaves it open, or wants otherwise.

    base : "fixed" or "floating", None as the file says.
    drive : names of driven joints, `*` and `?` standing for letters; None as the file says.
    loops : a file beside a URDF that says what closes.
    start : coordinates by joint, from which loops are closed; or the name of an MJCF keyframe.
    accept_inertia : whether inertias that no body can have are repaired, however far off.
    trust : whether a xacro file is handed to the xacro package, which runs whatever it says.
    arguments : values of a xacro file's arguments.
    packages : folders that hold ROS packages, which a xacro file may read too.
    """

    base: str | None = None
    drive: tuple[str, ...] | None = None
    loops: Path | None = None
    start: Mapping[str, Any] | str = field(default_factory=dict)
    accept_inertia: bool = False
    trust: bool = False
    arguments: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[Path, ...] = ()


class Imported(NamedTuple):
    """A mechanism, not checked yet, and what was read, repaired, merged and left out."""

    mechanism: Mechanism
    report: tuple[str, ...]  # a line for each thing that was changed or left out


def translate(robot: Robot, wishes: ImportOptions) -> Imported:
    """Our description of a robot."""
    robot = _driven(_started(robot, wishes), wishes)
    counts = (
        f"{len(robot.links)} links",
        f"{sum(not j.closes for j in robot.joints)} joints",
        f"{sum(j.closes for j in robot.joints)} closing joints",
        f"{len(robot.couplings)} couplings",
        f"{len(robot.drives)} motors",
    )
    robot = replace(robot, notes=(f"read: {', '.join(counts)}", *robot.notes))
    robot = prune_massless_links(merge_fixed_joints(_based(robot, wishes)))
    robot = mend_rounded_loops(loosen_rounded_loops(robot))
    if not robot.links:
        raise DescriptionError(
            f"nothing moves in '{robot.name}': every link is fixed to the ground; "
            "a base may float (--base floating)"
        )
    robot = _with_rotor_masses(robot)
    notes = list(robot.notes)
    bodies = names([link.name for link in robot.links], taken=(GROUND,))
    joints = names([joint.name for joint in robot.joints])
    normals = _normals(robot)
    tensors = {
        link.name: _inertia(link, normals.get(link.name), wishes.accept_inertia, notes)
        for link in robot.links
    }
    light = massless(robot)
    mechanism = Mechanism(
        name=our_word(robot.name),
        bodies=tuple(
            body_of(link, bodies[link.name], tensors[link.name], link.name in light) for link in robot.links
        ),
        joints=tuple(
            joint_of(
                joint,
                joints[joint.name],
                bodies | {WORLD: GROUND},
                _cut(robot, joint, light),
                notes,
            )
            for joint in robot.joints
        ),
        couplings=couplings_of(robot, joints),
        motors=motors_of(robot, joints),
        visuals=visuals_of(robot, bodies | {WORLD: GROUND}),
        frames=frames_of(robot, bodies | {WORLD: GROUND}),
        gravity=robot.gravity,
    )
    renamed = [f"{old} → {new}" for old, new in (bodies | joints).items() if old != new]
    notes += [f"renamed: {', '.join(renamed)}"] if renamed else []
    carried = sorted(bodies[name] for name in light)
    notes += [f"massless links: {', '.join(carried)}"] if carried else []
    return Imported(mechanism, tuple(notes))


# -- what the owner decides ------------------------------------------------------------------------


def _based(robot: Robot, wishes: ImportOptions) -> Robot:
    """The robot with its base joined to the ground."""
    tree = [joint for joint in robot.joints if not joint.closes]
    held = [joint for joint in tree if WORLD in (joint.parent, joint.child)]
    if robot.base:
        inner = [(j.parent, j.child) for j in robot.joints if WORLD not in (j.parent, j.child)]
        own = reached_from({robot.base}, inner)
        held = [joint for joint in held if {joint.parent, joint.child} & own]
    free = [joint for joint in held if joint.type == "free"]
    if wishes.base == FIXED and free:
        fixed = [replace(j, type="fixed", on_parent=j.on_parent @ _free_pose(j), start=()) for j in free]
        others = [joint for joint in robot.joints if joint not in free]
        return without(replace(robot, joints=(*fixed, *others)))
    if wishes.base == FLOATING and held and not free:
        raise DescriptionError(
            f"the base of '{robot.name}' is held by joint '{held[0].name}'; it can't float"
        )
    if held or not robot.base:
        return robot
    kind = "free" if wishes.base == FLOATING else "fixed"
    joint = RobotJoint(f"{robot.base}_base", kind, WORLD, robot.base, robot.at, HERE)
    note = f"base: {robot.base} {'floats' if kind == 'free' else 'is fixed to the ground'}"
    return replace(robot, joints=(joint, *robot.joints), notes=(*robot.notes, note))


def _free_pose(joint: RobotJoint) -> PlacedFrame:
    """Where the start of a free joint puts its child."""
    return quaternion(joint.start[:3], joint.start[3:]) if joint.start else HERE


def _started(robot: Robot, wishes: ImportOptions) -> Robot:
    """The robot in the pose that the owner wants."""
    if isinstance(wishes.start, str):  # a keyframe, which the reader of MJCF has put in
        return robot
    known = {joint.name: joint for joint in robot.joints}
    starts = {}
    for name, value in wishes.start.items():
        if name not in known:
            raise DescriptionError(f"start: there is no joint '{name}'; {nearest(name, known)}")
        count = TYPES[known[name].type].nq
        numbers = tuple(float(x) for x in (value if isinstance(value, list | tuple) else [value]))
        if len(numbers) != count or not np.isfinite(numbers).all():
            raise DescriptionError(
                f"start: joint '{name}' has {count} coordinates; give as many finite numbers"
            )
        starts[name] = numbers
    joints = tuple(replace(j, start=starts.get(j.name, j.start)) for j in robot.joints)
    return replace(robot, joints=joints)


def _driven(robot: Robot, wishes: ImportOptions) -> Robot:
    """The robot with the motors that are wanted.

    Where neither file nor owner says which, every joint of one freedom that has an effort and mimics none is
    driven if there are no loops, and none if there are.
    """
    single = [joint for joint in robot.joints if TYPES[joint.type].nv == 1]
    if wishes.drive is not None:
        chosen: list[RobotJoint] = []
        for pattern in wishes.drive:
            found = [joint for joint in single if fnmatchcase(joint.name, pattern)]
            if not found:
                hint = nearest(pattern, [joint.name for joint in single])
                raise DescriptionError(
                    f"drive: there is no joint '{pattern}' with one degree of freedom; {hint}"
                )
            chosen += [joint for joint in found if joint not in chosen]
    elif robot.drives:
        return robot
    elif any(joint.closes for joint in robot.joints):
        note = "motors: none, since the file names none; choose joints with --drive"
        return replace(robot, notes=(*robot.notes, note))
    else:
        follow = {next(iter(coupled.terms)) for coupled in robot.couplings if coupled.terms}
        chosen = [joint for joint in single if joint.effort < inf and joint.name not in follow]
    limits = {drive.joint: drive.limit for drive in robot.drives}
    drives = tuple(Drive(j.name, j.name, limits.get(j.name, j.effort)) for j in chosen)
    return replace(robot, drives=drives)


# -- masses ----------------------------------------------------------------------------------------


def _with_rotor_masses(robot: Robot) -> Robot:
    """Links with inertia and no mass get one that can't be felt."""
    total = sum(link.mass for link in robot.links)
    rotors = [link.name for link in robot.links if not link.mass and np.abs(link.inertia).max() > 0]
    if not rotors:
        return robot
    if not total:
        raise DescriptionError(f"'{robot.name}': no link has a mass")
    mass = ROTOR_MASS * total
    links = tuple(replace(link, mass=mass) if link.name in rotors else link for link in robot.links)
    note = f"repaired: {', '.join(rotors)} with inertia and no mass, which is {mass:.2g} kg now"
    return replace(robot, links=links, notes=(*robot.notes, note))


def _inertia(link: RobotLink, normal: np.ndarray | None, accept: bool, notes: list[str]) -> np.ndarray:
    """The tensor if a body can have it; else a near one that a body can have.

    Moments m are possible if none is negative and none exceeds the sum of the others. The smaller ones grow
    until they are. Where everything moves in one plane, only the moment about its `normal` counts, which
    stays; authors of planar models leave the others zero, or anything.
    """
    if not np.isfinite([link.mass, *link.com, *np.square(link.inertia).flat]).all():
        raise DescriptionError(f"link '{link.name}' has a mass or inertia too large to compute with")
    m, axes = principal(link.inertia)
    lack = max(-m[0], m[2] - m[1] - m[0], 0.0)
    part = lack / max(abs(m)) if lack else 0.0
    if part <= INERTIA_ROUND_OFF:
        return link.inertia
    shown = ", ".join(f"{x:.4g}" for x in m)
    R = axes.as_matrix()
    along = (
        []
        if normal is None
        else [k for k in range(3) if np.linalg.norm(np.cross(normal, R[:, k])) < PARALLEL]
    )
    if part > INERTIA_ROUNDED and not accept and not along:
        raise DescriptionError(
            f"link '{link.name}' has the principal moments of inertia {shown}, which no body has: the "
            f"largest exceeds the sum of the others by {100 * part:.3g} %; mend them, or accept a repair: "
            "--accept-inertia of any command, accept_inertia=True of load, accept_inertia of the node"
        )
    kept = along[0] if along else 2
    low, high = (k for k in range(3) if k != kept)
    m = np.maximum(m, 0.0)
    m[high] = min(m[high], m[low] + m[kept])
    m[[low, high]] += max(m[kept] - m[low] - m[high], 0.0) / 2
    why = (
        "without effect, since all moves in a plane" if along else f"off by {100 * part:.3g} % of the largest"
    )
    now = ", ".join(f"{x:.4g}" for x in m)
    notes.append(f"repaired: the moments of inertia {shown} of {link.name} are {now} now, {why}")
    return np.asarray(R @ np.diag(m) @ R.T)


def _normals(robot: Robot) -> dict[str, np.ndarray]:
    """The axis about which each link turns, if everything moves in one plane; else nothing."""
    normals: dict[str, np.ndarray] = {}
    for joint in robot.joints:
        if joint.type not in ("revolute", "planar"):
            return {}
        for link, frame in ((joint.parent, joint.on_parent), (joint.child, joint.on_child)):
            axis = frame.R[:, 2]
            if np.linalg.norm(np.cross(normals.setdefault(link, axis), axis)) > PARALLEL:
                return {}
    return normals


def _cut(robot: Robot, joint: RobotJoint, light: set[str]) -> bool | None:
    """Whether the joint is to be cut, if that matters.

    What carries links without mass is in the tree. A start is given in the coordinates of the file's own
    tree: there what closes loops has none, and is cut.
    """
    kind = TYPES[joint.type]
    if joint.type == ON_AXIS:
        return True
    if {joint.parent, joint.child} & light and not kind.two_ends:
        return False
    posed = any(other.start for other in robot.joints)
    return True if posed and joint.closes and kind.nq and not joint.start else None
