"""Write a mechanism as an FMU: the same input gives the same bytes."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..model.base.errors import CutjointError
from ..model.base.files import check_writable
from ..model.describe.mechanism import Mechanism
from ..model.loading import load
from ..native import c_compile
from ..native.c_sources import TOKEN, identifier
from ..native.plan import Plan
from ..native.variable_layout import budget, plan
from . import documentation, python_export, terminals, xml_fmi2, xml_fmi3
from .archive import content_token, write_zip
from .c_sources import sources, units_to_compile
from .reference_experiment import reference_files
from .shapes import shape_files

RUNTIMES = ("native", "python")


def export(
    mechanism: Mechanism | str,
    path: str | os.PathLike[str],
    *,
    runtime: str = "native",
    fmi: int | str = 2,
    step: float = 1e-3,
    stepper: str = "runge_kutta",
    substeps: int | None = None,
    platforms: Sequence[str] = (),
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    parameters: Sequence[str] = (),
    linear: bool = False,
    scalar: bool = False,
    exchange: bool = True,
    clocks: bool = False,
    optimize: int = 2,
    picture: bool = True,
) -> Plan:
    """Write an FMU of a mechanism and return what is in it.

    Parameters
    ----------
    mechanism : Mechanism, or the name of an example, or the path of a description.
    path : the file to write, usually ending in `.fmu`.
    runtime : "native" holds compiled C and needs nothing on the target; "python" needs Python,
        cutjoint and pythonfmu there.
    fmi : 2 (co-simulation and model exchange) or 3 (both, with adjoint derivatives); "3.0" will do.
    step : inner step of co-simulation, seconds.
    stepper : how it is taken: "runge_kutta", "single", or "implicit" for stiff mechanisms.
    substeps : shorter steps that one step may try where it has to, which bounds its cost; 1: none;
        `thresholds.FMU_SUBSTEPS` unless told, fewer than in Python, since hosts wait.
    platforms : of `c_compile.PLATFORMS`; this machine's own if empty.
    inputs, outputs, parameters : names to show, all if empty. Outputs may be patterns
        such as `body.*.position`; parameters may be paths such as `body.leg1.mass`.
    linear : show the matrices of the linear model as variables `linear.A`, `B`, `C`, `D`.
    scalar : FMI 3.0 without arrays, for importers that know none: every element is a variable, as in 2.0.
    exchange : offer model exchange beside co-simulation; without it no states, derivatives and indicators
        are shown, and a description is shorter.
    clocks : FMI 3.0: sensors with a period are clocked variables, which hosts may read only when their clock
        ticks; else they are outputs that change by time events, which every host can read.
    optimize : level of the C compiler; 0 and 1 compile faster and run slower.
    picture : draw the mechanism for the documentation page and the icon.
    """
    fmi = _offered(runtime, fmi, clocks)
    check_writable(path)
    chosen = c_compile.check_platforms(platforms) if runtime == "native" else []
    described = load(mechanism) if isinstance(mechanism, str) else mechanism
    how: dict[str, Any] = {"step": step, "stepper": stepper, "substeps": budget(stepper, substeps)}
    how |= {"inputs": inputs, "outputs": outputs, "marked": parameters, "linear": linear}
    planned = plan(described, scalar=scalar, exchange=exchange, clocks=clocks, **how)
    if runtime == "python":
        python_export.write_python_fmu(planned, Path(path), picture=picture)
        return planned
    for name in chosen:
        c_compile.compilers(name)  # before long work: is there a compiler?
    write_zip(path, contents(planned, fmi, chosen, optimize, picture))
    return planned


def _offered(runtime: str, version: int | str, clocks: bool) -> int:
    """The version of FMI, if a runtime offers it."""
    if runtime not in RUNTIMES:
        raise CutjointError(f"--runtime: '{runtime}' is not known; known: {', '.join(RUNTIMES)}")
    fmi = fmi_version(version)
    offered = (2,) if runtime == "python" else (2, 3)
    if fmi not in offered:
        words = " and ".join(map(str, offered))
        raise CutjointError(f"--fmi {fmi}: the {runtime} runtime offers FMI {words}")
    if clocks and fmi == 2:
        raise CutjointError("--clocks: FMI 2 has none; choose --fmi 3")
    return int(fmi)


def fmi_version(version: int | str) -> int | str:
    """2 or 3, also from "2.0" and "3.0"; anything else as it is."""
    return int(str(version)[0]) if str(version) in ("2", "3", "2.0", "3.0") else version


def contents(
    plan: Plan, fmi: int, platforms: Sequence[str], optimize: int, picture: bool
) -> dict[str, bytes]:
    """File name in the FMU -> bytes of a native one."""
    texts = {f"sources/{name}": text for name, text in sources(plan, fmi).items()}
    texts["modelDescription.xml"] = (xml_fmi2 if fmi == 2 else xml_fmi3).description(plan)
    if fmi == 3:
        texts["sources/buildDescription.xml"] = xml_fmi3.build_description(plan)
    result, documents = documentation.documentation(plan, fmi, picture)
    texts |= documents
    token = content_token(texts)
    texts |= reference_files(plan) | shape_files(plan)
    if fmi == 3:
        texts[f"{terminals.FOLDER}/terminalsAndIcons.xml"] = terminals.terminals(plan)
        result |= terminals.icons()
    texts = {name: text.replace(TOKEN, token) for name, text in texts.items()}
    result |= {name: text.encode() for name, text in texts.items()}
    code = {n.removeprefix("sources/"): t for n, t in texts.items() if n.startswith("sources/")}
    for name in platforms:
        where = c_compile.PLATFORMS[name]
        folder = c_compile.folder(name, platforms, fmi)
        binary = c_compile.compile_for(name, code, units_to_compile(fmi), optimize)
        result[f"binaries/{folder}/{identifier(plan.mechanism.name)}{where.ending}"] = binary
    return result
