"""Sensors that take samples: what they tell, when, and that it is the same in Python, C and everywhere."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from cutjoint import CutjointError, Mechanism, Simulation, load, save
from cutjoint.fmu.pythonfmu_runtime import MechanismSlave
from cutjoint.model.batch.rollout import rollout
from cutjoint.model.control.computed_torque import Wanted
from cutjoint.model.describe.sensors import Sensor
from cutjoint.model.describe.writer import write
from cutjoint.model.engine import Engine
from cutjoint.model.equations.sampled_sensors import initial_memory, sampled_groups
from cutjoint.native.variable_layout import plan
from cutjoint.ros.loop import Loop
from cutjoint.ros.settings import Settings
from fmpy.validation import validate_fmu
from fmu_tools import exported, folder, get, initialize, instance, put
from loop_tools import built, running
from silent_outlet import Silent

ARM = """
name: arm
bodies: {bar: {mass: 2, com: [0.5, 0, 0], inertia: {axis: x, along: 0.001, across: 0.17}}}
joints: {pin: {type: revolute, parent: ground, child: bar, at: [0, 0, 0], axis: y, damping: 0.1}}
motors: {drive: {joint: pin}}
frames: {tip: {body: bar, at: [1, 0, 0]}}
outputs: {angle: sensor.coarse.position}
sensors:
  exact: {type: encoder, joint: pin}
  felt: {type: imu, frame: tip}
  coarse: {type: encoder, joint: pin, period: 3 ms, resolution: [0.5 deg, 0.01 rad/s]}
  late: {type: encoder, joint: pin, period: 1 ms, delay: 2.5 ms}
  between: {type: encoder, joint: pin, period: 0.7 ms}
  noisy: {type: imu, frame: tip, period: 2 ms, noise: [0.02 m/s2, 1 mrad/s], resolution: [1e-3], seed: 7}
"""
SAMPLED = [
    "sensor.coarse.position",
    "sensor.coarse.velocity",
    "sensor.late.position",
    "sensor.between.position",
]
SAMPLED += [f"sensor.noisy.{what}[{k}]" for what in ("specific_force", "angular_rate") for k in (1, 2, 3)]
SAMPLED += ["angle"]
H = 1e-3


@functools.cache
def file() -> Path:
    path = folder() / "sampled_arm.yaml"
    path.write_text(ARM)
    return path


@functools.cache
def engine() -> Engine:
    return Engine(str(file()))


def torque(k: int) -> float:
    return 3.0 * np.sin(0.2 * k)


def driven(
    steps: int,
    simulation: Simulation | None = None,
    first: int = 0,
    end: Callable[[int], float] = lambda k: (k + 1) * H,
) -> tuple[np.ndarray, np.ndarray]:
    """Sampled and exact readings after every step, and before the first; `end` is how time is counted."""
    s = simulation or Simulation(engine())
    rows = s.variables().outputs.rows(SAMPLED)
    exact = s.variables().outputs.rows(["sensor.exact.position", "sensor.exact.velocity", "sensor.felt.*"])
    seen = []
    for k in range(first, first + steps + 1):
        s.set_inputs({"drive": torque(k)})
        seen.append((s.read(rows), s.read(exact)))
        s.step(H, end(k))
    first_ones, second_ones = zip(*seen, strict=True)
    return np.array(first_ones), np.array(second_ones)


def test_resolution_and_hold() -> None:
    told, exact = driven(60)
    steps = np.radians(0.5), 0.01
    for column, step in enumerate(steps):
        y, x = told[:, column], exact[::3, column]
        assert np.allclose(y / step, np.round(y / step), atol=1e-9)
        assert np.array_equal(y[::3][:20], y[1::3]) and np.array_equal(y[::3][:20], y[2::3])
        assert np.abs(y[::3] - x).max() <= step / 2 * (1 + 1e-9)
        assert len(set(y)) > 3
    assert np.array_equal(told[:, 0], told[:, -1])  # by the description's own name


def test_a_delay_is_the_exact_reading_of_an_earlier_time() -> None:
    """2.5 ms old and taken every millisecond: at a whole millisecond what is told is three of them old."""
    told, exact = driven(40)
    assert np.array_equal(told[3:, 2], exact[:-3, 0])
    assert (told[:3, 2] == exact[0, 0]).all()


def test_samples_between_steps_are_of_their_own_times_and_move_nothing() -> None:
    told, _ = driven(40)
    plain = replace(load(str(file())), sensors=(Sensor("exact", "encoder", joint="pin"),), outputs={})
    without, fine = Simulation(plain), Simulation(plain)
    with_sensors = Simulation(engine())
    for k in range(40):
        for s in (without, with_sensors):
            s.set_inputs({"drive": torque(k)})
            s.step(H)
        at = int((k + 1) * 10 / 7 + 1e-9) * 0.7e-3  # the last sample before the end of the step
        fine.set_inputs({"drive": torque(k)})
        before = fine.state
        if at > fine.time + 1e-12:
            fine.step(at - fine.time)
        wanted = fine.outputs()["sensor.exact.position"]
        fine.state = before
        fine.step(H)
        if k < 39:
            assert told[k + 1, 3] == pytest.approx(wanted, abs=1e-13)
    assert np.array_equal(without.q, with_sensors.q) and np.array_equal(without.v, with_sensors.v)


def mrg32k3a(state: list[int]) -> int:
    """The generator in whole numbers, as its paper has it."""
    m1, m2 = 4294967087, 4294944443
    state[:3] = [state[1], state[2], (1403580 * state[1] - 810728 * state[0]) % m1]
    state[3:] = [state[4], state[5], (527612 * state[5] - 1370589 * state[3]) % m2]
    return (state[2] - state[5]) % m1 or m1


def test_noise_is_its_generators_and_nearly_normal() -> None:
    """Every number to the bit of an independent count; mean, deviation, correlation and tails of 18,000."""
    state = [12345] * 6
    assert mrg32k3a(state) / 4294967088 == pytest.approx(0.127011122046577, abs=1e-15)  # as published
    mechanism = engine().mechanism
    part = next(x for x in sampled_groups(mechanism) if x.sensor.name == "noisy")
    memory = initial_memory(mechanism)
    state = [int(x) for x in memory[part.random]]
    s = Simulation(engine())
    exact = s.read(s.variables().outputs.rows(["sensor.felt.*"]))
    take = engine().kernels.sampling
    found = []
    for k in range(3000):
        memory = take(*s.at, memory, 2e-3 * k)
        found.append(memory[part.samples][:6])
        if k < 50:
            n = [(sum(mrg32k3a(state) for _ in range(12)) - 6 * 4294967088) / 4294967088 for _ in range(6)]
            assert found[-1][3:] == pytest.approx(exact[3:] + 1e-3 * np.array(n[3:]), abs=1e-15)
            assert found[-1][:3] == pytest.approx(exact[:3] + 0.02 * np.array(n[:3]), abs=5e-4 + 1e-9)
    assert [int(x) for x in memory[part.random]] != state
    noise = (np.array(found) - exact) / ([0.02] * 3 + [1e-3] * 3)
    assert np.abs(noise.mean(axis=0)).max() < 0.06 and np.abs(noise.std(axis=0) - 1).max() < 0.04
    together = noise.ravel()
    assert abs(np.mean(together**3)) < 0.05 and 2.7 < np.mean(together**4) < 3.1
    assert 0.03 < np.mean(np.abs(together) > 2) < 0.06 and np.abs(together).max() < 6
    assert np.abs(np.corrcoef(noise.T) - np.eye(6)).max() < 0.07
    assert abs(np.corrcoef(noise[:-1, 0], noise[1:, 0])[0, 1]) < 0.07


def test_a_seed_repeats_itself_and_others_differ() -> None:
    first = driven(20)[0]
    s = Simulation(engine())
    driven(7, s)
    s.reset()
    assert np.array_equal(driven(20, s)[0], first)
    mechanism = load(str(file()))
    other = replace(
        mechanism, sensors=tuple(replace(x, seed=8.0) if x.noise else x for x in mechanism.sensors)
    )
    different = driven(20, Simulation(other))[0]
    assert np.array_equal(different[:, :4], first[:, :4]) and not np.array_equal(
        different[:, 4:], first[:, 4:]
    )


def test_a_state_brings_back_what_sensors_remember() -> None:
    s = Simulation(engine())
    driven(10, s)
    kept, twin = s.state, copy.deepcopy(s)
    first = driven(10, s, 11)[0]
    s.state = kept
    assert np.array_equal(driven(10, s, 11)[0], first)
    assert np.array_equal(driven(10, twin, 11)[0], first)
    with pytest.raises(CutjointError, match="what the sensors of 'arm' remember"):
        s.state = replace(kept, sensed=np.zeros(3))


@pytest.mark.compiler
@pytest.mark.parametrize("fmi", [2, 3])
def test_an_fmu_tells_the_same_to_the_bit_and_keeps_it(fmi: int) -> None:
    wanted = driven(40)[0]
    path = exported(str(file()), fmi, outputs=("sensor.*", "angle"))
    assert validate_fmu(str(path)) == []
    with instance(path) as fmu:
        names = [v for v in fmu.refs if v in SAMPLED or (fmi == 3 and v.startswith("sensor.noisy"))]
        discrete = {v.name for v in fmu.description.modelVariables if v.variability == "discrete"}
        assert set(names) <= discrete and "sensor.exact.position" not in discrete
        order = [n for n in SAMPLED if n in names] if fmi == 2 else _whole(SAMPLED)
        initialize(fmu, {"motor.drive.torque": torque(0)})
        for k in range(41):
            put(fmu, {"motor.drive.torque": torque(k)})
            assert np.array_equal(get(fmu, order), wanted[k]), k
            if k == 20:
                kept = fmu.getFMUState()
                packed = fmu.serializeFMUState(kept)
            fmu.doStep(currentCommunicationPoint=k * H, communicationStepSize=H)
        for state in (kept, fmu.deserializeFMUState(packed)):
            fmu.setFMUState(state)
            for k in range(20, 41):
                put(fmu, {"motor.drive.torque": torque(k)})
                assert np.array_equal(get(fmu, order), wanted[k]), k
                fmu.doStep(currentCommunicationPoint=k * H, communicationStepSize=H)


def test_the_python_runtime_tells_the_same_and_keeps_it(tmp_path: Path) -> None:
    wanted = driven(12, end=lambda k: k * H + H)[0]
    made = plan(load(str(file())), outputs=SAMPLED)
    (tmp_path / "mechanism.yaml").write_text(write(made.mechanism))
    (tmp_path / "options.json").write_text(json.dumps(made.choices))
    slave = MechanismSlave(instance_name="arm", resources=str(tmp_path))
    drive = next(v.slot for v in made.of("input"))
    rows = {v.name: v.slot for v in made.of("output")}
    references = [rows[name] for name in SAMPLED]
    slave.setup_experiment(0.0, None, None)
    slave.set_real([drive], [torque(0)])
    slave.exit_initialization_mode()
    kept: dict[str, Any] = {}
    for first in (0, 5):
        if first:
            slave._set_fmu_state(json.loads(json.dumps(kept)))
        for k in range(first, 13):
            slave.set_real([drive], [torque(k)])
            assert np.array_equal(slave.get_real(references), wanted[k]), k
            if k == 5:
                kept = slave._get_fmu_state()
            assert slave.do_step(k * H, H)


def test_the_node_tells_the_same_to_the_bit() -> None:
    wanted = driven(30, end=lambda k: (k + 1) / 1000.0)[0]
    settings = Settings.read({"mechanism": str(file()), "mode": "lock_step", "hold": False, "rate": 1000.0})
    loop = Loop(Simulation(engine()), settings, Silent())
    rows = loop.simulation.variables().outputs.rows(SAMPLED)
    for k in range(30):
        loop.advance(Wanted.forces(np.array([torque(k)])))
        if k < 29:
            loop.simulation.set_inputs([torque(k + 1)])
        assert np.array_equal(loop.simulation.read(rows), wanted[k + 1]), k


@pytest.mark.compiler
def test_a_native_loop_tells_the_same_to_the_bit(tmp_path: Path) -> None:
    record = tmp_path / "run.npy"
    program = built(str(file()), outputs=("sensor.*",))
    with running(program, "--mode", "fast", "--seconds", "0.03", "--record", str(record)) as loop:
        loop.end()
    got, s = np.load(record), Simulation(engine())
    rows = s.variables().outputs.rows(SAMPLED[:-1])
    assert len(got) > 20
    for k, row in enumerate(got):
        if k == 0 and row["time"] == 0:
            continue
        while s.time < row["time"] - H / 2:
            s.step(H, round(s.time / H + 1) * H)
        assert [row[name] for name in SAMPLED[:-1]] == s.read(rows).tolist(), k


def _whole(names: list[str]) -> list[str]:
    return list(dict.fromkeys(name.partition("[")[0] for name in names))


@pytest.mark.compiler
@pytest.mark.parametrize("fmi", [2, 3])
def test_model_exchange_takes_samples_at_events_of_time(fmi: int) -> None:
    """A solver of FMPy's, of other steps: samples agree with exact readings of their own times."""
    path = exported(str(file()), fmi, outputs=("sensor.*", "angle"))
    wanted = ["sensor.exact.position", "sensor.between.position", "sensor.late.position"]
    got = fmpy.simulate_fmu(
        str(path), fmi_type="ModelExchange", stop_time=0.02, output_interval=1e-3, relative_tolerance=1e-10,
        output=wanted, start_values={"motor.drive.torque": 2.0}, record_events=False,
    )  # fmt: skip
    s = Simulation(engine())
    s.set_inputs({"drive": 2.0})
    motion = s.run(0.02, 1e-3, "variable", 1e-12, record=wanted)
    for name in wanted:
        np.testing.assert_allclose(got[name], motion[name], atol=1e-7)
    np.testing.assert_allclose(got[wanted[2]][3:], got[wanted[0]][:-3], atol=1e-12)
    assert np.ptp(motion["sensor.between.position"]) > 1e-3


def test_variable_steps_sample_as_fixed_ones_do() -> None:
    s, other = Simulation(engine()), Simulation(engine())
    names = SAMPLED[:4]
    for each in (s, other):
        each.set_inputs({"drive": 2.0})
    fixed = s.run(0.03, 5e-4, record=names)
    variable = other.run(0.03, 5e-4, "variable", 1e-12, record=names)
    np.testing.assert_allclose(variable.values[:, 2:], fixed.values[:, 2:], atol=1e-9)
    assert np.array_equal(variable.values[:, :2], fixed.values[:, :2])


def test_linear_models_have_the_ideal_sensor() -> None:
    s = Simulation(engine())
    model = s.linearize(outputs=["sensor.coarse.position", "sensor.exact.position"])
    assert np.array_equal(model.C[0], model.C[1]) and model.C[0].any()


def test_what_is_described_is_written_and_read_again(tmp_path: Path) -> None:
    mechanism = load(str(file()))
    save(mechanism, tmp_path / "again.yaml")
    again = load(str(tmp_path / "again.yaml"))
    assert again == mechanism
    coarse = next(x for x in again.sensors if x.name == "coarse")
    assert coarse.period == 3e-3 and coarse.resolution == pytest.approx((np.radians(0.5), 0.01))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{type: encoder, joint: pin, delay: 1 ms}", "it is of samples; give the field 'period' too"),
        ("{type: encoder, joint: pin, noise: 1e-3}", "it is of samples; give the field 'period' too"),
        ("{type: encoder, joint: pin, period: -1}", "period must not be negative"),
        ("{type: encoder, joint: pin, period: 1 m}", "period"),
        ("{type: encoder, joint: pin, period: 1 ms, noise: 1 kg}", "noise"),
        (
            "{type: encoder, joint: pin, period: 1 ms, noise: [1, 2, 3]}",
            "the readings are position, velocity",
        ),
        ("{type: encoder, joint: pin, period: 1 ms, resolution: -1}", "resolution must not be negative"),
        (
            "{type: encoder, joint: pin, period: 1 ms, delay: 2 s}",
            "more than 1000 samples would be on their way",
        ),
        ("{type: encoder, joint: pin, period: 1 ms, seed: 1.5}", "seed must be a whole number, not 1.5"),
    ],
)
def test_bad_samples_get_one_sentence(line: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(ARM.replace("{type: encoder, joint: pin}", line))
    with pytest.raises(CutjointError, match=told) as problem:
        load(str(path))
    assert "\n" not in str(problem.value)


def test_many_runs_at_once_refuse_samples() -> None:
    with pytest.raises(CutjointError, match=r"'sensor\.coarse\.position' is sampled"):
        rollout(engine(), Simulation(engine()).state, 5, record=["sensor.coarse.position"])


def test_sensors_that_sample_nothing_cost_nothing() -> None:
    mechanism: Mechanism = replace(load(str(file())), sensors=(), outputs={})
    s = Simulation(mechanism, compile=False)
    assert s.samples is None and s.state.sensed.size == 0


@pytest.mark.compiler
def test_the_first_sample_of_a_driven_joint_is_where_it_was_told_to_be() -> None:
    """Told between initialization and the first step, which an FMU follows then."""
    path = folder() / "sampled_driven.yaml"
    path.write_text(ARM.replace("{drive: {joint: pin}}", "{drive: {joint: pin, drive: position}}"))
    s, wanted = Simulation(str(path), compile=False), SAMPLED[:4]
    with instance(exported(str(path), 2, outputs=("sensor.*",))) as fmu:
        initialize(fmu)
        told = {"drive": 0.3, "drive.velocity": 2.0}
        s.set_inputs(told)
        put(fmu, {"motor.drive.position": 0.3, "motor.drive.velocity": 2.0})
        for k in range(4):
            fmu.doStep(currentCommunicationPoint=k * H, communicationStepSize=H)
            s.step(H, (k + 1) * H)
            assert get(fmu, wanted) == pytest.approx(s.read(s.variables().outputs.rows(wanted)), abs=1e-12)
    assert s.outputs()["sensor.late.position"] == pytest.approx(0.302, abs=1e-12)
