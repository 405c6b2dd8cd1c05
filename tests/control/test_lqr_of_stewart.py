"""The example that balances the platform upright with an LQR."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.examples import lqr_stewart
from cutjoint.examples.lqr_stewart import gain, main, run
from cutjoint.model.run.equilibrium import hold


@pytest.fixture(scope="module")
def upright():
    simulation = Simulation("stewart", compile=False)
    return simulation, hold(simulation)


@pytest.mark.parametrize("error", [(3, 0, 0), (3, 3, 3), (-3, 3, 0)])
def test_returns_from_three_degrees(upright, error):
    simulation, equilibrium = upright
    assert equilibrium.verdict == "unstable"
    motion = run(simulation, equilibrium, gain(equilibrium), [math.radians(e) for e in error], 1.2)
    size = np.degrees(np.abs(motion.error).max(axis=1))
    assert size[0] == pytest.approx(3) and size.max() < 3.3 and size[-1] < 0.05
    assert np.abs(motion.height - motion.height[-1]).max() < 0.02


def test_falls_without_the_controller(upright):
    simulation, equilibrium = upright
    motion = run(simulation, equilibrium, 0 * gain(equilibrium), [math.radians(3), 0, 0], 1.0)
    assert np.degrees(np.abs(motion.error[-1]).max()) > 20


def test_script_writes_a_plot(upright, tmp_path, capsys, monkeypatch):
    upright[0].reset()
    monkeypatch.setattr(lqr_stewart, "Simulation", lambda *_, **__: upright[0])  # traced once is enough
    assert main(["--time", "0.3", "--plot", str(tmp_path / "balance.png"), "--no-compiler"]) == 0
    assert (tmp_path / "balance.png").stat().st_size > 10_000
    assert "unstable" in capsys.readouterr().out
