"""What a line picture shows beside bodies and joints: named frames, loads, couplings and their wheels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from ..describe.mechanism import Load, Mechanism
from ..joints.euler import rotation
from ..urdf.shapes import circle, pulleys, ties
from .sketch import Pose, View, at

AXES = ("#d62728", "#2ca02c", "#1f77b4")  # x, y, z
TIE, LOAD = "#00838f", "#c2185b"
HALO = withStroke(linewidth=2.5, foreground="white")  # names stay legible over markers
OFFSET = {"textcoords": "offset points"}
LONG = 0.18  # of the size: the arrow of the largest load


def draw_ties(axes: Any, view: View, mechanism: Mechanism, poses: Mapping[str, Pose]) -> None:
    """Couplings as broken lines between the joints they tie, and their wheels as circles."""
    for body1, point1, body2, point2 in ties(mechanism):
        ends = view.flat([at(poses[body1], point1), at(poses[body2], point2)])
        axes.plot(*ends.T, color=TIE, linewidth=1.4, linestyle=(0, (6, 2, 1, 2)), zorder=3.6)
    for joint, radius in pulleys(mechanism):
        R, p = poses[joint.child]
        axes.plot(*view.flat(circle(joint, radius) @ R.T + p).T, color=TIE, linewidth=1.6, zorder=3.7)


def draw_frames(axes: Any, view: View, mechanism: Mechanism, poses: Mapping[str, Pose]) -> None:
    """Three short axes for every named frame."""
    for frame in mechanism.frames:
        turn = poses[frame.body][0] @ rotation(frame.orientation)
        origin = at(poses[frame.body], frame.at)
        for k, colour in enumerate(AXES):
            ends = view.flat([origin, origin + 0.06 * view.size * turn[:, k]])
            axes.plot(*ends.T, color=colour, linewidth=1.6, zorder=5.2)


def load_arrows(mechanism: Mechanism, poses: Mapping[str, Pose]) -> list[tuple[Load, np.ndarray, np.ndarray]]:
    """Loads that push: where, and their force over the largest of all, in world axes."""
    found = []
    for load in mechanism.loads:
        force = np.array([float(x) for x in load.force])
        if np.any(force):
            turned = poses[load.body][0] @ force if load.axes == "body" else force
            found.append((load, at(poses[load.body], load.point), turned))
    most = max((float(np.linalg.norm(force)) for *_, force in found), default=1.0)
    return [(load, place, force / most) for load, place, force in found]


def draw_loads(axes: Any, view: View, mechanism: Mechanism, poses: Mapping[str, Pose]) -> None:
    """Forces as arrows that end where they act, long as they are large."""
    for _, place, force in load_arrows(mechanism, poses):
        tail, tip = view.flat([place - LONG * view.size * force, place])
        arrow = {"arrowstyle": "-|>", "color": LOAD, "linewidth": 2, "shrinkA": 0, "shrinkB": 3}
        axes.annotate("", tip, xytext=tail, arrowprops=arrow, zorder=5.5)
        axes.plot(*tail, alpha=0)  # so that there is room for it


def write_names(axes: Any, view: View, places: Mapping[str, np.ndarray]) -> list[Any]:
    """Names beside their places in the world, one after the other where they share one."""
    groups: dict[tuple[float, ...], list[str]] = {}
    for name, place in places.items():
        groups.setdefault(tuple(np.round(view.flat(place)[0] / view.size, 3)), []).append(name)
    style = {"fontsize": 9, "zorder": 6, "path_effects": [HALO]}
    return [
        axes.annotate(", ".join(names), np.array(place) * view.size, xytext=(9, -11), **OFFSET, **style)
        for place, names in groups.items()
    ]


def keep_inside(figure: Any, axes: Any, names: list[Any]) -> None:
    """Names that would run over the legend stand to the left of their place instead."""
    figure.draw_without_rendering()
    edge, renderer = axes.get_window_extent().x1, figure.canvas.get_renderer()
    for text in names:
        if text.get_window_extent(renderer).x1 > edge:
            text.set_ha("right")
            text.set_position((-9, -11))


def extra_legend(mechanism: Mechanism) -> list[Any]:
    """Entries for what of this is drawn."""
    found = []
    if mechanism.couplings:
        found.append(Line2D([], [], color=TIE, linestyle=(0, (6, 2, 1, 2)), label="coupling"))
    if any(np.any([float(x) for x in load.force]) for load in mechanism.loads):
        found.append(Line2D([], [], color=LOAD, marker=">", label="load"))
    if mechanism.frames:
        found.append(Line2D([], [], color=AXES[0], marker="_", linestyle="none", label="frame (x, y, z)"))
    return found
