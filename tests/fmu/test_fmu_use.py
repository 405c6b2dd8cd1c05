"""Parameters, start values, singularities, wrong use, and other importers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutjoint import Simulation
from fmpy import extract, read_model_description
from fmpy.fmi1 import FMICallException
from fmu_exchange import pointer
from fmu_tools import exported, folder, get, initialize, instance, names, put

GEOMETRY = "joint.coupler_pin.on_child.position"
MARKED = ("body.coupler.mass", GEOMETRY)
MASS, PLACE = "parameter.body_coupler_mass", "parameter.joint_coupler_pin_on_child_position"


def fourbar(fmi: int = 3) -> Path:
    return exported("fourbar", fmi, marked=MARKED)


def marked() -> Any:
    from dataclasses import replace

    from cutjoint import load

    return replace(load("fourbar"), parameters={"mass": MARKED[0], "place": MARKED[1]})


@pytest.mark.parametrize("fmi", [2, 3])
def test_geometry_set_before_initialization_reassembles_as_the_engine_does(fmi: int) -> None:
    default = Simulation(marked(), compile=False)
    place = default.p[1:4] + np.array([0.03, 0.0, -0.02])
    engine = Simulation(marked(), compile=False, parameters={"mass": 2.5, "place": place.tolist()})
    values: dict[str, Any] = {MASS: 2.5}
    values |= {PLACE: place} if fmi == 3 else {f"{PLACE}[{k + 1}]": x for k, x in enumerate(place)}
    with instance(fourbar(fmi)) as fmu:
        initialize(fmu, values)
        for k in range(100):
            fmu.doStep(k * 1e-3, 1e-3)
            engine.step(1e-3)
        wanted = engine.outputs()
        assert get(fmu, ["loop.residual"])[0] < 1e-12
        assert get(fmu, ["energy"])[0] == pytest.approx(wanted["energy"], rel=1e-9)
        assert abs(wanted["energy"] - default.energy()) > 1e-3  # it is another mechanism
        for joint in ("crank_pin", "coupler_pin", "rocker_pin"):
            got = get(fmu, [f"joint.{joint}.position"])[0]
            assert got == pytest.approx(wanted[f"joint.{joint}.position"], abs=1e-8)


def test_a_geometry_that_can_not_close_fails_and_names_the_loop() -> None:
    log: list[tuple[int, str, str]] = []
    with instance(fourbar(2), log=log) as fmu:
        fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        before = get(fmu, [f"{PLACE}[1]"])[0]
        put(fmu, {f"{PLACE}[1]": 50.0})
        with pytest.raises(FMICallException):
            fmu.exitInitializationMode()
        status, _, message = log[-1]
        assert status == 3 and re.search(r"loop closed by joint '\w+' \(\w+ to \w+\) stays open by", message)
        put(fmu, {f"{PLACE}[1]": before})  # the host lives on and may try again
        fmu.exitInitializationMode()
        fmu.doStep(0.0, 1e-3)
        assert get(fmu, ["loop.residual"])[0] < 1e-12


def test_start_pose_and_speed_are_held() -> None:
    with instance(fourbar()) as fmu:
        start = get(fmu, ["start.crank_pin.position"])[0]
        initialize(fmu, {"start.crank_pin.position": start + 0.2, "start.crank_pin.speed": 1.5})
        assert get(fmu, ["joint.crank_pin.position"])[0] == pytest.approx(start + 0.2, abs=1e-12)
        assert get(fmu, ["joint.crank_pin.velocity"])[0] == pytest.approx(1.5, abs=1e-9)
        assert get(fmu, ["loop.residual"])[0] < 1e-12


def test_tunable_parameters_can_change_while_running_and_geometry_can_not() -> None:
    with instance(fourbar()) as fmu:
        initialize(fmu)
        fmu.doStep(0.0, 0.01)
        kinetic = get(fmu, ["energy"])[0]
        put(fmu, {MASS: 7.0})
        assert get(fmu, ["energy"])[0] != kinetic
        with pytest.raises(FMICallException):
            put(fmu, {PLACE: [0.1, 0.1, 0.0]})


def test_a_fivebar_goes_through_its_singularity() -> None:
    with instance(exported("fivebar")) as fmu:
        initialize(fmu)
        nearest, energy = np.inf, get(fmu, ["energy"])[0]
        for k in range(800):
            fmu.doStep(k * 1e-3, 1e-3)
            distance, residual = get(fmu, ["singularity.distance", "loop.residual"])
            nearest = min(nearest, distance)
            assert residual < 1e-9
        assert np.isfinite(get(fmu, names(fmu, "output"))).all()
        assert nearest < 0.05
        assert get(fmu, ["energy"])[0] == pytest.approx(energy, abs=1e-4)


def test_other_communication_steps_give_the_same_motion() -> None:
    ends = []
    for steps in (100, 10, 1):
        with instance(fourbar()) as fmu:
            initialize(fmu)
            for k in range(steps):
                fmu.doStep(k * 0.1 / steps, 0.1 / steps)
            ends.append(get(fmu, ["joint.crank_pin.position"])[0])
    assert ends[0] == ends[1] == ends[2]
    with instance(fourbar()) as fmu:  # no multiple of the inner step
        initialize(fmu)
        for k in range(64):
            fmu.doStep(k * 0.1 / 64, 0.1 / 64)
        assert get(fmu, ["joint.crank_pin.position"])[0] == pytest.approx(ends[0], abs=1e-8)


def test_wrong_use_of_fmi_3_is_refused_and_changes_nothing() -> None:
    """What the C host checks of FMI 2.0, for FMI 3.0."""
    with instance(fourbar()) as fmu:
        with pytest.raises(FMICallException):
            fmu.doStep(0.0, 1e-3)  # before initialization
        initialize(fmu)
        fmu.doStep(0.0, 0.01)
        before = get(fmu, names(fmu, "output"))
        torque = fmu.refs["motor.crank.torque"]
        wrong = [
            lambda: fmu.doStep(0.01, -1e-3),
            lambda: fmu.doStep(0.01, float("nan")),
            lambda: fmu.doStep(5.0, 1e-3),
            lambda: fmu.setFloat64([torque], [float("nan")]),
            lambda: fmu.setFloat64([torque], [1.0, 2.0]),  # too many values
            lambda: fmu.setFloat64([4_000_000_000], [1.0]),
            lambda: fmu.setFloat64([fmu.refs["energy"]], [1.0]),
            lambda: fmu.getFloat64([4_000_000_000]),
            lambda: fmu.getDirectionalDerivative([torque], [torque], [1.0]),
            lambda: fmu.enterStepMode(),
        ]
        for call in wrong:
            with pytest.raises(FMICallException):
                call()
        assert np.array_equal(get(fmu, names(fmu, "output")), before)
        fmu.doStep(0.01, 1e-3)
    text = zipfile.ZipFile(fourbar()).read("modelDescription.xml").decode()
    spoiled = folder() / "spoiled.fmu"
    with zipfile.ZipFile(fourbar()) as whole, zipfile.ZipFile(spoiled, "w") as copy:
        for name in whole.namelist():
            other = re.sub('instantiationToken="[^"]*"', 'instantiationToken="{no}"', text)
            copy.writestr(name, other if name == "modelDescription.xml" else whole.read(name))
    with pytest.raises(Exception, match="nstantiate"), instance(spoiled):
        pass


@pytest.mark.parametrize("fmi", [2, 3])
def test_wrong_use_of_model_exchange_is_refused(fmi: int) -> None:
    with instance(fourbar(fmi), exchange=True) as fmu:
        initialize(fmu)
        x = np.full(2, np.nan)
        fmu.enterContinuousTimeMode()
        good = np.zeros(2)
        fmu.getContinuousStates(pointer(good), 2)
        with pytest.raises(FMICallException):
            fmu.setContinuousStates(pointer(x), 2)
        with pytest.raises(FMICallException):
            fmu.setContinuousStates(pointer(np.zeros(3)), 3)
        with pytest.raises(FMICallException):
            put(fmu, {names(fmu, "input")[0]: np.inf})
        after = np.zeros(2)
        fmu.getContinuousStates(pointer(after), 2)
        assert np.array_equal(good, after)


@pytest.mark.parametrize("fmi", [2, 3])
def test_saved_states_of_model_exchange_hold_the_chart(fmi: int) -> None:
    with instance(fourbar(fmi), exchange=True) as fmu:
        initialize(fmu)
        fmu.enterContinuousTimeMode()
        x = np.zeros(2)
        fmu.getContinuousStates(pointer(x), 2)
        saved = fmu.getFMUState() if fmi == 3 else fmu.getFMUstate()
        first = get(fmu, names(fmu, "output"))
        fmu.setContinuousStates(pointer(x + 0.1), 2)
        assert not np.array_equal(get(fmu, names(fmu, "output")), first)
        (fmu.setFMUState if fmi == 3 else fmu.setFMUstate)(saved)
        assert np.array_equal(get(fmu, names(fmu, "output")), first)
        (fmu.freeFMUState if fmi == 3 else fmu.freeFMUstate)(saved)


COSIM = """
import sys
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimManipulator import CosimManipulator
from libcosimpy.CosimObserver import CosimObserver
from libcosimpy.CosimSlave import CosimLocalSlave
execution = CosimExecution.from_step_size(10**6)
slave = execution.add_local_slave(CosimLocalSlave(fmu_path=sys.argv[1], instance_name="m"))
found = {v.name.decode(): v.reference for v in execution.slave_variables(slave)}
execution.real_initial_value(slave, found["motor.crank.torque"], 0.5)
observer = CosimObserver.create_last_value()
execution.add_observer(observer)
execution.step(100)
print("RESULT", repr(observer.last_real_values(slave, [found["joint.crank_pin.position"]])[0]))
"""
ECOS = """
import sys
from ecospy import EcosSimulation, EcosSimulationStructure
structure = EcosSimulationStructure()
structure.add_model("m", sys.argv[1])
structure.add_parameter_set("start", {"m::motor.crank.torque": 0.5})
with EcosSimulation(structure=structure, step_size=1e-3) as sim:
    sim.init(parameter_set="start")
    sim.step(100)
    print("RESULT", repr(sim.get_real("m::joint.crank_pin.position")))
    sim.terminate()
"""


@pytest.mark.parametrize(("package", "script"), [("libcosimpy", COSIM), ("ecospy", ECOS)])
def test_other_masters_run_it(package: str, script: str) -> None:
    tried = subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True, text=True)
    if tried.returncode:
        reason = tried.stderr.strip().splitlines()[-1]
        pytest.skip(f"{package} can't be loaded (ecospy needs libtbb, Debian: libtbb12): {reason}")
    path = exported("fourbar", marked=MARKED)
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, timeout=120)
    engine = Simulation("fourbar", compile=False)
    engine.set_inputs([0.5])
    for _ in range(100):
        engine.step(1e-3)
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("RESULT")] or [done.stdout + done.stderr]
    assert float(line.split()[-1]) == pytest.approx(engine.outputs()["joint.crank_pin.position"], abs=1e-9)


WINDOWS = r"""
#include <stdio.h>
#include <windows.h>
typedef void* (*make)(const char*, int, const char*, const char*, const void*, int, int);
typedef int (*setup)(void*, int, double, double, int, double);
typedef int (*plain)(void*);
typedef int (*real)(void*, const unsigned*, size_t, double*);
typedef int (*step)(void*, double, double, int);
int main(int n, char** word)
{
    HMODULE dll = LoadLibraryA(word[1]);
    if (!dll || n < 4) return 2;
    unsigned reference = (unsigned)atoi(word[3]);
    double y = 0;
    void* c = ((make)(void*)GetProcAddress(dll, "fmi2Instantiate"))("w", 1, word[2], "", NULL, 0, 0);
    if (!c) return 3;
    ((setup)(void*)GetProcAddress(dll, "fmi2SetupExperiment"))(c, 0, 0, 0, 0, 0);
    ((plain)(void*)GetProcAddress(dll, "fmi2EnterInitializationMode"))(c);
    ((plain)(void*)GetProcAddress(dll, "fmi2ExitInitializationMode"))(c);
    step go = (step)(void*)GetProcAddress(dll, "fmi2DoStep");
    for (int k = 0; k < 100; ++k)
        if (go(c, k * 1e-3, 1e-3, 1)) return 4;
    if (((real)(void*)GetProcAddress(dll, "fmi2GetReal"))(c, &reference, 1, &y)) return 5;
    printf("RESULT %.17g\n", y);
    return 0;
}
"""


@pytest.mark.cross
@pytest.mark.study  # zig's first build for Windows alone takes minutes
@pytest.mark.parametrize(
    ("name", "optimize", "wanted"),
    [("fourbar", 0, "joint.crank_pin.position"), ("stewart", 2, "joint.motor1.position")],
)
def test_the_windows_binary_runs_in_wine(name: str, optimize: int, wanted: str) -> None:
    wine = (
        shutil.which("wine64")
        or shutil.which("wine")
        or next(iter(Path("/usr/lib/wine").glob("wine64")), None)
    )
    if wine is None:
        pytest.skip("needs wine (Debian: apt-get install wine64)")
    pytest.importorskip("ziglang")
    path = exported(name, optimize=optimize, platforms=("linux64", "win64"))
    source, program = folder() / "windows.c", folder() / "windows.exe"
    source.write_text("#include <stdlib.h>\n" + WINDOWS)
    zig = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-fno-sanitize=all",
        "-target",
        "x86_64-windows-gnu",
        "-o",
        program,
        source,
    ]
    subprocess.run(zig, check=True, timeout=1800)
    unzipped = extract(str(path))
    description = read_model_description(str(path))
    references = {v.name: v.valueReference for v in description.modelVariables}
    (library,) = Path(unzipped, "binaries", "win64").glob("*.dll")
    words = [wine, program, library, description.guid, str(references[wanted])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=180, cwd=library.parent)
    shutil.rmtree(unzipped)
    engine = Simulation(name, compile=False)
    for _ in range(100):
        engine.step(1e-3)
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("RESULT")] or [
        f"{done.returncode} {done.stderr}"
    ]
    assert float(line.split()[-1]) == pytest.approx(engine.outputs()[wanted], abs=1e-12)
