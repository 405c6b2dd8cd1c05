"""The letter of the standards, and what a target needs: damaged states, old systems."""

import re
import shutil
import struct
import subprocess
import zipfile
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from bulk import KINDS, bulk
from cutjoint import Simulation, list_examples, load
from cutjoint.fmu.c_sources import sources
from cutjoint.model.base.errors import CutjointError, SimulationError
from cutjoint.model.describe import parameters
from fmpy.fmi1 import FMICallException
from fmu_exchange import begin, events, pointer, read, write
from fmu_tools import exported, get, initialize, instance, names, planned, put
from scipy.spatial.transform import Rotation


def checksum(data: bytes) -> int:
    """Fowler, Noll and Vo's hash, 64 bits, their variant 1a."""
    total = 14695981039346656037
    for byte in data:
        total = (total ^ byte) * 1099511628211 % 2**64
    return total


def test_a_damaged_serialized_state_is_refused() -> None:
    """Every flipped bit is seen, and a state that is whole but impossible is not believed either."""
    with instance(exported("fourbar")) as fmu:
        initialize(fmu)
        fmu.doStep(0.0, 1e-3)
        saved = fmu.getFMUstate()
        data = bytes(fmu.serializeFMUstate(saved))
        before = get(fmu, names(fmu, "output"))
        for at in range(0, len(data), 3):
            spoiled = bytearray(data)
            spoiled[at] ^= 1 << at % 8
            with pytest.raises(FMICallException):
                fmu.deSerializeFMUstate(bytes(spoiled))
        state = data[64:]
        assert checksum(state) == struct.unpack("<Q", data[56:64])[0]
        phase = (
            len(state) - 28
        )  # seven integers, behind an independent coordinate, a kink's side, a clock's tick
        nan = struct.pack("<d", np.nan)
        for at, value in (
            (phase, b"\x4d\0\0\0"),
            (phase, b"\x02\0\0\0"),
            (phase - 12, b"\xff" * 4),
            (8, nan),
        ):
            forged = state[:at] + value + state[at + len(value) :]
            with pytest.raises(FMICallException):
                fmu.deSerializeFMUstate(data[:56] + struct.pack("<Q", checksum(forged)) + forged)
        fmu.setFMUstate(fmu.deSerializeFMUstate(data))
        assert np.array_equal(get(fmu, names(fmu, "output")), before)


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
@pytest.mark.parametrize("name", ["fourbar", "double_pendulum"])
def test_an_fmu_needs_no_new_system_library(name: str, tmp_path: Path) -> None:
    """Linux: nothing that glibc 2.17 of 2012 does not have."""
    with zipfile.ZipFile(exported(name)) as archive:
        archive.extractall(tmp_path)
    (library,) = (tmp_path / "binaries").rglob(f"{name}.so")
    done = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    needed = {tuple(map(int, found.split("."))) for found in re.findall(r"@GLIBC_([\d.]+)", done.stdout)}
    assert needed and max(needed) <= (2, 17), done.stdout


@pytest.mark.parametrize("name", bulk(list_examples(), KINDS))
def test_traced_code_calls_nothing_that_got_a_new_version(name: str) -> None:
    """glibc 2.27 to 2.38 gave these new versions, and a library built there needs them."""
    texts = sources(planned(name), 2)
    called = set(
        re.findall(r"\b(\w+)\(", "".join(texts[f] for f in ("step.c", "kernels.c", "derivatives.c")))
    )
    assert not called & {"pow", "exp", "exp2", "log", "log2", "hypot", "fmod"}


def test_late_steps_are_those_of_the_beginning() -> None:
    """A host that passes t[k+1] - t[k] at 1e5 s asks for 1 ms but for the last digits: no step is added."""
    ends = []
    for start in (0.0, 1e5, -3e6):
        times = start + 1e-3 * np.arange(301)
        with instance(exported("fourbar")) as fmu:
            fmu.setupExperiment(startTime=start)
            fmu.enterInitializationMode()
            fmu.exitInitializationMode()
            for t, length in zip(times, np.diff(times), strict=False):
                fmu.doStep(t, length)
            ends.append(get(fmu, ["joint.crank_pin.position", "joint.crank_pin.velocity", "energy"]))
    assert np.array_equal(ends[0], ends[1]) and np.array_equal(ends[0], ends[2])


def euler(name: str, order: tuple[str, ...], eager: bool, steps: int, amplitude: float) -> np.ndarray:
    """States and kinetic energies of model exchange by Euler's method.

    Time, states and inputs are set in some order, and indicators and derivatives asked for after each of
    them (`eager`) or after all.
    """
    h = 1e-3
    with instance(exported(name, outputs=("energy_kinetic",)), exchange=True) as fmu:
        inputs = names(fmu, "input")

        def at(t: float) -> dict[str, float]:
            return {n: amplitude * np.sin(3 * t + k) for k, n in enumerate(inputs)}

        x = begin(fmu, at(0.0))
        z = np.zeros(int(fmu.description.numberOfEventIndicators))
        dx, kinetic = np.zeros_like(x), []

        def ask() -> None:
            fmu.getEventIndicators(pointer(z), len(z))
            fmu.getDerivatives(pointer(dx), len(dx))

        ask()
        for k in range(1, steps + 1):
            t = k * h
            x += h * dx
            for what in order:
                if what == "time":
                    fmu.setTime(t)
                elif what == "states":
                    write(fmu, x)
                else:
                    put(fmu, at(t))
                if eager:
                    ask()
            ask()
            event, _ = fmu.completedIntegratorStep()
            if event:
                fmu.enterEventMode()
                events(fmu)
                fmu.enterContinuousTimeMode()
                read(fmu, x)
                ask()
            kinetic.append(get(fmu, ["energy_kinetic"])[0])
        return np.array([*x, *kinetic])


@pytest.mark.parametrize("name", bulk(list_examples(), {"bicycle", "servo_stewart"}))
def test_states_time_and_inputs_may_be_set_in_any_order(name: str) -> None:
    usual = euler(name, ("time", "inputs", "states"), False, 30, 2.0)
    for order in permutations(("time", "states", "inputs")):
        for eager in (False, True):
            assert np.array_equal(euler(name, order, eager, 30, 2.0), usual), (order, eager)


@pytest.mark.parametrize("order", [("time", "inputs", "states"), ("states", "time", "inputs")])
def test_a_fast_robot_keeps_to_its_branch(order: tuple[str, ...]) -> None:
    """Energy does not jump where two branches of closed poses come near, whenever the clock is set."""
    kinetic = euler("parallel_robot", order, True, 1000, 20.0)[-1000:]
    assert np.abs(np.diff(kinetic)).max() < 1.0


@pytest.mark.parametrize("fmi", [2, 3])
def test_parameters_that_the_engine_refuses_are_refused(fmi: int) -> None:
    """At the start and while it runs; what was there before stays."""
    log: list[tuple[int, str, str]] = []
    path = exported("fourbar", fmi, marked=("body.coupler.mass", "body.coupler.inertia[1]"))
    mass, inertia = "parameter.body_coupler_mass", "parameter.body_coupler_inertia_1"
    with instance(path, log=log) as fmu:
        for phase in range(2):
            before = get(fmu, [mass])
            refused = [(mass, 0.0, "positive"), (mass, -1.0, "positive"), (inertia, -1.0, "not negative")]
            refused += [(inertia, 5.0, "moments of inertia that a body can have")] * phase
            for name, value, rule in refused:
                with pytest.raises(FMICallException):
                    put(fmu, {name: value})
                assert f"{name}" in log[-1][2] and f"must be {rule}" in log[-1][2]
            assert get(fmu, [mass]) == before
            if phase == 0:
                initialize(fmu)


@pytest.mark.parametrize("fmi", [2, 3])
def test_what_makes_sense_together_may_be_set_one_by_one(fmi: int) -> None:
    """Until initialization ends, where moments of inertia that no body has are refused."""
    moments = [f"parameter.body_coupler_inertia_{k}" for k in (1, 2, 3)]
    path = exported("fourbar", fmi, marked=tuple(f"body.coupler.inertia[{k}]" for k in (1, 2, 3)))
    for values, good in (((5.0, 5.0, 5.0), True), ((5.0, 1.0, 1.0), False)):
        log: list[tuple[int, str, str]] = []
        with instance(path, log=log) as fmu:
            for name, value in zip(moments, values, strict=True):
                put(fmu, {name: value})
            if good:
                initialize(fmu)
            else:
                with pytest.raises(FMICallException):
                    initialize(fmu)
                assert "moments of inertia that a body can have" in log[-1][2]


@pytest.mark.parametrize(
    "moments", [(2.0, 2.0, 4.0), (0.0, 0.0, 0.0), (0.0, 3.0, 3.0), (1.0, 1.0, 2.1), (-1.0, 1.0, 1.0)]
)
def test_the_rule_of_inertias_is_that_of_principal_moments(moments: tuple[float, ...]) -> None:
    """However the axes are turned, in Python and in the C that is traced from it."""
    small, middle, large = sorted(moments)
    possible = small >= 0 and small + middle >= large
    mechanism = replace(load("fourbar"), parameters={"inertia": "body.coupler.inertia"})
    allowed = parameters.allowed_values(mechanism)
    for seed in range(20):
        R = Rotation.random(random_state=seed).as_matrix()
        J = R @ np.diag(moments) @ R.T
        six = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        assert (float(allowed(six)[1][0]) == 1) == possible
        if possible:
            parameters.parameter_vector(mechanism, {"inertia": six})
        else:
            with pytest.raises(CutjointError, match="moment"):
                parameters.parameter_vector(mechanism, {"inertia": six})


def test_a_rod_of_no_length_is_refused() -> None:
    with instance(exported("mcpherson")) as fmu, pytest.raises(FMICallException):
        put(fmu, {"parameter.tie_rod": 0.0})


def test_a_step_that_opens_a_loop_is_discarded() -> None:
    """Far too long an inner step under a large torque: no open loop with status OK, and the state stays."""
    log: list[tuple[int, str, str]] = []
    with instance(exported("fourbar", step=0.05), log=log) as fmu:
        initialize(fmu, {"motor.crank.torque": 50.0})
        for k in range(100):
            before = get(fmu, names(fmu, "output"))
            try:
                fmu.doStep(k * 0.05, 0.05)
            except FMICallException as problem:
                assert problem.status == 2 and "opens by" in log[-1][2]
                assert np.array_equal(get(fmu, names(fmu, "output")), before)
                return
            assert get(fmu, ["loop.residual"])[0] < 1e-6
        pytest.fail("every step was taken")


def test_python_refuses_a_step_that_opens_a_loop() -> None:
    """The same step, said the same way: the engine and the FMU have one judge."""
    simulation = Simulation("fourbar")
    simulation.set_inputs({"crank": 50.0})
    with pytest.raises(SimulationError, match=r"closed by joint .* is open by .* take smaller steps"):
        for _ in range(100):
            before = simulation.state
            simulation.step(0.05)
    assert simulation.state == before


def test_coarse_steps_are_warned_of_as_often_as_the_engine_counts_them() -> None:
    """Steps that may not be refined: each that is too coarse is taken with status Warning, and said to be."""
    log: list[tuple[int, str, str]] = []
    simulation = Simulation("fourbar", stepper="single", compile=False)
    simulation.set_inputs({"crank": 8.0})
    with pytest.warns(UserWarning, match="do not trust this run"):
        told = simulation.run(0.3, 0.01, record=[]).judgement
    with instance(exported("fourbar", step=0.01, stepper="single"), log=log) as fmu:
        initialize(fmu, {"motor.crank.torque": 8.0})
        for k in range(30):
            fmu.doStep(k * 0.01, 0.01)
        assert get(fmu, ["joint.crank_pin.position"]) == pytest.approx(
            simulation.outputs()["joint.crank_pin.position"], abs=1e-8
        )
    said = [
        status for status, category, text in log if category == "logStatusWarning" and "too coarse" in text
    ]
    assert 0 < told.unsettled < told.judged and said == [1] * told.unsettled
