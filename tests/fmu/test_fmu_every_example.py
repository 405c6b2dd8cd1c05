"""Every example in every form: valid to the schemas and FMPy's own checks; run by every importer (slow)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from itertools import cycle, product
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from bulk import KINDS, bulk
from cutjoint import Simulation, load
from cutjoint.fmu import terminals, xml_fmi2, xml_fmi3
from cutjoint.model.describe.reader import list_examples
from cutjoint.native.c_sources import identifier
from fmpy import extract, read_model_description
from fmpy.validation import validate_fmu
from fmu_tools import exported, folder, get, host, host_words, initialize, instance, names, planned
from lxml import etree

SCHEMAS = Path(fmpy.__file__).parent / "schema"
FORMS = {"FMI 2": (2, False), "FMI 3": (3, False), "FMI 3 scalar": (3, True)}
INPUT, STEPS, H = 10.0, 200, 1e-3  # what the C host does
SHOWN = ("joint.*.position", "joint.*.velocity", "energy")


def fits(schema: str, text: str) -> None:
    etree.XMLSchema(file=str(SCHEMAS / schema)).assertValid(etree.fromstring(text.encode()))


EXAMPLES = list_examples()
# One of each kind in one of the forms, and those with something special in all of them.
EACH_RUN = {*zip(KINDS, cycle(FORMS), strict=False), *product(("servo_stewart",), FORMS)}


@pytest.mark.parametrize(("name", "form"), bulk(list(product(EXAMPLES, FORMS)), EACH_RUN))
def test_every_form_of_every_example_is_valid(name: str, form: str) -> None:
    """All that `fmpy validate` reads of an FMU, its terminals and how it is built; arrays where asked."""
    fmi, scalar = FORMS[form]
    plan = planned(name, outputs=(), linear=form == "FMI 3" and bool(load(name).inputs()), scalar=scalar)
    text = (xml_fmi2 if fmi == 2 else xml_fmi3).description(plan)
    fits(f"fmi{fmi}/fmi{fmi}ModelDescription.xsd", text)
    assert ("<Dimension" in text) == (form == "FMI 3")
    if fmi == 3:
        fits("fmi3/fmi3BuildDescription.xsd", xml_fmi3.build_description(plan))
        root = etree.fromstring(terminals.terminals(plan).encode())
        fits("fmi3/fmi3TerminalsAndIcons.xsd", etree.tostring(root).decode())
        wanted = {f"flange.{m.name}" for m in plan.mechanism.motors if not m.servo_stiffness}
        wanted |= {f"frame.{b.name}" for b in plan.mechanism.bodies}
        assert {t.get("name") for t in root.iter("Terminal")} == wanted
        members = [m.get("variableName") for m in root.iter("TerminalMemberVariable")]
        assert set(members) <= {x.name for x in plan.shown()} and len(members) == len(set(members))
    path = folder() / f"{identifier(name)}-described.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", text)
    assert validate_fmu(str(path)) == []
    path.unlink()


# -- importers -----------------------------------------------------------------------------------------

COSIM = """
import json, sys
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimObserver import CosimObserver
from libcosimpy.CosimSlave import CosimLocalSlave
path, inputs, outputs, value, steps = json.loads(sys.argv[1])
execution = CosimExecution.from_step_size(10**6)
slave = execution.add_local_slave(CosimLocalSlave(fmu_path=path, instance_name="m"))
found = {v.name.decode(): v.reference for v in execution.slave_variables(slave)}
for name in inputs:
    execution.real_initial_value(slave, found[name], value)
observer = CosimObserver.create_last_value()
execution.add_observer(observer)
execution.step(steps)
print("RESULT", json.dumps(observer.last_real_values(slave, [found[name] for name in outputs])))
"""
ECOS = """
import json, sys
from ecospy import EcosSimulation, EcosSimulationStructure
path, inputs, outputs, value, steps = json.loads(sys.argv[1])
structure = EcosSimulationStructure()
structure.add_model("m", path)
structure.add_parameter_set("start", {f"m::{name}": value for name in inputs})
with EcosSimulation(structure=structure, step_size=1e-3) as sim:
    sim.init(parameter_set="start")
    sim.step(steps)
    print("RESULT", json.dumps([sim.get_real(f"m::{name}") for name in outputs]))
    sim.terminate()
"""


def by_fmpy(path: Path) -> np.ndarray:
    with instance(path) as fmu:
        initialize(fmu, dict.fromkeys(names(fmu, "input"), INPUT))
        for k in range(STEPS):
            fmu.doStep(k * H, H)
        return get(fmu, shown(path))


def by_script(path: Path, script: str) -> np.ndarray:
    description = read_model_description(str(path))
    inputs = [v.name for v in description.modelVariables if v.causality == "input"]
    words = json.dumps([str(path), inputs, shown(path), INPUT, STEPS])
    done = subprocess.run(
        [sys.executable, "-c", script, words], capture_output=True, text=True, timeout=600, check=False
    )
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("RESULT")] or [done.stdout + done.stderr]
    assert line.startswith("RESULT"), line
    return np.array(json.loads(line.removeprefix("RESULT")))


def by_c_host(path: Path) -> np.ndarray:
    """Its outputs are all there are, in the order of the description."""
    unzipped = extract(str(path))
    words = [host(), "save", *host_words(path, unzipped), folder() / "every.bin"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    shutil.rmtree(unzipped)
    assert done.returncode == 0, done.stderr
    values = [float.fromhex(line) for line in done.stdout.split()]
    described = read_model_description(str(path)).modelVariables
    by_name = dict(zip([v.name for v in described if v.causality == "output"], values, strict=True))
    return np.array([by_name[name] for name in shown(path)])


def shown(path: Path) -> list[str]:
    variables = read_model_description(str(path)).modelVariables
    return [v.name for v in variables if v.causality == "output" and not v.name.startswith("step.")]


def whole(path: Path, inside: dict[str, str]) -> None:
    """What is really in the FMU fits the schemas too."""
    assert validate_fmu(str(path)) == []
    with zipfile.ZipFile(path) as archive:
        for file, schema in inside.items():
            fits(schema, archive.read(file).decode())


IN_TWO = {"modelDescription.xml": "fmi2/fmi2ModelDescription.xsd"}
IN_THREE = {
    "modelDescription.xml": "fmi3/fmi3ModelDescription.xsd",
    "sources/buildDescription.xml": "fmi3/fmi3BuildDescription.xsd",
    "terminalsAndIcons/terminalsAndIcons.xml": "fmi3/fmi3TerminalsAndIcons.xsd",
}
IMPORTERS: dict[str, Any] = {
    "FMPy 2": ("FMI 2", by_fmpy),
    "FMPy 3": ("FMI 3", by_fmpy),
    "FMPy 3 scalar": ("FMI 3 scalar", by_fmpy),
    "ecos": ("FMI 2", lambda path: by_script(path, ECOS)),
    "libcosim": ("FMI 2", lambda path: by_script(path, COSIM)),
    "C host": ("FMI 2", by_c_host),
}


@pytest.mark.study
def test_importers_and_examples() -> None:
    """200 steps of 1 ms, every input at 10: how far each importer's outputs are from the engine's."""
    print(f"\n{'':18}" + "".join(f"{importer:>15}" for importer in IMPORTERS))
    far = 0.0
    for name in list_examples():
        engine = Simulation(name, compile=False)
        engine.set_inputs(np.full(len(engine.inputs), INPUT))
        for _ in range(STEPS):
            engine.step(H)
        line = ""
        for form, run in IMPORTERS.values():
            fmi, scalar = FORMS[form]
            path = exported(name, fmi, optimize=1, outputs=SHOWN, scalar=scalar)
            whole(path, IN_TWO if fmi == 2 else IN_THREE)
            wanted = engine.read(engine.variables().outputs.rows(shown(path)))
            error = float(np.max(np.abs(run(path) - wanted) / np.maximum(1, np.abs(wanted))))
            far, line = max(far, error), line + f"{error:15.1e}"
        print(f"{name:18}{line}", flush=True)
    assert far < 1e-6
