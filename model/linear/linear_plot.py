"""Pictures of a linear model: eigenvalues in the plane, and frequency response."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .model import LinearModel


def draw_linear(model: LinearModel, title: str = "") -> Figure:
    """Eigenvalues on the left; gain from every input to the first outputs on the right."""
    figure = Figure(figsize=(10, 4.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    plane, gain = figure.subplots(1, 2)
    values = model.eigenvalues()
    plane.axvline(0, color="0.8", linewidth=1)
    plane.plot(values.real, values.imag, "x", markersize=8)
    plane.set(xlabel="real part (1/s)", ylabel="imaginary part (rad/s)", title="eigenvalues")
    plane.grid(alpha=0.3)
    scale = np.abs(values).max(initial=1.0) or 1.0
    omega = np.geomspace(scale / 100, scale * 100, 300)
    response = np.abs(model.response(omega))
    for o, output in enumerate(model.outputs[:3]):
        for i, name in enumerate(model.inputs[:4]):
            if response[:, o, i].max(initial=0) > 0:
                gain.loglog(omega / (2 * np.pi), response[:, o, i], label=f"{name} → {output}")
    gain.set(xlabel="frequency (Hz)", ylabel="gain", title="frequency response")
    gain.grid(alpha=0.3, which="both")
    if gain.lines:
        gain.legend(fontsize=7)
    if title:
        figure.suptitle(title)
    return figure
