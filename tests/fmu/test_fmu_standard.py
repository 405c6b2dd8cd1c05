"""The letter of the standards: names for linkers, compilers, log, stop time, what the description says."""

import re
import shutil
import subprocess
import sys
import zipfile
from math import degrees
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from bulk import bulk
from cutjoint.fmu.c_sources import sources, units_to_compile
from cutjoint.fmu.export import contents, export
from cutjoint.native import c_compile
from cutjoint.native.c_sources import LOG_CATEGORIES
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu
from fmu_tools import exported, get, initialize, instance, names, planned, put

STRICT = ("-pedantic", "-Wall", "-Wextra", "-Wvla", "-Werror", "-c", "-O0")
COMPILERS = {
    "C99": ("gcc", "-std=c99"),
    "C++": ("g++", "-x", "c++", "-std=c++11"),
    "clang": (sys.executable, "-m", "ziglang", "cc", "-std=c99"),
    "clang as C++": (sys.executable, "-m", "ziglang", "c++", "-x", "c++", "-std=c++11"),
}
MARKED = ("body.coupler.mass", "body.coupler.inertia[1]", "joint.coupler_pin.on_parent.position")


@pytest.fixture(scope="module", params=[2, 3], ids=["FMI 2.0", "FMI 3.0"])
def code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """Version, and a folder with the sources of an FMU that has everything."""
    folder = tmp_path_factory.mktemp("sources")
    for name, text in sources(planned("fourbar", linear=True, marked=MARKED), request.param).items():
        (folder / name).write_text(text)
    return request.param, folder


# -- sources ----------------------------------------------------------------------------------------


@pytest.mark.cross
@pytest.mark.parametrize("language", bulk([*COMPILERS], ["C99"]))
def test_sources_compile_without_a_warning(language: str, code: tuple[int, Path]) -> None:
    command, (fmi, folder) = COMPILERS[language], code
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    if "ziglang" in command:  # which is clang
        pytest.importorskip("ziglang")
    for unit in units_to_compile(fmi):
        done = subprocess.run(
            [*command, *STRICT, unit, "-o", "/dev/null"], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0 and not done.stderr, f"{unit}: {done.stderr[:1000]}"


@pytest.mark.skipif(shutil.which("nm") is None or shutil.which("gcc") is None, reason="needs gcc and nm")
@pytest.mark.parametrize("prefix", bulk(["mine_", ""], 1))
def test_every_name_that_a_linker_sees_has_the_prefix(prefix: str, code: tuple[int, Path]) -> None:
    """None but the standard's functions go without it; overridden, all do."""
    fmi, folder = code
    flags = [
        f"-DFMI{fmi}_FUNCTION_PREFIX=mine_",
        *([] if prefix else [f"-DFMI{fmi}_OVERRIDE_FUNCTION_PREFIX"]),
    ]
    seen: set[str] = set()
    for unit in units_to_compile(fmi):
        subprocess.run(["gcc", "-std=c99", "-O0", *flags, "-c", unit, "-o", "one.o"], cwd=folder, check=True)
        done = subprocess.run(
            ["nm", "-g", "--defined-only", "one.o"], cwd=folder, capture_output=True, text=True
        )
        seen |= {line.split()[-1] for line in done.stdout.splitlines() if line}
    assert {f"{prefix}fmi{fmi}GetVersion", f"{prefix}cj_step"} <= seen
    assert len(seen) > 80 and all(name.startswith((f"{prefix}fmi{fmi}", f"{prefix}cj_")) for name in seen)


def test_the_linker_is_told_how() -> None:
    for fmi in (2, 3):
        with zipfile.ZipFile(exported("fourbar", fmi)) as archive:
            text = archive.read("documentation/staticLinking.txt").decode()
            assert f"-DFMI{fmi}_FUNCTION_PREFIX=fourbar_" in text and f"fourbar_fmi{fmi}DoStep" in text
            assert "MIT License" in archive.read("documentation/licenses/license.txt").decode()


@pytest.mark.cross
@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
def test_libraries_for_linux_run_on_old_systems(tmp_path: Path) -> None:
    """Functions that got new versions since are linked in the old ones, by a compiler that knows these."""
    pytest.importorskip("ziglang")
    if c_compile.here() != "linux64":
        pytest.skip("this machine is not linux64")
    text = '#include <math.h>\n__attribute__((visibility("default"))) double f(double x);\n'
    text += "double f(double x) { return pow(x, x) + exp(x) + log(x); }\n"
    (tmp_path / "f.so").write_bytes(c_compile.compile_for("linux64", {"f.c": text}, ["f.c"]))
    done = subprocess.run(["nm", "-D", "f.so"], cwd=tmp_path, capture_output=True, text=True, check=True)
    needed = {tuple(map(int, found.split("."))) for found in re.findall(r"@+GLIBC_([\d.]+)", done.stdout)}
    assert "pow@" in done.stdout and max(needed) <= (2, 17), done.stdout


# -- calls ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmi", [2, 3])
def test_no_step_ends_after_the_stop_time(fmi: int) -> None:
    log: list[tuple[int, str, str]] = []
    with instance(exported("fourbar", fmi), log=log) as fmu:
        if fmi == 3:
            fmu.enterInitializationMode(startTime=1.0, stopTime=1.01)
        else:
            fmu.setupExperiment(startTime=1.0, stopTime=1.01)
            fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        for k in range(10):
            fmu.doStep(1.0 + k * 1e-3, 1e-3)
        before = get(fmu, names(fmu, "output"))
        with pytest.raises(FMICallException) as found:
            fmu.doStep(1.01, 1e-3)
        assert found.value.status == 3 and "after the stop time 1.01 s" in log[-1][2]
        assert (get(fmu, names(fmu, "output")) == before).all()


@pytest.mark.parametrize("fmi", [2, 3])
def test_the_log_says_what_was_asked_for(fmi: int) -> None:
    """Nothing if it is off, some categories, all of them, and no category that does not exist."""
    log: list[tuple[int, str, str]] = []

    def wrong() -> None:
        with pytest.raises(FMICallException):
            put(fmu, {"motor.crank.torque": float("nan")})

    with instance(exported("fourbar", fmi), log=log) as fmu:
        for on, categories, heard in (
            (False, [], set()),
            (False, list(LOG_CATEGORIES), set()),
            (True, ["logNonlinearSystems"], {"logNonlinearSystems"}),
            (True, ["logStatusError"], {"logStatusError"}),
            (True, [], {"logStatusError", "logNonlinearSystems", "logEffort"}),
        ):
            fmu.reset()
            fmu.setDebugLogging(on, categories)
            log.clear()
            initialize(fmu, {"start.crank_pin.position": 0.1})
            wrong()
            assert {category for _, category, _ in log} == heard
        with pytest.raises(FMICallException):
            fmu.setDebugLogging(True, ["logNothing"])
        assert "no log category 'logNothing'" in log[-1][2]


def test_an_instance_that_was_told_to_be_silent_is() -> None:
    for fmi in (2, 3):
        heard: list[tuple[int, str, str]] = []
        silent = instance(exported("fourbar", fmi), log=heard, logging=False)
        with silent as fmu, pytest.raises(FMICallException):
            put(fmu, {"motor.crank.torque": float("inf")})
        assert heard == []


def test_the_python_runtime_treats_steps_alike(tmp_path: Path) -> None:
    """A step that would open a loop, or end after the stop time, is not taken, and the log says why."""
    log: list[tuple[int, str, str]] = []
    path = tmp_path / "python.fmu"
    export("fourbar", path, runtime="python", step=0.05, outputs=["energy", "loop.residual"], picture=False)
    with instance(path, log=log) as fmu:
        fmu.setupExperiment(startTime=0.0, stopTime=5.0)
        fmu.enterInitializationMode()
        put(fmu, {"motor.crank.torque": 50.0})
        fmu.exitInitializationMode()
        with pytest.raises(FMICallException) as found:
            for k in range(100):
                fmu.doStep(k * 0.05, 0.05)
                assert get(fmu, ["loop.residual"])[0] < 1e-6
        assert found.value.status == 2 and "is open by" in log[-1][2]
        with pytest.raises(FMICallException):
            fmu.doStep(k * 0.05, 6.0)
        assert "after the stop time 5.0 s" in log[-1][2]


# -- descriptions -----------------------------------------------------------------------------------


def description(fmi: int) -> ET.Element:
    made = contents(planned("fourbar", marked=MARKED), fmi, [], 0, False)
    return ET.fromstring(made["modelDescription.xml"])


def variables(root: ET.Element) -> dict[str, dict[str, str]]:
    """Name -> attributes, those of the type among them."""
    return {
        v.attrib["name"]: {**v.attrib, **(v[0].attrib if len(v) else {})} for v in root.find("ModelVariables")
    }


@pytest.mark.parametrize("fmi", [2, 3])
def test_the_description_says_what_importers_need(fmi: int) -> None:
    root = description(fmi)
    known, states = variables(root), ["state.position", "state.speed"]
    if fmi == 2:
        states = [f"{name}[1]" for name in states]
    else:
        assert root.find("ModelExchange").attrib["needsCompletedIntegratorStep"] == "true"
    assert [known[name]["reinit"] for name in states] == ["true", "true"]
    assert [known[name]["unit"] for name in states] == ["rad", "rad/s"]
    assert known["joint.crank_pin.position"]["displayUnit"] == "deg"
    assert float(root.find("DefaultExperiment").attrib["tolerance"]) > 0
    shown = {unit.attrib["name"]: unit.find("DisplayUnit") for unit in root.find("UnitDefinitions")}
    assert shown["rad"].attrib == {"name": "deg", "factor": repr(degrees(1.0))}
    assert shown["N.m"] is None
    assert float(known["parameter.body_coupler_mass"]["min"]) == 0


def test_states_that_nothing_renews_are_not_said_to_be() -> None:
    made = contents(planned("double_pendulum"), 3, [], 0, False)
    known = variables(ET.fromstring(made["modelDescription.xml"]))
    assert "reinit" not in known["state.position"] and known["state.position"]["unit"] == "rad"


def test_parameters_are_among_the_dependencies() -> None:
    """FMI 3.0: masses where there are forces, dimensions of loops wherever positions count."""
    root = description(3)
    by_reference = {v["valueReference"]: name for name, v in variables(root).items()}
    found: dict[str, dict[str, set[str]]] = {}
    for unknown in root.find("ModelStructure"):
        on, kinds = (unknown.attrib[key].split() for key in ("dependencies", "dependenciesKind"))
        assert len(on) == len(kinds) and set(kinds) <= {"dependent"}
        name = by_reference[unknown.attrib["valueReference"]]
        found.setdefault(unknown.tag, {})[name] = {by_reference[k] for k in on}
    mass, place = "parameter.body_coupler_mass", "parameter.joint_coupler_pin_on_parent_position"
    outputs, start = found["Output"], found["InitialUnknown"]
    assert outputs["joint.rocker_pin.position"] == {"state.position", place}
    assert {mass, place, "state.speed"} <= outputs["energy"]
    assert mass in found["ContinuousStateDerivative"]["der(state.speed)"]
    assert found["EventIndicator"]["state.margin"] == {"state.position", place}
    assert "start.crank_pin.position" in start["joint.rocker_pin.position"]
    assert mass not in start["joint.rocker_pin.position"]
    assert not any(name.startswith("state.") for on in start.values() for name in on)


def test_initial_unknowns_depend_on_what_is_known_then() -> None:
    """FMI 2.0: on start values, parameters and inputs, and on no state."""
    root = description(2)
    indices = dict(enumerate(variables(root), 1))
    structure = root.find("ModelStructure")
    start = {
        indices[int(x.attrib["index"])]: {indices[int(k)] for k in x.attrib["dependencies"].split()}
        for x in structure.find("InitialUnknowns")
    }
    assert {"start.crank_pin.position", "parameter.body_coupler_mass"} <= start["energy"]
    assert "motor.crank.torque" in start["der(state.speed[1])"]
    assert not any(name.startswith("state.") for on in start.values() for name in on)
    for tag in ("Outputs", "Derivatives"):
        for x in structure.find(tag):
            on = {indices[int(k)] for k in x.attrib["dependencies"].split()}
            assert not any(name.startswith(("parameter.", "start.")) for name in on)


@pytest.mark.parametrize("fmi", [2, 3])
def test_it_is_valid(fmi: int) -> None:
    assert validate_fmu(str(exported("fourbar", fmi, marked=MARKED))) == []


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_time_that_is_too_late_for_a_step_is_refused(fmi: int) -> None:
    """At 1e13 s a double's next is 2 ms later: a step of 1 ms was nine, at 1e300 s any number."""
    log: list[tuple[int, str, str]] = []
    for start in (1e9, 1e13, 1e300):
        with instance(exported("fourbar", fmi), log=log) as fmu:
            if fmi == 3:
                fmu.enterInitializationMode(startTime=start)
            else:
                fmu.setupExperiment(startTime=start)
                fmu.enterInitializationMode()
            fmu.exitInitializationMode()
            if start < 1e10:
                fmu.doStep(start, 1e-3)
                continue
            with pytest.raises(FMICallException) as found:
                fmu.doStep(start, 1e-3)
            assert found.value.status == 3 and "can't be told from none" in log[-1][2]
