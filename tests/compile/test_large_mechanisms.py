"""Large mechanisms: other forms of the same equations, which give what the small ones give to round-off."""

from __future__ import annotations

import re
import resource
import sys
import time
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from bulk import bulk
from cutjoint import Mechanism, Simulation
from cutjoint.benchmarks.chains import links
from cutjoint.benchmarks.subjects import chain
from cutjoint.fmu.export import export
from cutjoint.model.cli.main import main
from cutjoint.model.compile.c_pieces import files_of, split_functions
from cutjoint.model.compile.kernel import find_compiler, kernel
from cutjoint.model.describe.writer import save
from cutjoint.model.equations.dynamics import bent_rotors
from cutjoint.model.equations.solver_choice import by_bodies
from cutjoint.model.equations.terms import equations
from cutjoint.model.equations.topology import start_coordinates
from cutjoint.model.equations.traced import closure, dynamics
from cutjoint.model.linear.columns import basis_by_columns, by_columns
from cutjoint.model.linear.exact import linear, tangent_basis
from cutjoint.model.run.independent import chart as chart_of
from mechanisms import five_bar
from random_mechanisms import random_coupled, random_loop, random_rolling, random_tree
from test_split_functions import long_function, needs_compiler, source

PREPARED, KERNEL = "cutjoint.model.equations.solver_choice", "cutjoint.model.compile.kernel"


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch):
    """Take articulated bodies, or M written out, however long the tree is."""

    def force(recursive: bool) -> None:
        monkeypatch.setattr(f"{PREPARED}.SHORT_TREE", -1 if recursive else 10**9)
        monkeypatch.setattr(f"{PREPARED}.LONG_TREE", -1 if recursive else 10**9)

    return force


def near(a: object, b: object, tolerance: float = 1e-9) -> None:
    a, b = np.asarray(a, float), np.asarray(b, float)
    assert np.isfinite(b).all()
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * (1 + np.abs(b).max(initial=0.0)))


MADE = {
    **{f"tree {seed}": (random_tree, seed, 8) for seed in range(3)},
    **{f"loop {seed}": (random_loop, seed, 5) for seed in range(4)},
    "links": (links, 15),
    "four-bars": (chain, 3),
    "five-bar": (five_bar,),
}


@pytest.mark.parametrize("name", bulk([*MADE], {"tree 0", "loop 0", "loop 1", "links", "four-bars"}))
def test_articulated_bodies_give_the_accelerations_and_multipliers_of_the_mass_matrix(name, forced) -> None:
    make, *arguments = MADE[name]
    mechanism, found = make(*arguments), []
    for recursive in (False, True):
        forced(recursive)
        eq = equations(mechanism)
        assert by_bodies(eq) is (recursive and not bent_rotors(eq.model))
        random = np.random.default_rng(1)
        q, v, u = (random.normal(size=n) * 0.3 for n in (eq.tree.nq, eq.tree.nv, eq.u.numel()))
        if make is random_loop:  # where its loops are closed, at rest: elsewhere their rows contradict
            q, v = start_coordinates(mechanism, eq.tree), np.zeros(eq.tree.nv)
        dv, lam = dynamics(eq)(q, v, np.zeros(0), u, np.zeros(0))
        G = closure(eq)(q, np.zeros(0), np.zeros(0))[
            1
        ]  # redundant rows share their multipliers as round-off has it
        found.append((np.array(dv), np.array(G.T @ lam), np.array(lam) if make is five_bar else []))
    for one, other in zip(*found, strict=True):
        near(one, other, 1e-8)


@pytest.mark.parametrize("mechanism", [links(9), chain(2), five_bar()], ids=lambda m: m.name)
def test_steps_are_the_same_with_either_form(mechanism: Mechanism, forced) -> None:
    found = []
    for recursive in (False, True):
        forced(recursive)
        simulation = Simulation(mechanism, compile=False)
        for _ in range(20):
            simulation.step(5e-3)
        found.append(np.concatenate([simulation.q, simulation.v, [simulation.work]]))
    near(*found)


def test_redundant_and_singular_loops_are_met_as_before(forced) -> None:
    """Four-bars in a line: planar rows are redundant, and at this pose others vanish."""
    found = []
    for recursive in (False, True):
        forced(recursive)
        eq = equations(chain(3))
        q = np.where([name.startswith("foot") for name in eq.tree.q], -np.pi / 2, np.pi / 2)
        dv, lam = dynamics(eq)(q, np.zeros(eq.tree.nv), [], [], [])
        found.append(np.concatenate([np.array(dv).ravel(), np.array(lam).ravel()]))
    near(*found, 1e-6)


FREE = {
    "tree": (random_tree, 3, 5),
    "loop": (random_loop, 1, 4),
    "overconstrained": (chain, 2),
    "coupled": (random_coupled, 0),
    "rolling": (random_rolling, 0),
}


@pytest.mark.parametrize("name", FREE)
def test_columns_are_those_of_the_linear_model_written_out(name: str) -> None:
    make, *arguments = FREE[name]
    simulation = Simulation(make(*arguments), compile=False)
    R, speeds = chart_of(simulation.engine, simulation.state, None)
    simulation.set_inputs(np.random.default_rng(0).normal(size=len(simulation.inputs)))
    for _ in range(3):
        simulation.step(2e-3)
    picked, at = ca.sparsify(ca.SX(ca.DM(R))), simulation.at
    eq = simulation.equations
    for one, other in zip(by_columns(eq, picked, speeds)(*at), linear(eq, picked, speeds)(*at), strict=True):
        near(one, other)
    near(basis_by_columns(eq, picked, speeds)(*at), tangent_basis(eq, picked, speeds)(*at))


def test_a_long_tree_is_linearized_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutjoint.model.linear.linearize.LONG_TREE", 1)
    long = Simulation(links(5), compile=False).linearize()
    monkeypatch.undo()
    short = Simulation(links(5), compile=False).linearize()
    assert long.states == short.states
    for name in ("A", "B", "C", "D"):
        near(getattr(long, name), getattr(short, name))


@pytest.mark.parametrize("make, few, many", [(links, 10, 40), (chain, 5, 20)], ids=["links", "four-bars"])
def test_operations_grow_with_the_bodies(make, few: int, many: int) -> None:
    least, most = (dynamics(equations(make(count))).n_instructions() / count for count in (few, many))
    assert most < 1.3 * least


@needs_compiler
def test_pieces_in_several_files_compute_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    monkeypatch.setattr(f"{KERNEL}.split_functions", lambda code: split_functions(code, 40))
    monkeypatch.setattr(f"{KERNEL}.files_of", lambda code: files_of(code, 500))
    function = long_function(700)
    files = files_of(split_functions(source(function), 40), 500)
    assert len(files) > 3 and max(text.count("\n") for text in files) < 1500
    assert not re.search(r"^(?!static)[a-z]\w* casadi_\w+\(", files[1], re.M)  # nothing is there twice
    at = np.array([0.3, -0.7, 1.1, 0.2]), np.array([0.5, -0.1, 0.9])
    for one, other in zip(kernel(function, True)(*at), kernel(function, False)(*at), strict=True):
        near(one, other)


@needs_compiler
def test_what_would_take_a_compiler_too_long_runs_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    monkeypatch.setattr(f"{KERNEL}.MOST", 100)
    function = long_function(100)
    with pytest.warns(UserWarning, match=r"'lengthy' takes [\d,]+ operations, more than the 100 that"):
        small = kernel(function)
    assert not small.compiled
    assert kernel(function, True).compiled  # who insists gets it
    at = np.ones(4), np.ones(3)
    for one, other in zip(small(*at), kernel(function, False)(*at), strict=True):
        near(one, other)


@needs_compiler
def test_a_long_compilation_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    monkeypatch.setattr(f"{KERNEL}.LONG", 10)
    file = tmp_path / "links.yaml"
    save(links(2), file)
    assert main(["simulate", str(file), "--time", "0.01"]) == 0
    assert re.search(r"^cutjoint: compiling 'step', [\d,]+ operations$", capsys.readouterr().err, re.M)


@needs_compiler
def test_an_fmu_of_several_files_moves_as_the_engine_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fmpy = pytest.importorskip("fmpy")
    cut: list[int] = []

    def files(code: str, name: str) -> list[str]:
        found = files_of(code, 1000, name)
        cut.append(len(found))
        return found

    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    monkeypatch.setattr("cutjoint.native.c_compile.files_of", files)
    export(links(6), tmp_path / "links.fmu", picture=False)
    assert max(cut) > 3
    simulation = Simulation(links(6), compile=False)
    for _ in range(20):
        simulation.step(1e-3)
    found = fmpy.simulate_fmu(str(tmp_path / "links.fmu"), stop_time=0.02, output_interval=1e-3)
    near([found[f"joint.pin{k}.position"][-1] for k in range(6)], simulation.q)


@pytest.mark.study
@pytest.mark.parametrize("mechanism", [links(200), chain(100)], ids=lambda m: m.name)
def test_two_hundred_bodies_are_built_and_stepped(
    mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """How long and how much memory it takes is printed; asserted is what no other work can change."""
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    simulation = timed("constructed", lambda: Simulation(mechanism))
    timed("first step", lambda: simulation.step(1e-3))
    assert simulation.compiled is (find_compiler() is not None)
    start = simulation.energy() - simulation.work
    for _ in range(100):
        simulation.step(1e-3)
    near(simulation.energy() - simulation.work, start, 1e-8)
    assert most_memory() < 1e9


@pytest.mark.study
def test_a_chain_of_sixty_is_linearized(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    simulation = Simulation(links(60))
    model = timed("linear model", simulation.linearize)
    f, at = dynamics(simulation.equations), (simulation.q, simulation.v, [], [])
    for k in (0, 31, 59):
        along = f.forward(1)(*at, *f(*at), np.eye(60)[k], np.zeros(60), [], [])[0]
        near(model.A[60:, k], np.array(along).ravel())
    assert most_memory() < 1e9


def timed(what: str, work):
    begin, before = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - begin, time.process_time() - before
    print(
        f"{what}: {wall:.1f} s, {cpu:.1f} s of them Python's; {most_memory() / 1e6:.0f} MB", file=sys.stderr
    )
    return result


def most_memory() -> float:
    """Bytes, the most that this process, or any compiler that it started, has held."""
    return 1024.0 * max(
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
