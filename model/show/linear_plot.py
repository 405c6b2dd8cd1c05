"""Pictures of a linear model: eigenvalues in the plane, and frequency response."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from ..linear.model import LinearModel


def phase_degrees(response: np.ndarray) -> np.ndarray:
    """The angle of a response in degrees, without jumps of a turn, from between -180 and 180 on."""
    return np.degrees(np.unwrap(np.angle(response)))


def draw_linear(model: LinearModel, title: str = "") -> Figure:
    """Eigenvalues on the left; gain and phase from every input to the first outputs on the right."""
    figure = Figure(figsize=(10, 5.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2, 2, height_ratios=(3, 2))
    plane, gain = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[0, 1])
    phase = figure.add_subplot(grid[1, 1], sharex=gain)
    values = model.eigenvalues()
    plane.axvline(0, color="0.8", linewidth=1)
    plane.plot(values.real, values.imag, "x", markersize=8)
    plane.set(xlabel="real part (1/s)", ylabel="imaginary part (rad/s)", title="eigenvalues")
    plane.grid(alpha=0.3)
    scale = np.abs(values).max(initial=1.0) or 1.0
    omega = np.geomspace(scale / 100, scale * 100, 300)
    response = model.response(omega)
    for o, output in enumerate(model.outputs[:3]):
        for i, name in enumerate(model.inputs[:4]):
            if np.abs(response[:, o, i]).max(initial=0) > 0:
                gain.loglog(omega / (2 * np.pi), np.abs(response[:, o, i]), label=f"{name} → {output}")
                phase.semilogx(omega / (2 * np.pi), phase_degrees(response[:, o, i]))
    gain.set(ylabel="gain", title="frequency response")
    gain.tick_params(labelbottom=False)
    gain.grid(alpha=0.3, which="both")
    phase.set(xlabel="frequency (Hz)", ylabel="phase (deg)")
    phase.yaxis.set_major_locator(MultipleLocator(90))
    phase.grid(alpha=0.3, which="both")
    if gain.lines:
        gain.legend(fontsize=7)
    if title:
        figure.suptitle(title)
    return figure
