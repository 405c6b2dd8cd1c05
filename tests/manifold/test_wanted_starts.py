"""Starts and speeds that a description asks for are met exactly, on any joint, or refused by name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import AssemblyError, Mechanism, Simulation, SimulationError, load
from cutjoint.fmu.export import export
from fmpy import simulate_fmu

FOURBAR = load("fourbar")
(CUT,) = Simulation(FOURBAR, compile=False).tree.cuts


def asked(mechanism: Mechanism, **fields: dict[str, Any]) -> Mechanism:
    joints = (replace(j, **fields.get(j.name, {})) for j in mechanism.joints)
    return replace(mechanism, joints=tuple(joints))


@pytest.mark.parametrize("joint", [j.name for j in FOURBAR.joints])
def test_one_speed_on_one_freedom_is_that_speed(joint: str) -> None:
    """Whichever joint it is asked of, the cut one too, where it was ignored."""
    s = Simulation(asked(FOURBAR, **{joint: {"speed": (1.5,)}}), compile=False)
    assert s.outputs()[f"joint.{joint}.velocity"] == pytest.approx(1.5, rel=1e-12)
    assert np.abs(s.closure()[1] @ s.v).max() < 1e-12


def test_speeds_of_a_cut_ball() -> None:
    stewart = load("stewart")
    ball = Simulation(stewart, compile=False).tree.cuts[0].name
    free = Simulation(asked(stewart, **{ball: {"speed": (0.1, 0.2, -0.1)}}), compile=False)
    assert free.outputs()[f"joint.{ball}.velocity"] == pytest.approx([0.1, 0.2, -0.1], abs=1e-12)


def test_speeds_that_contradict_are_refused_by_name() -> None:
    both = {CUT.name: {"speed": (1.0,)}, "crank_pin": {"speed": (100.0,)}}
    with pytest.raises(SimulationError, match=r"do not allow the speeds of .*crank_pin.* together"):
        Simulation(asked(FOURBAR, **both), compile=False)


def apart(a: float, b: float) -> float:
    """Of two angles."""
    return abs((a - b + np.pi) % (2 * np.pi) - np.pi)


def test_a_start_of_a_cut_joint_is_met_exactly() -> None:
    """It was ignored; and what other joints are told is where the search starts, as ever."""
    drawn = Simulation(FOURBAR, compile=False).outputs()[f"joint.{CUT.name}.position"]
    s = Simulation(asked(FOURBAR, **{CUT.name: {"start": (drawn - 0.2,)}}), compile=False)
    assert apart(s.outputs()[f"joint.{CUT.name}.position"], drawn - 0.2) < 1e-12
    assert np.abs(s.closure()[0]).max() < 1e-12
    assert np.abs(s.q).max() > 0.05


def test_a_start_that_no_loop_allows_is_refused_by_name() -> None:
    with pytest.raises(AssemblyError, match=f"the start of {CUT.name} in 'fourbar' can't be met"):
        Simulation(asked(FOURBAR, **{CUT.name: {"start": (2.5,)}}), compile=False)


def test_a_start_of_a_cut_joint_with_all_its_loop_kept() -> None:
    """It was refused, since nothing else may be cut; to find the start, something else is."""
    others = {j.name: {"cut": False} for j in FOURBAR.joints if j.name != CUT.name}
    drawn = Simulation(FOURBAR, compile=False).outputs()[f"joint.{CUT.name}.position"]
    told = {CUT.name: {"start": (drawn - 0.2,), "cut": True}}
    s = Simulation(asked(FOURBAR, **others, **told), compile=False)
    assert s.tree.cut_names == (CUT.name,)
    assert apart(s.outputs()[f"joint.{CUT.name}.position"], drawn - 0.2) < 1e-12


@pytest.mark.compiler
@pytest.mark.parametrize("runtime", ["native", "python"])
def test_an_fmu_starts_as_a_cut_joint_is_told(runtime: str, tmp_path: Path) -> None:
    drawn = Simulation(FOURBAR, compile=False).outputs()[f"joint.{CUT.name}.position"]
    wanted = asked(FOURBAR, **{CUT.name: {"speed": (1.5,), "start": (drawn - 0.1,)}})
    name, place = f"joint.{CUT.name}.velocity", f"joint.{CUT.name}.position"
    export(wanted, tmp_path / "it.fmu", runtime=runtime, outputs=[name, place], picture=False, optimize=0)
    for starts in ({}, {"start.crank_pin.position": Simulation(wanted, compile=False).q[0] + 0.1}):
        found = simulate_fmu(
            str(tmp_path / "it.fmu"),
            stop_time=0.01,
            output=[name, place],
            start_values=starts,
            fmi_type="CoSimulation",
        )
        assert found[name][0] == pytest.approx(1.5, rel=1e-9)
        assert starts or apart(found[place][0], drawn - 0.1) < 1e-9
