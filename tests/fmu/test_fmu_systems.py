"""Systems of FMUs, parameter sets, FMI 3.0 without arrays, terminals, shapes, reference experiments."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from cutjoint import CutjointError, Simulation
from cutjoint.fmu import terminals
from cutjoint.fmu.reference_experiment import NAME, reference_files
from cutjoint.fmu.shapes import FOLDER
from cutjoint.fmu.ssp.ssp import component, write_ssp
from cutjoint.model.cli.main import main
from fmpy import read_model_description, simulate_fmu
from fmpy.fmi1 import FMICallException
from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import read_ssd, read_ssv
from fmpy.validation import validate_fmu
from fmu_tools import exported, folder, get, initialize, instance, planned, put
from lxml import etree

TORQUE, ANGLE = "motor.crank.torque", "joint.crank_pin.position"
SHOWN = ("joint.*.position", "joint.*.velocity", "body.*.position", "body.*.orientation", "input.*", "energy")


def fourbar(fmi: int = 2, scalar: bool = False) -> Path:
    return exported("fourbar", fmi, outputs=SHOWN, marked=("body.coupler.mass",), scalar=scalar)


HOSTILE = {
    "larger than 50 MB": " " * 60_000_000,
    "entities are refused": '<!DOCTYPE a [<!ENTITY b "c">]><a/>',
    "no element found": "<a>",
    "unknown encoding": '<?xml version="1.0" encoding="x-no"?><a/>',
}


@pytest.mark.parametrize("why", HOSTILE)
def test_a_foreign_fmu_that_is_none_is_refused(why: str, tmp_path: Path) -> None:
    path = tmp_path / "it.fmu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", HOSTILE[why])
    with pytest.raises(CutjointError, match=rf"it\.fmu' is not an FMU: .*{why}"):
        component(path)


def test_a_variable_without_a_type_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "it.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        text = '<a><ModelVariables><ScalarVariable name="x"/></ModelVariables></a>'
        archive.writestr("modelDescription.xml", text)
    assert component(path).connectors == {}


# -- systems ---------------------------------------------------------------------------------------


@cache
def system() -> Path:
    """One four-bar drives another with its own torque; the first starts with a speed."""
    path = folder() / "system.ssp"
    both = {"one": fourbar(), "two": fourbar()}
    write_ssp(path, both, [("one.input.crank", f"two.{TORQUE}")], {"one.start.crank_pin.speed": 2.0})
    return path


def test_fmpy_runs_a_system_with_its_parameters() -> None:
    assert read_ssd(str(system())).system.name == "system"  # which checks it against the schema
    values = read_ssv(str(system()), "resources/parameters.ssv")
    result = simulate_ssp(str(system()), stop_time=0.095, step_size=1e-2, parameter_set=values)
    ends = []
    for speed in (2.0, None):
        with instance(fourbar()) as fmu:
            initialize(fmu, {} if speed is None else {"start.crank_pin.speed": speed})
            fmu.doStep(0.0, 0.1)
            ends.append(get(fmu, [ANGLE])[0])
    assert result[f"one.{ANGLE}"][-1] == pytest.approx(ends[0], abs=1e-12)
    assert result[f"two.{ANGLE}"][-1] == pytest.approx(ends[1], abs=1e-12)


ECOS = """
import sys
from ecospy import EcosSimulation
with EcosSimulation(ssp_path=sys.argv[1], step_size=1e-2) as sim:
    sim.init(parameter_set="initialValues")
    sim.set_real("one::motor.crank.torque", 0.5)
    sim.step(10)
    print("RESULT", sim.get_real("one::joint.crank_pin.position"), sim.get_real("two::motor.crank.torque"))
    sim.terminate()
"""


def test_ecos_runs_a_system_with_its_parameters() -> None:
    tried = subprocess.run([sys.executable, "-c", "import ecospy"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"ecospy can't be loaded (it needs libtbb, Debian: libtbb12): {tried.stderr[-200:]}")
    done = subprocess.run([sys.executable, "-c", ECOS, system()], capture_output=True, text=True, timeout=120)
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("RESULT")] or [done.stdout + done.stderr]
    with instance(fourbar()) as fmu:
        initialize(fmu, {"start.crank_pin.speed": 2.0})
        put(fmu, {TORQUE: 0.5})
        fmu.doStep(0.0, 0.1)
        wanted = get(fmu, [ANGLE])[0]
    angle, passed = map(float, line.split()[1:])
    assert angle == pytest.approx(wanted, abs=1e-9) and passed == 0.5


@pytest.mark.parametrize(
    ("connections", "values", "sentence"),
    [
        ([("one.energi", f"two.{TORQUE}")], {}, "'one' has no output 'energi'; did you mean 'energy'"),
        ([("three.energy", f"two.{TORQUE}")], {}, "there is no FMU 'three'"),
        ([(f"one.{ANGLE}", f"two.{TORQUE}")], {}, "is in rad, but .* in N.m"),
        ([("one.input.crank", f"two.{TORQUE}")] * 2, {}, "is given two outputs"),
        ([], {"one.parameter.mas": 1.0}, "there is no parameter 'one.parameter.mas'"),
    ],
)
def test_a_system_that_makes_no_sense_is_refused(
    connections: list[tuple[str, str]], values: dict[str, float], sentence: str
) -> None:
    path = folder() / "wrong.ssp"
    with pytest.raises(CutjointError, match=sentence):
        write_ssp(path, {"one": fourbar(), "two": fourbar()}, connections, values)
    assert not path.exists()


def test_what_is_no_fmu_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "note.fmu"
    path.write_text("hello")
    with pytest.raises(CutjointError, match="is not an FMU"):
        component(path)


def test_the_command_packs_mechanisms_and_fmus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, brief = tmp_path / "pair.ssp", ["--runtime", "python", "--output", "energy", "--output", "input.*"]
    told = [
        "--connect",
        f"fourbar.input.crank=fourbar2.{TORQUE}",
        "--set",
        "fourbar2.start.crank_pin.speed=1",
    ]
    mine = tmp_path / "fourbar.fmu"
    mine.write_bytes(fourbar().read_bytes())
    assert main(["export", "fourbar", str(mine), *brief, "--ssp", str(path), *told]) == 0
    assert "fourbar, fourbar2, 1 connection" in capsys.readouterr().out
    with zipfile.ZipFile(path) as archive:
        assert {"SystemStructure.ssd", "resources/parameters.ssv"} <= set(archive.namelist())
    assert main(["export", "fourbar", "stewart"]) == 2
    assert "make a system: say where, --ssp FILE" in capsys.readouterr().err
    assert main(["export", "fourbar", "stewart", "--ssp", str(path), "--connect", "energy"]) == 2
    assert "--connect takes FMU.OUTPUT=FMU.INPUT, not 'energy'" in capsys.readouterr().err


def test_parameters_are_written_beside_an_fmu(tmp_path: Path) -> None:
    fmu, values = tmp_path / "f.fmu", tmp_path / "parameters.ssv"
    told = ["export", "fourbar", "--runtime", "python", "-o", str(fmu), "--parameter", "body.coupler.mass"]
    start = ["parameter.body_coupler_mass=3000 g", "start.crank_pin.speed=60 rpm"]
    assert main([*told, "--ssv", str(values), "--set", *start]) == 0
    found = {p.name: float(p.value) for p in read_ssv(str(values)).parameters}
    assert found["parameter.body_coupler_mass"] == 3.0
    assert found["start.crank_pin.speed"] == pytest.approx(2 * math.pi)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("start.crank_pin.speed=1 kg", "--set start.crank_pin.speed can't be in 'kg'"),
        ("start.crank_pin.speed=x", "--set start.crank_pin.speed must be a number, not 'x'"),
        ("start.crank_pin.speed", "--set takes NAME=VALUE, not 'start.crank_pin.speed'"),
        ("start.crank_pin.sped=1", "did you mean 'start.crank_pin.speed'"),
    ],
)
def test_refused_parameters_leave_no_fmu(
    word: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fmu, values = tmp_path / "f.fmu", tmp_path / "parameters.ssv"
    told = ["export", "fourbar", "--runtime", "python", "-o", str(fmu), "--ssv", str(values)]
    assert main([*told, "--set", word]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


# -- without arrays --------------------------------------------------------------------------------


def test_without_arrays_the_motion_is_the_same() -> None:
    path = fourbar(3, scalar=True)
    assert not validate_fmu(str(path))
    with instance(path) as scalars, instance(fourbar(3)) as arrays:
        for fmu in (scalars, arrays):
            initialize(fmu, {"start.crank_pin.speed": 1.0})
            put(fmu, {TORQUE: 0.3})
            fmu.doStep(0.0, 0.05)
        place = [f"body.coupler.position[{k}]" for k in (1, 2, 3)]
        assert np.array_equal(get(scalars, place), get(arrays, ["body.coupler.position"]))
        known, unknown = scalars.refs[TORQUE], [scalars.refs[n] for n in place]
        assert len(scalars.getDirectionalDerivative(unknown, [known], [1.0], 3)) == 3
        with pytest.raises(FMICallException):
            scalars.getFloat64([10**6])


# -- for those who draw and those who try ------------------------------------------------------------


def test_terminals_have_pictures_and_bodies_have_shapes() -> None:
    with zipfile.ZipFile(fourbar(3)) as archive:
        inside = set(archive.namelist())
        root = ET.fromstring(archive.read(f"{terminals.FOLDER}/terminalsAndIcons.xml"))
        table = json.loads(archive.read(f"{FOLDER}/shapes.json"))["bodies"]
        shapes = {body: archive.read(f"{FOLDER}/{x['file']}").decode() for body, x in table.items()}
    used = {x.get("iconBaseName") for x in root.iter("TerminalGraphicalRepresentation")}
    assert {f"{terminals.FOLDER}/{name}.png" for name in used} <= inside
    names = {v.name for v in read_model_description(str(fourbar(3))).modelVariables}
    for body, text in shapes.items():
        assert {table[body]["position"], table[body]["orientation"]} <= names
        corners = [
            [float(x) for x in line.split()[1:]] for line in text.splitlines() if line.startswith("v ")
        ]
        faces = [[int(x) for x in line.split()[1:]] for line in text.splitlines() if line.startswith("f ")]
        # a closed surface, seen from outside: Euler's formula, and a positive volume
        edges = {frozenset(pair) for face in faces for pair in zip(face, face[1:] + face[:1], strict=True)}
        assert len(corners) - len(edges) + len(faces) == 2
        at = np.array(corners)
        assert sum(np.linalg.det(at[np.array(face) - 1]) for face in faces) > 0


@pytest.mark.parametrize(("fmi", "kind"), [(2, "CoSimulation"), (2, "ModelExchange"), (3, "CoSimulation")])
def test_an_importer_can_try_the_fmu_on_what_is_inside(fmi: int, kind: str) -> None:
    place = f"extra/{NAME}"
    with zipfile.ZipFile(fourbar(fmi)) as archive:
        texts = {n: archive.read(n).decode() for n in archive.namelist() if n.startswith(place)}
    manifest = etree.fromstring(texts[f"{place}/fmi-ls-manifest.xml"].encode())
    said = {key.rpartition("fmi-ls-")[2]: value for key, value in manifest.attrib.items()}
    assert manifest.tag == "fmiReferences" and said["name"] == NAME and said["version"] == "1.0.0-beta.1"
    assert all(key.startswith("{http://fmi-standard.org/fmi-ls-manifest}") for key in manifest.attrib)
    roles = {f"{place}/{item.get('source')}": item.get("role") for item in manifest.iter("Related")}
    assert {*roles} | {f"{place}/fmi-ls-manifest.xml"} == {*texts}
    assert sorted(roles.values()) == ["configuration", "experiment/smoke-test", "result"]
    options = dict(line.split(", ") for line in texts[f"{place}/fourbar_ref.opt"].splitlines())
    tables = {}
    for which in ("in", "ref"):
        head, *rows = csv.reader(io.StringIO(texts[f"{place}/fourbar_{which}.csv"]))
        tables[which] = np.array([tuple(map(float, row)) for row in rows], dtype=[(n, float) for n in head])
    wanted = tables["ref"]
    result = simulate_fmu(
        str(fourbar(fmi)),
        stop_time=float(options["StopTime"]),
        output_interval=float(options["StepSize"]),
        relative_tolerance=float(options["RelTol"]),
        input=tables["in"],
        output=list(wanted.dtype.names[1:]),
        fmi_type=kind,
    )
    for name in wanted.dtype.names[1:]:
        assert np.allclose(
            result[name], wanted[name], rtol=1e-6, atol=1e-9 if kind == "CoSimulation" else 1e-5
        )


def test_the_reference_is_the_engines_own() -> None:
    plan = planned("fourbar")
    before = plan.simulation.state
    rows = reference_files(plan)[f"extra/{NAME}/fourbar_ref.csv"].splitlines()
    engine = Simulation("fourbar", compile=False)
    engine.set_inputs([1.0])
    engine.run(0.04, record=[])
    assert plan.simulation.state == before
    column = rows[0].replace('"', "").split(",").index(ANGLE)
    assert float(rows[-1].split(",")[column]) == pytest.approx(engine.outputs()[ANGLE], rel=1e-10)
