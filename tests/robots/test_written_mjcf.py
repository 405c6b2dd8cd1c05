"""Our MJCF starts where the mechanism does: in MuJoCo as it is loaded, and read back by ourselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bulk import KINDS, bulk
from cutjoint import Mechanism, Simulation, list_examples, load
from cutjoint.model.robots.convert_cli import convert
from cutjoint.model.robots.load_robot import load_robot
from random_mechanisms import random_coupled
from test_convert_formats import posed

mujoco = pytest.importorskip("mujoco")
EXAMPLES = sorted(list_examples())


def poses(mechanism: Mechanism) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found = Simulation(mechanism, compile=False).body_poses()
    return {body.name: found[body.name] for body in mechanism.bodies}


def apart(mechanism: Mechanism, target: Path) -> tuple[float, float]:
    """How far bodies are from where they were: in MuJoCo as loaded, and read back; metres and cosines."""
    convert(mechanism, target)
    here = poses(mechanism)
    m = mujoco.MjModel.from_xml_path(str(target))
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    there = {name: (d.body(name).xmat.reshape(3, 3), d.body(name).xpos) for name in here}
    again = poses(load_robot(target).mechanism)
    assert set(here) <= set(again)

    def worst(others: dict[str, tuple[np.ndarray, np.ndarray]]) -> float:
        pairs = [pair for name in here for pair in zip(here[name], others[name], strict=True)]
        return max(float(np.abs(a - b).max()) for a, b in pairs)

    return worst(there), worst(again)


@pytest.mark.parametrize("name", bulk(EXAMPLES, {*KINDS} & {*EXAMPLES}))
def test_examples_are_loaded_where_they_start(name: str, tmp_path: Path) -> None:
    assert max(apart(load(name), tmp_path / "robot.xml")) < 1e-9


@pytest.mark.parametrize("name", bulk(["gripper", "stewart", "hexapod", "belt_picker"], 1))
def test_they_are_where_they_are_posed(name: str, tmp_path: Path) -> None:
    assert max(apart(posed(name), tmp_path / "robot.xml")) < 1e-9


@pytest.mark.parametrize("seed", bulk(range(20), 4))
def test_coupled_mechanisms_of_all_kinds_are_where_they_start(seed: int, tmp_path: Path) -> None:
    assert max(apart(random_coupled(seed), tmp_path / "robot.xml")) < 1e-9
