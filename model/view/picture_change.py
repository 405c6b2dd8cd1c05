"""A picture of a design change: the new mechanism, and behind it in dashes where the old one was."""

from collections.abc import Collection, Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..describe.mechanism import GROUND, Mechanism
from ..design.propagate import Propagation
from ..show.picture import LEGEND, draw
from ..show.sketch import Angle, Pose, body_points, choose_view
from ..simulation import Simulation

OLD = "#999999"


def change_figure(result: Propagation, angle: Angle | None = None) -> Figure:
    """The picture of a propagation."""
    before, after = (Simulation(m, compile=False) for m in (result.before, result.mechanism))
    cuts = after.tree.cut_names
    old, new = ((simulation.mechanism, simulation.body_poses()) for simulation in (before, after))
    return draw_change(old, new, cuts, angle)


def draw_change(
    before: tuple[Mechanism, Mapping[str, Pose]],
    after: tuple[Mechanism, Mapping[str, Pose]],
    cuts: Collection[str] = (),
    angle: Angle | None = None,
) -> Figure:
    """`before` and `after` are a mechanism and the poses of its bodies."""
    mechanism, poses = after
    figure = draw(mechanism, poses, cuts, angle)
    axes = figure.axes[0]
    still = {GROUND: (np.eye(3), np.zeros(3))}
    view = choose_view(mechanism, {**poses, **still}, body_points(mechanism, {**poses, **still}), angle)
    for body, points in body_points(before[0], {**before[1], **still}).items():
        if len(points) > 1 and body != GROUND:
            flat = view.flat(points)
            order = np.argsort(np.arctan2(*(flat - flat.mean(axis=0)).T[::-1]))  # once round the middle
            outline = flat[[*order, order[0]]] if len(points) > 2 else flat
            axes.plot(*outline.T, color=OLD, linestyle="--", linewidth=1.2, marker=".", zorder=2)
    legend = axes.get_legend()
    handles = [*legend.legend_handles, Line2D([], [], color=OLD, linestyle="--", label="before")]
    labels = [*(text.get_text() for text in legend.get_texts()), "before"]
    axes.legend(handles, labels, **LEGEND)
    return figure
