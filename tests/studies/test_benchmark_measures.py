"""The benchmark measures what it says it does; how fast anything is, no test asserts."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import Simulation
from cutjoint.benchmarks import peers
from cutjoint.benchmarks.batch import ONE_BY_ONE, ROLLOUT, SCHEMES
from cutjoint.benchmarks.fmu_step import IN_C, NATIVE
from cutjoint.benchmarks.measure import Effort, Timing, side_by_side
from cutjoint.benchmarks.parts import parts
from cutjoint.benchmarks.report import describe, required, targets, unmet
from cutjoint.benchmarks.subjects import chain, subject
from cutjoint.model.base.errors import how_to_install
from cutjoint.model.cli.main import main
from cutjoint.model.compile.kernel import find_compiler

# Peers whose loops are rigid must agree; MuJoCo's are springs, and give way by this much.
CLOSE = {
    "Pinocchio": 1e-6,
    "Pinocchio, by finite differences": 1e-6,
    "cutjoint, virtual machine": 1e-10,
    "MuJoCo": 1e-2,
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """One short run of everything on the smaller mechanism, as a user starts it."""
    folder = tmp_path_factory.mktemp("bench")
    saved, picture = folder / "bench.json", folder / "bench.png"
    command = ["bench", "--quick", "--mechanism", "stewart", "--save", str(saved), "--plot", str(picture)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cutjoint.benchmarks.cli.QUICK", Effort(rounds=5, turn=1e-4))  # none of it is believed
        assert main(command) == 0
    return json.loads(saved.read_text()), picture


def test_every_part_is_there(quick: tuple[dict[str, Any], Path]) -> None:
    results, picture = quick
    measured = {(row["task"], row["contender"]) for row in results["speed"]}
    for task in ("dynamics", "linearization", "step"):
        assert (task, "cutjoint, virtual machine") in measured
    assert {("batch", name) for name in (ROLLOUT, ONE_BY_ONE, *SCHEMES.values())} <= measured
    found = {row["contender"]: row for row in results["speed"] if row["task"] == "batch"}
    for name in (ROLLOUT, ONE_BY_ONE):  # as right as it is fast
        assert found[name]["energy_error"] < 1e-9 and found[name]["loop_gap"] < 1e-12
    if find_compiler():
        fmus = {("FMU step", name) for name in (IN_C, NATIVE, "pythonfmu FMU in C")}
        assert fmus <= measured, results["notes"]
    for row in results["speed"]:
        assert 0 < row["best"] <= row["median"]
        assert row["noise"] >= 0
    assert {row["function"] for row in results["compile"]} == {"dynamics", "linearization", "step"}
    assert [row["bodies"] for row in results["chain"]] == [3, 5, 11, 21, 3, 10]
    assert all(row["peer"] > 0 for row in results["chain"] if row["count"] == 10)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_contenders_compute_the_same(quick: tuple[dict[str, Any], Path]) -> None:
    results, _ = quick
    compared = [row for row in results["agreement"] if row["contender"] in CLOSE]
    assert {row["state"] for row in compared} == {"at rest", "in motion"}
    for row in compared:
        assert row["difference"] < CLOSE[row["contender"]], row


@pytest.mark.skipif(find_spec("pinocchio") is None, reason="pin is not installed")
def test_the_larger_mechanism_is_the_same_for_its_peer() -> None:
    from cutjoint.benchmarks.peer_pinocchio import Peer

    measured = subject("hexapod")
    model = Peer(measured.parts)
    for q, v in measured.states.values():
        ours = measured.simulation.engine.kernels.dynamics(q, v, [], measured.u, measured.simulation.p)[0]
        assert np.abs(model.accelerations(q, v, measured.u) - ours).max() < 1e-6 * np.abs(ours).max()


@pytest.mark.skipif(find_spec("mujoco") is None, reason="mujoco is not installed")
def test_a_peer_gets_the_same_masses() -> None:
    import mujoco
    from cutjoint.benchmarks.peer_mujoco import Peer

    simulation = Simulation("stewart", compile=False)
    model = Peer(parts(simulation))
    model.set_state(simulation.state.q, simulation.state.v, np.zeros(3))
    mujoco.mj_forward(model.model, model.data)
    M = np.zeros((9, 9))
    mujoco.mj_fullM(model.model, model.data, M)
    ours = simulation.engine.kernels.coefficients(*simulation.at)[0]
    order = model.parts.order_v
    np.testing.assert_allclose(M, ours[np.ix_(order, order)], atol=1e-9)


def test_without_peers_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    assert main(["bench", "--quick", "--mechanism", "stewart", "--only", "dynamics"]) == 0
    said = capsys.readouterr().out
    for name in ("pinocchio", "mujoco"):
        assert f"note: {name} is not installed ({how_to_install('bench')}): left out" in said
    assert "Targets" not in said


def test_unknown_tasks_and_mechanisms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--only", "dynamic"]) == 2
    assert "--only: there is no task 'dynamic'; did you mean 'dynamics'?" in capsys.readouterr().err
    assert main(["bench", "--mechanism", "arm"]) == 2
    assert "there is no mechanism to measure 'arm'" in capsys.readouterr().err


def test_turns_rotate_and_all_take_part() -> None:
    order: list[str] = []

    def contender(name: str) -> Callable[[], None]:
        return lambda: order.append(name)

    timings = side_by_side({n: contender(n) for n in "abc"}, Effort(rounds=6, turn=1e-5))
    assert list(timings) == ["a", "b", "c"]
    turns = "".join(b for a, b in zip(["", *order], order, strict=False) if a != b)
    assert turns.endswith("abcbcacab" * 2)


def test_noise_is_half_the_middle_half() -> None:
    timing = Timing.of(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert (timing.best, timing.median) == (1.0, 3.0)
    assert timing.noise == pytest.approx((4 - 2) / 2 / 3)


def test_targets_compare_what_was_measured() -> None:
    def row(task: str, contender: str, best: float) -> dict[str, Any]:
        return {"task": task, "mechanism": "stewart", "contender": contender, "best": best}

    speed = [
        row("dynamics", "cutjoint, compiled", 1.0),
        row("dynamics", "Pinocchio", 5.0),
        row("linearization", "cutjoint, compiled", 2.0),
        row("linearization", "MuJoCo", 200.0),
    ]
    found = {t["target"]: (t["measured"], t["met"]) for t in targets({"speed": speed, "chain": []})}
    assert found == {
        "stewart, dynamics: at least 9 times faster than Pinocchio": (5.0, False),
        "stewart, linearization: at least 50 times faster than MuJoCo's forward differences": (100.0, True),
    }


def test_speeds_can_be_required(capsys: pytest.CaptureFixture[str]) -> None:
    quick = ["bench", "--quick", "--mechanism", "stewart", "--only", "dynamics"]
    ours = "dynamics:stewart:cutjoint, virtual machine"
    assert main([*quick, "--require", f"{ours}=0.01"]) == 0
    assert main([*quick, "--require", f"{ours}=0.01", f"{ours}=1e9", "step:stewart:MuJoCo=1"]) == 5
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"cutjoint: not met: {ours}=1e9; measured ")
    assert second == "cutjoint: not met: step:stewart:MuJoCo=1; it was not measured"
    for wrong in ("dynamics:stewart=5", f"{ours}=fast", f"{ours}=-1", f"{ours}=nan", "5"):
        assert main([*quick, "--require", wrong]) == 2
        assert f"--require takes TASK:MECHANISM:CONTENDER=RATIO, not '{wrong}'" in capsys.readouterr().err


def test_without_a_ratio_all_targets_are_required() -> None:
    met = {"target": "fast", "limit": 2, "measured": 3.0, "met": True}
    results = {"speed": [], "targets": [met, {**met, "target": "faster", "met": False}]}
    assert unmet(results, []) == ["faster; measured 3.00"]
    assert unmet({**results, "targets": [met]}, []) == []
    assert unmet({**results, "targets": []}, []) == ["nothing was measured that has a target"]
    assert required("a:b:c, d=2").row == ("a", "b", "c, d")


def test_a_chain_has_its_bodies_and_one_freedom() -> None:
    report = Simulation(chain(3), compile=False).topology()
    assert len(report.bodies) == 7
    assert report.mobility == 1


def test_tables_show_the_doubts(quick: tuple[dict[str, Any], Path]) -> None:
    results, _ = quick
    text = describe(results)
    assert "Do all compute the same?" in text
    for note in results["notes"]:
        assert f"note: {note}" in text
