"""A line picture of a mechanism in a pose, as one would sketch it on paper.

Bodies are the lines or polygons between their joints, ground is hatched, joints are dots
with a tick along their axis. The projection is parallel: planar mechanisms are seen
straight on, others from above at an angle.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from ..describe.mechanism import GROUND, Joint, Mechanism, Strut
from ..joints.types import TYPES
from ..urdf.surfaces import surfaces
from .marks import (
    OFFSET,
    draw_frames,
    draw_loads,
    draw_ties,
    extra_legend,
    keep_inside,
    load_arrows,
    write_names,
)
from .plot import save_figure
from .sketch import Angle, Pose, View, around, at, body_points, choose_view, family, joint_frame, strut_ends

COLOURS = ("#4878b0", "#5b9e5f", "#9a6fb0", "#3f9ca3", "#8c6d4f", "#c28aa8", "#7f8a3a", "#6b7a8f")
INK, CUT, MOTOR, GROUND_COLOUR = "#222222", "#d62728", "#f08c00", "#777777"
MOST_FRAMES = 12  # that are named; robots have dozens
HATCHED: dict[str, Any] = {"facecolor": "#eeeeee", "edgecolor": GROUND_COLOUR}
LEGEND: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False, "fontsize": 9}


def save_picture(
    path: str | os.PathLike[str],
    mechanism: Mechanism,
    poses: Mapping[str, Pose],
    cuts: Collection[str] = (),
    angle: Angle | None = None,
) -> None:
    """Draw and write to a file; its ending (png, svg, pdf) chooses the format."""
    save_figure(path, draw(mechanism, poses, cuts, angle), tight=True)


def draw(
    mechanism: Mechanism, poses: Mapping[str, Pose], cuts: Collection[str] = (), angle: Angle | None = None
) -> Figure:
    """The picture of a mechanism whose bodies have these poses; `cuts` are marked red."""
    poses = {**poses, GROUND: (np.eye(3), np.zeros(3))}
    view = choose_view(mechanism, poses, body_points(mechanism, poses), angle)
    figure = Figure(figsize=(9, 7), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.axis("off")
    families = families_of(mechanism)
    solid = _paint(axes, view, mechanism, poses, cuts)
    names = write_names(axes, view, _named_places(mechanism, poses))
    _draw_compass(axes, view)
    axes.legend(handles=_legend(mechanism, families, cuts, solid), **LEGEND)
    axes.set_title(mechanism.name, fontsize=14, color=INK)
    axes.margins(0.08)
    low, high = axes.get_ylim()
    wide = np.ptp(axes.get_xlim())
    if wide < 0.05 * (high - low):  # a needle: axes without a width can't be drawn
        axes.set_xlim(np.mean(axes.get_xlim()) + 0.05 * (high - low) * np.array([-0.5, 0.5]))
    if high - low < 0.55 * wide:  # leave the legend room beside a mechanism that is drawn flat
        axes.set_ylim((low + high - 0.55 * wide) / 2, (low + high + 0.55 * wide) / 2)
    keep_inside(figure, axes, names)
    return figure


class Stage:
    """Where a motion is drawn picture by picture: one view, one size, room for all of it."""

    def __init__(self, mechanism: Mechanism, everywhere: Sequence[Mapping[str, Pose]], angle: Angle | None):
        self.mechanism = mechanism
        first = everywhere[0]
        self.view = choose_view(mechanism, first, body_points(mechanism, first), angle)
        cloud = np.vstack([self._flat(poses) for poses in everywhere])
        low, high = cloud.min(axis=0), cloud.max(axis=0)
        middle, reach = (low + high) / 2, (high - low) / 2 + 0.1 * self.view.size
        width, height = 6.4, float(np.clip(6.4 * reach[1] / reach[0], 3.6, 6.4))
        self.figure = Figure(figsize=(width, round(50 * height) / 50), dpi=100)  # ends on even pixels
        self.canvas = FigureCanvasAgg(self.figure)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        scale = max(reach[0] / width, reach[1] / height)
        self.limits = [
            (m - scale * size, m + scale * size) for m, size in zip(middle, (width, height), strict=True)
        ]

    def _flat(self, poses: Mapping[str, Pose]) -> np.ndarray:
        held = [points for points in body_points(self.mechanism, poses).values() if len(points)]
        coms = [at(poses[body.name], body.com) for body in self.mechanism.bodies]
        return self.view.flat(np.vstack([*held, coms]))

    def image(self, poses: Mapping[str, Pose], says: str) -> np.ndarray:
        """The mechanism in a pose as a picture (height, width, 3)."""
        self.axes.clear()
        self.axes.axis("off")
        _paint(self.axes, self.view, self.mechanism, poses, ())
        self.axes.set_xlim(self.limits[0])
        self.axes.set_ylim(self.limits[1])
        self.axes.text(0.02, 0.02, says, transform=self.axes.transAxes, color=INK)
        self.canvas.draw()
        return np.asarray(self.canvas.buffer_rgba())[:, :, :3].copy()


def _paint(
    axes: Any, view: View, mechanism: Mechanism, poses: Mapping[str, Pose], cuts: Collection[str]
) -> set[str]:
    """Ground, bodies, springs and joints; returns the bodies that are drawn as solids."""
    points, families = body_points(mechanism, poses), families_of(mechanism)
    _draw_ground(axes, view, points[GROUND])
    solid = _draw_visuals(axes, view, mechanism, poses, families)
    for body in mechanism.bodies:
        com = at(poses[body.name], body.com)
        if body.name not in solid:
            _draw_body(axes, view, points[body.name], com, families[family(body.name)])
    for strut in mechanism.struts:
        _draw_strut(axes, view, strut, *strut_ends(strut, poses))
    driven = {motor.joint for motor in mechanism.motors}
    for joint in mechanism.joints:
        if TYPES[joint.type].locks:
            _draw_joint(axes, view, joint, poses, joint.name in cuts, joint.name in driven)
    for draw_more in (draw_ties, draw_frames, draw_loads):
        draw_more(axes, view, mechanism, poses)
    return solid


def _draw_visuals(
    axes: Any, view: View, mechanism: Mechanism, poses: Mapping[str, Pose], families: Mapping[str, str]
) -> set[str]:
    """Outlines of visuals, the nearest last; returns the bodies that have one."""
    drawn = set()
    for visual, (corners, _) in surfaces(mechanism)[0]:
        R, p = poses[visual.body]
        placed = corners @ R.T + p
        outline = _hull(view.flat(placed), 0.0)
        if outline is not None:
            own = families.get(family(visual.body), GROUND_COLOUR)
            colour = visual.colour[:3] or own
            style = {"edgecolor": INK, "linewidth": 0.6, "alpha": 0.75 * (visual.colour or (1.0,))[-1]}
            order = 2 + 0.5 * float(np.tanh(view.depth(placed) / view.size))
            axes.add_patch(Polygon(outline, facecolor=colour, zorder=order, **style))
            drawn.add(visual.body)
    return drawn


def _hull(points: np.ndarray, size: float) -> np.ndarray | None:
    """Corners of the convex hull on the paper in order, or None if it is no area."""
    corners = around(points)
    x, y = corners.T
    area = 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    return corners if area > 1e-3 * size * size else None


def families_of(mechanism: Mechanism) -> dict[str, str]:
    """A colour for each family of bodies."""
    names = dict.fromkeys(family(body.name) for body in mechanism.bodies)
    return {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}


def _draw_body(axes: Any, view: View, points: np.ndarray, com: np.ndarray, colour: str) -> None:
    if len(points) == 1:  # a body that ends free: drawn as if it were an even bar
        points = np.vstack([points, 2 * com - points])
    elif not len(points):
        points = com[None]
    flat, middle = view.flat(points), view.flat(com)
    if np.ptp(flat, axis=0).max() < 1e-3 * view.size:  # held at a point alone
        axes.plot(*flat[:1].T, marker="s", markersize=16, color=colour, alpha=0.6, zorder=2.9)
    order = 3 + 0.1 * np.tanh(view.depth(points) / view.size)
    corners = _hull(flat, view.size)
    if corners is not None:
        axes.add_patch(Polygon(corners, facecolor=colour, alpha=0.30, zorder=order))
        axes.add_patch(Polygon(corners, fill=False, edgecolor=colour, linewidth=2.5, zorder=order))
    else:
        along = flat[np.argsort(flat @ np.ptp(flat, axis=0))] if len(flat) > 2 else flat
        axes.plot(*along.T, color=colour, linewidth=5, solid_capstyle="round", zorder=order)
    axes.plot(*np.vstack([flat.mean(axis=0), middle]).T, color=colour, linestyle=":", zorder=order)
    axes.plot(*middle.T, marker="+", markersize=6, color=INK, alpha=0.6, linestyle="none", zorder=4)


def _draw_ground(axes: Any, view: View, points: np.ndarray) -> None:
    """A hatched plate through the points on ground, or a support under each."""
    if not len(points):
        return
    flat = view.flat(points)
    level = not view.planar and np.ptp(points @ view.up) < 0.2 * view.size
    corners = _hull(flat, view.size) if level else None
    if corners is not None:
        centre = corners.mean(axis=0)
        corners = centre + 1.15 * (corners - centre)
        axes.add_patch(Polygon(corners, **HATCHED, hatch="////", zorder=1))
        return
    wide = 0.035 * view.size
    for x, y in flat:
        triangle = np.array([[x, y], [x - wide, y - 1.6 * wide], [x + wide, y - 1.6 * wide]])
        axes.add_patch(Polygon(triangle, facecolor="white", edgecolor=GROUND_COLOUR, zorder=1))
        plate = [x, y] + wide * np.array([[-1.6, -1.6], [1.6, -1.6], [1.6, -2.4], [-1.6, -2.4]])
        axes.add_patch(Polygon(plate, **HATCHED, hatch="//////", linewidth=0, zorder=0.9))


def _draw_strut(axes: Any, view: View, strut: Strut, end1: np.ndarray, end2: np.ndarray) -> None:
    """A spring as a zigzag, a cylinder as a thick rod in a thicker tube, a damper dashed."""
    a, b = view.flat(end1)[0], view.flat(end2)[0]
    if strut.actuated:
        axes.plot(*np.array([a, b]).T, color=MOTOR, linewidth=3, zorder=3.2)
        axes.plot(*np.array([a, a + 0.55 * (b - a)]).T, color=MOTOR, linewidth=8, alpha=0.7, zorder=3.2)
    elif float(strut.stiffness) != 0.0:
        along = np.linspace(0, 1, 19)
        swing = 0.015 * view.size * np.array([0, 0, *([1, -1] * 7), 1, 0, 0])
        across = np.array([a[1] - b[1], b[0] - a[0]]) / (np.linalg.norm(b - a) or 1.0)
        axes.plot(*(a + np.outer(along, b - a) + np.outer(swing, across)).T, color=INK, zorder=3.2)
    else:
        axes.plot(*np.array([a, b]).T, color=INK, linestyle="--", zorder=3.2)


def _draw_joint(
    axes: Any, view: View, joint: Joint, poses: Mapping[str, Pose], cut: bool, motor: bool
) -> None:
    kind, colour = TYPES[joint.type], CUT if cut else INK
    sides = (joint.on_parent, joint.parent), (joint.on_child, joint.child)
    (turn, here), (_, there) = (
        joint_frame(at, poses[body]) for at, body in sides[:: -1 if kind.rides else 1]
    )
    flat = view.flat([here, there])
    if kind.stretched:
        axes.plot(*flat.T, color=colour, linewidth=1.5, linestyle=(0, (4, 1.5)), zorder=3.5)
    reach = 0.05 * view.size
    for axis in kind.ticks:
        ends = view.flat([here - reach * turn[:, axis], here + reach * turn[:, axis]])
        axes.plot(*ends.T, color=MOTOR if motor else colour, linewidth=3 if motor else 1.2, zorder=4.5)
    places = flat if kind.directionless_ends else flat[:1]
    axes.plot(
        *places.T,
        linestyle="none",
        marker=kind.marker,
        markersize=10 if motor else 7,
        markerfacecolor=MOTOR if motor else colour if kind.filled else "white",
        markeredgecolor=colour,
        markeredgewidth=2 if cut else 1.2,
        zorder=5,
    )


def _named_places(mechanism: Mechanism, poses: Mapping[str, Pose]) -> dict[str, np.ndarray]:
    """Where motors, cylinders, frames and loads are, by name."""
    places: dict[str, np.ndarray] = {}
    for motor in mechanism.motors:
        joint = mechanism.joint(motor.joint)
        places[motor.name] = joint_frame(joint.on_parent, poses[joint.parent])[1]
    for strut in mechanism.struts:
        if strut.actuated:
            places[strut.name] = np.mean(strut_ends(strut, poses), axis=0)
    for frame in mechanism.frames[:MOST_FRAMES]:
        places.setdefault(frame.name, at(poses[frame.body], frame.at))
    for load, place, _ in load_arrows(mechanism, poses):
        places.setdefault(load.name, place)
    return places


def _draw_compass(axes: Any, view: View) -> None:
    """A bar of a round length below the mechanism, and the world axes beside it."""
    length = float(10 ** np.floor(np.log10(view.size / 4)))
    length *= max(k for k in (1, 2, 5) if k * length <= view.size / 4)
    x, y = axes.dataLim.x0, axes.dataLim.y0 - 0.06 * view.size
    axes.plot([x, x + length], [y, y], color=GROUND_COLOUR, marker="|", linewidth=1.3)
    middle = (x + length / 2, y)
    axes.annotate(f"{length:g} m", middle, xytext=(0, 4), **OFFSET, ha="center", fontsize=8)
    arrow = {"arrowstyle": "-", "color": GROUND_COLOUR, "shrinkA": 4, "shrinkB": 0}
    style = {"ha": "center", "va": "center", "fontsize": 9, "color": GROUND_COLOUR, "arrowprops": arrow}
    for name, tip in zip("xyz", view.axes[:2].T, strict=True):
        if np.linalg.norm(tip) > 0.05:
            corner = {"xy": (1.1, 0.03), "xycoords": "axes fraction", "annotation_clip": False}
            axes.annotate(name, **corner, xytext=tuple(34 * tip), **OFFSET, **style)


def _legend(
    mechanism: Mechanism, families: Mapping[str, str], cuts: Collection[str], solid: Collection[str]
) -> list[Any]:
    lined = [body.name for body in mechanism.bodies if body.name not in solid]
    counts = {name: sum(family(n) == name for n in lined) for name in families}
    handles: list[Any] = [
        Patch(color=colour, alpha=0.7, label=name if counts[name] == 1 else f"{name} × {counts[name]}")
        for name, colour in families.items()
        if counts[name]
    ]
    handles.append(Patch(**HATCHED, hatch="////", label=GROUND))
    point: dict[str, Any] = {"linestyle": "none", "markeredgecolor": INK}
    for kind in dict.fromkeys(TYPES[joint.type] for joint in mechanism.joints if TYPES[joint.type].locks):
        fill = INK if kind.filled else "white"
        handles.append(Line2D([], [], marker=kind.marker, markerfacecolor=fill, label=kind.name, **point))
    if cuts:
        red = point | {"markerfacecolor": "white", "markeredgecolor": CUT}
        handles.append(Line2D([], [], marker="o", label="cut", **red))
    if mechanism.motors or any(s.actuated for s in mechanism.struts):
        handles.append(Line2D([], [], marker="o", markerfacecolor=MOTOR, label="driven", **point))
    handles.append(Line2D([], [], marker="+", label="centre of mass", **point))
    return [*handles, *extra_legend(mechanism)]
