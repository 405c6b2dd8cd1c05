"""What the tests of FMUs share: exports made once, instances, a host program."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from cutjoint import CutjointError, Simulation, load, save
from cutjoint.fmu.archive import write_zip
from cutjoint.fmu.export import contents
from cutjoint.native import c_compile
from cutjoint.native.variable_layout import Plan, plan
from fmpy import extract, read_model_description
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave
from made_once import made_once, text_of

HOST = sorted(Path(__file__).parent.glob("fmu_host*.c"))
SOME = ("joint.*.position", "joint.*.velocity", "energy", "loop.residual", "singularity.distance")

# Two tops on balls, the second one counted against the tree's direction: only balls, and fast ones.
TOPS = """
name: tops
gravity: 9.81
bodies:
  first: {mass: 2, com: [0, 0, 0.1], inertia: [0.03, 0.02, 0.01]}
  second: {mass: 1, com: [0.05, 0, 0.3], inertia: [0.004, 0.006, 0.008]}
joints:
  pivot: {type: spherical, parent: ground, child: first, at: [0, 0, 0], speed: [5, -3, 20]}
  neck: {type: spherical, parent: second, child: first, at: [0, 0, 0.2], speed: [-8, 4, 6]}
"""


@functools.cache
def folder() -> Path:
    """A place for what is exported, until the tests end."""
    made = Path(tempfile.mkdtemp(prefix="cutjoint-test-fmu-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def described(name: str) -> str:
    """An example's name, or the file of what is described above."""
    if name != "tops":
        return name
    path = folder() / "tops.yaml"
    path.write_text(TOPS)
    return str(path)


def without_limits(name: str) -> str:
    """The file of an example whose motors give whatever they are asked for."""
    path = folder() / f"unlimited_{name}.yaml"
    mechanism = load(name)
    save(replace(mechanism, motors=tuple(replace(m, limit=inf) for m in mechanism.motors)), path)
    return str(path)


@functools.cache
def planned(name: str, **options: Any) -> Plan:
    return plan(load(name), **({"outputs": SOME} | options))


@functools.cache
def exported(
    name: str, fmi: int = 2, optimize: int = 0, platforms: tuple[str, ...] = (), **options: Any
) -> Path:
    """An FMU of an example, made once for all tests; compiled without care for speed."""

    def make(path: Path) -> None:
        made = contents(planned(name, **options), fmi, c_compile.check_platforms(platforms), optimize, False)
        write_zip(path, made)

    told = sorted(({"outputs": SOME} | options).items())
    return made_once(make, ".fmu", text_of(name), fmi, optimize, platforms, told)


@contextmanager
def instance(
    path: Path, exchange: bool = False, log: Any = None, logging: bool = True, **how: Any
) -> Iterator[Any]:
    """An instance of FMPy's that has not been initialized, with `description` and `refs` on it."""
    description = read_model_description(str(path))
    is3 = description.fmiVersion.startswith("3")
    kind = {(0, 0): FMU2Slave, (0, 1): FMU2Model, (1, 0): FMU3Slave, (1, 1): FMU3Model}[is3, exchange]
    unzipped = extract(str(path))
    fmu = kind(
        guid=description.guid,
        unzipDirectory=unzipped,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="test",
    )
    callbacks = dict(how)
    if log is not None:
        callbacks |= {"logMessage": three_logger(log)} if is3 else {"callbacks": two_callbacks(log)}
    fmu.instantiate(loggingOn=log is not None and logging, **callbacks)
    fmu.description, fmu.is3 = description, is3
    fmu.refs = {v.name: v.valueReference for v in description.modelVariables}
    fmu.sizes = {v.name: size(v) for v in description.modelVariables}
    try:
        yield fmu
    finally:
        fmu.freeInstance()
        shutil.rmtree(unzipped, ignore_errors=True)


def size(variable: Any) -> int:
    return int(np.prod([int(d.start) for d in variable.dimensions], dtype=int)) if variable.dimensions else 1


def two_callbacks(log: Any) -> Any:
    from fmpy.fmi2 import fmi2CallbackFunctions, fmi2CallbackLoggerTYPE

    callbacks = fmi2CallbackFunctions()
    callbacks.logger = fmi2CallbackLoggerTYPE(
        lambda env, name, status, category, message: log.append((status, category.decode(), message.decode()))
    )
    return callbacks


def three_logger(log: Any) -> Any:
    def tell(environment: Any, status: int, category: bytes, message: bytes) -> None:
        log.append((status, category.decode(), message.decode()))

    return tell


def initialize(fmu: Any, values: dict[str, Any] | None = None) -> None:
    if fmu.is3:
        fmu.enterInitializationMode(startTime=0.0)
    else:
        fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
    put(fmu, values or {})
    fmu.exitInitializationMode()


def put(fmu: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        numbers = np.atleast_1d(value).tolist()
        (fmu.setFloat64 if fmu.is3 else fmu.setReal)([fmu.refs[name]], numbers)


def get(fmu: Any, names: list[str]) -> np.ndarray:
    references = [fmu.refs[name] for name in names]
    if fmu.is3:
        return np.array(fmu.getFloat64(references, sum(fmu.sizes[name] for name in names)))
    return np.array(fmu.getReal(references))


def names(fmu: Any, causality: str) -> list[str]:
    return [v.name for v in fmu.description.modelVariables if v.causality == causality]


def values_by_name(simulation: Simulation, wanted: list[str]) -> np.ndarray:
    """The engine's outputs under an FMU's names, elements one after another."""
    return simulation.read(simulation.variables().outputs.rows(wanted))


def some_inputs(name: str) -> list[float]:
    """Inputs that nearly hold a mechanism at its start, where there are any, so that it moves gently."""
    simulation = Simulation(name, compile=False)
    try:
        held = simulation.inverse_dynamics()
    except CutjointError:
        held = np.zeros(len(simulation.inputs))
    return [float(x) * 1.01 + 0.05 * (k + 1) for k, x in enumerate(held)]


@functools.cache
def host() -> Path:
    """The host program, compiled once; raises if there is no compiler."""

    def make(path: Path) -> None:
        subprocess.run(["cc", "-O2", "-o", path, *HOST, "-ldl", "-lpthread", "-lm"], check=True)

    return made_once(make, "", "fmu_host")


def host_words(path: Path, unzipped: str) -> list[str]:
    """Library, GUID, inputs and outputs of an FMI 2.0 FMU as the host takes them."""
    description = read_model_description(str(path))
    references = {
        kind: ",".join(str(v.valueReference) for v in description.modelVariables if v.causality == kind)
        or "-"
        for kind in ("input", "output")
    }
    (library,) = Path(unzipped, "binaries", "linux64").glob("*.so")
    return [str(library), description.guid, references["input"], references["output"]]


def run_host(*words: Any, **options: Any) -> dict[str, float]:
    """What the host printed, as numbers by name."""
    done = subprocess.run(
        [host(), *map(str, words)], capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return {
        k: float(v) for k, v in (line.split() for line in done.stdout.splitlines() if "passed" not in line)
    }
