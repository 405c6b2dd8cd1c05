"""Engine, state, simulation: shared, copied, handed over, changed; and what is refused."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import mechanisms
import numpy as np
import pytest
from cutjoint import AssemblyError, CutjointError, Engine, Simulation, SimulationError, State, load
from cutjoint.model import engine as engine_module
from cutjoint.model.compile import cache, storage
from cutjoint.model.compile import kernel as compiling
from cutjoint.model.describe.mechanism import Body, Frame, Joint, Mechanism
from cutjoint.model.run.events import Event
from cutjoint.papers.methods import MethodSimulation

MOTORS = [10.0, 0.0, -5.0]


def moved(simulation: Simulation, steps: int = 20) -> State:
    for _ in range(steps):
        simulation.step(1e-3)
    return simulation.state


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine("stewart", compile=False)


# -- one engine, several simulations -------------------------------------------------------------


def test_two_simulations_share_an_engine_and_nothing_else(engine: Engine) -> None:
    a, b = Simulation(engine), Simulation(engine, start={"motor1": 0.1})
    a.set_inputs(MOTORS)
    assert a.engine.kernel(*a.stepping.traced()) is b.engine.kernel(*b.stepping.traced())
    for _ in range(20):
        a.step(1e-3)
        b.step(1e-3)
    apart = [
        Simulation("stewart", compile=False),
        Simulation("stewart", start={"motor1": 0.1}, compile=False),
    ]
    apart[0].set_inputs(MOTORS)
    assert [a.state, b.state] == [moved(s) for s in apart]
    assert a.state != b.state


def test_engines_of_one_description_share_what_is_traced() -> None:
    """A second simulation of the same mechanism traced everything again."""
    engine_module._SHARED.clear()
    first, second = (Engine("delta", compile=False) for _ in range(2))
    assert first.functions.dynamics is second.functions.dynamics
    heavier = replace(load("delta"), gravity=(0.0, 0.0, -20.0))
    others = [Engine(heavier, compile=False), Engine("delta", changeable=["gravity"], compile=False)]
    for other in others:
        assert other.functions.dynamics is not first.functions.dynamics
    engine_module._SHARED.clear()
    assert Engine("delta", compile=False).functions.dynamics is not first.functions.dynamics


def test_what_others_trace_is_not_shared() -> None:
    def foreign(value: float) -> Any:
        return lambda eq: ca.Function("own", [eq.q], [value * eq.q])

    a, b = (Engine("fourbar", compile=False) for _ in range(2))
    q = np.ones(a.tree.nq)
    assert np.allclose(a.kernel("own", foreign(2.0))(q), 2.0)
    assert np.allclose(b.kernel("own", foreign(3.0))(q), 3.0)


def test_what_is_shared_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen platforms of six legs held 200 MB; mechanisms of hundreds of bodies would hold any amount."""
    kept = engine_module._SHARED
    made = [replace(load("fourbar"), gravity=(0.0, 0.0, -g)) for g in (1.0, 2.0, 3.0)]
    monkeypatch.setattr(engine_module, "MOST_SHARED", 2 * Engine(made[0], compile=False).tree.nv)
    engines = [Engine(mechanism, compile=False) for mechanism in made]
    assert [shared.equations for shared in kept.values()] == [engine.equations for engine in engines[1:]]
    large = Engine("hexapod", compile=False)
    assert not kept and large.functions.closure is large.functions.closure


def test_threads_trace_one_mechanism_together() -> None:
    engine_module._SHARED.clear()
    wanted = moved(Simulation("fivebar", compile=False))
    engine_module._SHARED.clear()
    found: list[State] = []
    threads = [
        threading.Thread(target=lambda: found.append(moved(Simulation("fivebar", compile=False))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 4


def test_an_engine_comes_with_its_gravity_and_compiler(engine: Engine) -> None:
    for option in ({"gravity": 1.0}, {"compile": False}):
        with pytest.raises(SimulationError, match="an engine has its gravity and its compiler"):
            Simulation(engine, **option)


def test_kernels_read_the_memory_of_the_state(engine: Engine) -> None:
    s = Simulation(engine)
    s.v[:] = 0.0
    before = s.outputs()["body.platform.position"][2]
    s.q[:] = Simulation(engine, start={"motor1": 0.2, "motor2": 0.2, "motor3": 0.2}).q
    assert abs(s.outputs()["body.platform.position"][2] - before) > 1e-3


# -- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("kind", [Simulation, MethodSimulation])
def test_copies_go_their_own_way(way: str, kind: type[Simulation]) -> None:
    s = kind("stewart", compile=False)
    s.set_inputs(MOTORS)
    moved(s, 5)
    make = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}
    other = make[way](s)
    assert type(other) is kind and other.state == s.state
    assert (other.engine is s.engine) == (way == "copy")
    here = s.state
    there = moved(other)
    assert s.state == here
    assert moved(s) == there  # the same bits
    other.reset()
    assert other.time == 0.0 and s.time == pytest.approx(0.025)


def test_copies_keep_their_methods() -> None:
    options = {"formulation": "svd", "stabilization": "none", "chart": "tangent_qr"}
    s = MethodSimulation("fivebar", compile=False, **options)
    other = copy.copy(s)
    for x in (s, other):
        x.run(0.02, 1e-3, record=["energy"])
    assert s.state == other.state and s.closure()[0].any()  # it drifts: not the traced step


def test_an_engine_travels_as_its_description(engine: Engine) -> None:
    Simulation(engine).step(1e-3)
    text = pickle.dumps(engine)
    assert len(text) < 2 * len(pickle.dumps(engine.mechanism))
    other = pickle.loads(text)
    assert other.mechanism == engine.mechanism and other.compile is False


def _elsewhere(simulation: Simulation) -> tuple[bool, State]:
    state = moved(simulation)
    return simulation.compiled, state


def test_another_process_finds_the_compiled_code_and_gets_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    compiling._caller_library.cache_clear()  # compiled once a process: in this cache, too
    s = Simulation(mechanisms.five_bar())
    s.step(1e-3)
    if not s.compiled:
        pytest.skip("no C compiler here")
    built = {path: path.stat().st_ino for path in tmp_path.rglob("*.so")}  # a new file would have another
    assert built
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        compiled, there = pool.apply(_elsewhere, (s,))
    assert compiled and {p: p.stat().st_ino for p in tmp_path.rglob("*.so")} == built
    assert moved(s) == there


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTJOINT_CACHE", str(tmp_path))
    return tmp_path / "cutjoint"


def ran(name: str | Mechanism = "delta") -> tuple[State, dict[str, Any]]:
    s = Simulation(name)
    return moved(s), s.outputs()


def test_what_was_here_before_is_not_traced_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ran()

    def never(engine: Engine, name: str, make: Any = None) -> None:
        raise AssertionError(f"{name} is traced again")

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "traced", never)
        again = ran()
        assert again[0] == first[0] and again[1].keys() == first[1].keys()
        for changed in (replace(load("delta"), gravity=(0.0, 0.0, -1.62)), "fivebar"):
            with pytest.raises(AssertionError, match="is traced again"):
                ran(changed)
        patch.setattr(cache, "source_digest", lambda: "other source")
        with pytest.raises(AssertionError, match="is traced again"):
            ran()
    for entry in own_cache.glob("*.kernel"):
        entry.write_bytes(b"damaged")
    assert ran()[0] == first[0]


def test_the_cache_forgets_what_was_used_longest_ago(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran("fivebar")
    old = set(own_cache.iterdir())
    ran("delta")
    everything = set(own_cache.iterdir())
    for path in everything:
        os.utime(path, (1, 1))
    ran("delta")
    monkeypatch.setattr(storage, "MOST_KEPT", len(everything))
    new = ran("slider_crank")
    left = set(own_cache.iterdir())
    assert len(left) == len(everything)
    assert everything - old <= left and not old <= left
    assert new[0] == ran("slider_crank")[0]


def test_other_flags_make_another_library(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran("fivebar")
    usual = set(own_cache.glob("*.so"))
    monkeypatch.setattr(compiling, "FLAGS", ("-O0", "-fPIC", "-shared"))
    ran("fivebar")
    assert len(set(own_cache.glob("*.so"))) == 2 * len(usual)


def test_a_library_that_was_forgotten_is_built_again(own_cache: Path) -> None:
    first = ran("fivebar")
    libraries = list(own_cache.glob("*.so"))
    for path in libraries:
        path.unlink()
    assert ran("fivebar")[0] == first[0]
    assert sorted(own_cache.glob("*.so")) == sorted(libraries)


def test_what_is_not_ours_is_not_remembered(own_cache: Path) -> None:
    """A function that a user traces may be another one tomorrow under the same name."""
    for factor in (2.0, 3.0):
        engine = Engine("fivebar")

        def times(eq: Any, factor: float = factor) -> ca.Function:
            return ca.Function("times", [eq.q], [factor * eq.q], ["q"], ["y"])

        np.testing.assert_array_equal(engine.kernel("times", times)(np.ones(engine.tree.nq)), factor)


# -- parameters ------------------------------------------------------------------------------------


def test_another_mass_leaves_the_state_and_changes_the_motion() -> None:
    s, heavy = (Simulation("delta", compile=False, parameters=p) for p in ({}, {"payload": 2.5}))
    before = s.state
    s.set_parameters(payload=2.5)
    assert s.state == replace(before, p=np.array([2.5]))
    np.testing.assert_array_equal(s.accelerations()[0], heavy.accelerations()[0])
    s.reset()
    assert s.state == before


def test_another_length_closes_the_loops_again_while_it_moves() -> None:
    s = Simulation("mcpherson", compile=False)
    moved(s, 50)
    before = s.state
    assert np.abs(before.v).max() > 1e-3
    s.set_parameters({"tie_rod": float(s.p[-1]) + 0.01})
    g, G = s.closure()
    assert np.abs(g).max() < 1e-12 and np.abs(G @ s.v).max() < 1e-12
    assert (s.time, s.work) == (before.time, before.work)
    assert 1e-4 < np.abs(s.q - before.q).max() < 0.1 and np.abs(s.v - before.v).max() < 0.5
    assert s.p[-1] == before.p[-1] + 0.01
    straight = Simulation("mcpherson", parameters={"tie_rod": float(s.p[-1])}, compile=False)
    np.testing.assert_allclose(straight.p, s.p)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("mcpherson", {"tie_rod": -0.5}, "length"),
        ("mcpherson", {"tie_rods": 0.5}, "no parameter 'tie_rods'; did you mean 'tie_rod'"),
        ("delta", {"payload": -1.0}, "mass"),
        ("delta", {"payload": float("nan")}, "finite|nan"),
        ("delta", {"payload": [1.0, 2.0]}, "number"),
    ],
)
def test_what_can_not_be_leaves_everything_as_it_was(name: str, values: dict, words: str) -> None:
    s = Simulation(name, compile=False)
    before = s.state
    with pytest.raises(CutjointError, match=words):
        s.set_parameters(values)
    assert s.state == before
    with pytest.raises(CutjointError, match=words):
        Simulation(name, parameters=values, compile=False)


def three_cranks() -> Mechanism:
    """A bar on three cranks, equal and parallel, so that one of them is too many."""
    bodies = [Body(f"crank{k}", 1.0, (0.0, 0.0, 0.5), (0.1, 0.1, 0.1, 0, 0, 0)) for k in range(3)]
    bodies.append(Body("bar", 1.0, (1.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0, 0, 0)))
    flat = (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0)  # z along the world's y
    joints = []
    for k in range(3):
        low, high = (Frame((float(k), 0.0, 0.0), flat), Frame((float(k), 0.0, 0.0), flat))
        joints.append(Joint(f"foot{k}", "revolute", "ground", f"crank{k}", low, Frame((0, 0, 0), flat)))
        joints.append(Joint(f"pin{k}", "revolute", f"crank{k}", "bar", Frame((0.0, 0.0, 1.0), flat), high))
    paths = {"foot": "joint.foot2.on_parent.position[1]", "pin": "joint.pin2.on_parent.position"}
    return Mechanism("three_cranks", tuple(bodies), tuple(joints), parameters=paths)


def test_a_length_that_closes_no_loop_leaves_everything_as_it_was() -> None:
    s = Simulation(three_cranks(), compile=False)
    before = s.state
    with pytest.raises(AssemblyError, match=r"the loop closed by joint '\w+2' \(\w+ to \w+\) stays open by"):
        s.set_parameters(pin=[0.0, 0.0, 5.0])
    assert s.state == before
    with pytest.raises(AssemblyError, match="the loop closed by joint"):
        Simulation(three_cranks(), parameters={"pin": [0.0, 0.0, 5.0]}, compile=False)


def test_the_rank_belongs_to_the_parameters() -> None:
    """With the third crank askew the bar is locked; what was found before is not believed."""
    s = Simulation(three_cranks(), compile=False)
    assert s.topology().mobility == 1
    for foot, mobility in ((2.5, 0), (2.0, 1), (1.6, 0)):
        s.set_parameters(foot=foot, pin=[2.0 - foot, 0.0, 1.0])
        assert s.topology().mobility == mobility
    assert s.singularity_distance() == pytest.approx(s.outputs()["singularity.distance"])


def test_parameters_are_not_written_past_the_checks() -> None:
    s = Simulation("delta", compile=False)
    with pytest.raises(ValueError, match="read-only"):
        s.p[0] = -1.0


# -- the state ---------------------------------------------------------------------------------------


def test_a_state_is_a_copy_that_can_be_compared_and_changed(engine: Engine) -> None:
    s = Simulation(engine)
    saved = s.state
    assert saved == s.state == copy.deepcopy(saved) == pickle.loads(pickle.dumps(saved))
    assert saved != replace(saved, time=1.0) and saved != replace(saved, u=saved.u + 1) and saved != 3
    s.set_inputs(MOTORS)
    first = moved(s)
    assert saved.time == 0.0 and not saved.u.any()
    s.state = replace(saved, u=np.array(MOTORS))
    assert moved(s) == first


def test_a_state_that_can_not_be_is_refused(engine: Engine) -> None:
    s = Simulation(engine)
    before = s.state
    twice = before.q.copy()
    twice[s.tree.q["ball1"]] *= 2
    for state, words in (
        (replace(before, q=before.q[1:]), "has 10 coordinates, not 9"),
        (replace(before, v=np.zeros(3)), "has 9 speeds, not 3"),
        (replace(before, u=np.zeros(1)), "has 3 inputs, not 1"),
        (replace(before, p=np.zeros(2)), "has 0 parameters, not 2"),
        (replace(before, v=before.v * np.nan), "must be finite"),
        (replace(before, time=np.inf), "must be finite"),
        (replace(before, q=before.q + 1e-3 * (np.arange(10) < 2)), r"'ball\d' is open by"),
        (replace(before, q=twice), "Euler parameters .* must have length one"),
    ):
        with pytest.raises(SimulationError, match=words):
            s.state = state
        assert s.state == before


def test_a_method_that_drifts_takes_its_own_states_back() -> None:
    s = MethodSimulation("fivebar", formulation="svd", stabilization="none", compile=False)
    s.put(replace(s.state, q=s.q + 1e-3))
    s.state = saved = moved(s, 2)
    assert np.abs(s.closure()[0]).max() > 1e-4 and s.state == saved


# -- threads -----------------------------------------------------------------------------------------


def test_a_second_thread_is_refused_while_the_first_one_moves() -> None:
    s = Simulation(mechanisms.five_bar(), compile=False)
    inside, done = threading.Event(), threading.Event()

    def watched(_: Simulation) -> float:
        inside.set()
        assert done.wait(30)
        return 1.0

    first = threading.Thread(
        target=lambda: s.run(2e-3, 1e-3, record=["energy"], events=[Event("e", watched)])
    )
    first.start()
    assert inside.wait(30)
    for action in (lambda: s.step(1e-3), lambda: s.run(1e-3)):
        with pytest.raises(SimulationError, match="another thread is moving this simulation"):
            action()
    other = copy.deepcopy(s)
    other.step(1e-3)  # its own
    done.set()
    first.join()
    assert s.time == 2e-3 and s.step(1e-3) is None


def test_threads_at_once_are_refused_or_right() -> None:
    """However three threads interleave, the state is that of the steps that were not refused."""
    s = Simulation(mechanisms.five_bar(), compile=False)
    s.step(1e-4)
    taken: list[int] = []

    def work() -> None:
        count = 0
        for _ in range(300):
            try:
                s.step(1e-4)
                count += 1
            except SimulationError:
                os.sched_yield()
        taken.append(count)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one = Simulation(mechanisms.five_bar(), compile=False)
    for _ in range(1 + sum(taken)):
        one.step(1e-4)
    assert len(taken) == 3 and s.state == one.state


def test_kernels_may_be_called_from_several_threads() -> None:
    """They are pure: every caller gets the result of its own arguments."""
    engine = Engine("stewart", compile=False)
    q = Simulation(engine).q
    poses = [q, Simulation(engine, start={"motor1": 0.3}).q, Simulation(engine, start={"motor2": -0.2}).q]
    expected = [engine.closure(pose, np.zeros(0), np.zeros(0))[1] for pose in poses]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(2000):
            if not np.array_equal(engine.closure(poses[k], np.zeros(0), np.zeros(0))[1], expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not np.array_equal(expected[0], expected[1])
