"""Systems of FMUs: SSP 1.0 packages with connections, and parameter sets (SSV).

What an FMU has is read from its own modelDescription.xml, so that foreign ones, a controller for
instance, are packed beside ours.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.parsers.expat import ExpatError

from ...model.base.errors import CutjointError, DescriptionError
from ...model.base.units import parse_unit, quantity
from ...model.base.untrusted import check_xml, read_bytes, read_member
from ...model.describe.inputs import port_of
from ...model.describe.validation import nearest
from ..archive import write_zip
from ..xml_common import LONGEST, element, tool, xml_number, xml_text

COMMON, STRUCTURE, VALUES = (
    (short, f"http://ssp-standard.org/SSP1/SystemStructure{name}")
    for short, name in (("ssc", "Common"), ("ssd", "Description"), ("ssv", "ParameterValues"))
)
PARAMETERS = "resources/parameters.ssv"
LARGEST_XML, LARGEST_FMU = 50_000_000, 1_000_000_000  # bytes; ours have some hundred thousand
# Types of FMI 2.0 and 3.0 as SSP calls them.
TYPES = {"Real": "Real", "Float64": "Real", "Float32": "Real", "Integer": "Integer", "Int32": "Integer"}
TYPES |= {"Boolean": "Boolean", "String": "String"}
Place = tuple[str, str]  # FMU and variable


@dataclass(frozen=True)
class Connector:
    """A variable of an FMU."""

    name: str
    kind: str  # its causality
    type: str
    unit: str | None
    start: str | None


@dataclass(frozen=True)
class Component:
    """An FMU and what it can be connected by; units with their exponents."""

    path: Path
    connectors: Mapping[str, Connector]
    units: Mapping[str, Mapping[str, str]]

    def of(self, kind: str) -> list[Connector]:
        return [c for c in self.connectors.values() if c.kind == kind]


def component(path: str | os.PathLike[str]) -> Component:
    """What an FMU says of itself."""
    content = read_member(path, "modelDescription.xml", LARGEST_XML, "an FMU")
    try:
        check_xml(content)
        root = ET.fromstring(content)
    except (ValueError, LookupError, ExpatError, ET.ParseError) as problem:
        raise CutjointError(f"'{path}' is not an FMU: {problem}") from None
    connectors = {}
    for variable in root.iterfind("ModelVariables/*"):
        of = variable if variable.tag != "ScalarVariable" else next(iter(variable), variable)
        if of.tag not in TYPES or variable.find("Dimension") is not None:
            continue  # SSP 1.0 has neither arrays nor other types
        name, kind = variable.get("name", ""), variable.get("causality", "local")
        connectors[name] = Connector(name, kind, TYPES[of.tag], of.get("unit"), of.get("start"))
    units = {
        unit.get("name", ""): dict(base.attrib)
        for unit in root.iterfind("UnitDefinitions/Unit")
        if (base := unit.find("BaseUnit")) is not None
    }
    return Component(Path(path), connectors, units)


def write_ssp(
    path: str | os.PathLike[str],
    fmus: Mapping[str, str | os.PathLike[str]],
    connections: Iterable[tuple[str, str]] = (),
    values: Mapping[str, float | str] | None = None,
    name: str = "system",
) -> None:
    """Pack FMUs by name into an SSP.

    Parameters
    ----------
    path : the file to write, usually ending in `.ssp`.
    fmus : name in the system -> file of the FMU.
    connections : pairs (output, input), each said as `fmu.variable`; other inputs are left to the host.
    values : `fmu.variable` -> parameter or start value, a number or a text with a unit, instead of its own.
    name : of the system.

    Every FMU has a parameter set; one of all of them is there for importers that take only one.
    """
    parts = {key: component(fmu) for key, fmu in fmus.items()}
    joined = [(_place(parts, a, "output"), _place(parts, b, "input")) for a, b in connections]
    ends = [end for _, end in joined]
    for end in ends:
        if ends.count(end) > 1:
            raise CutjointError(f"--connect: the input '{'.'.join(end)}' is given two outputs; choose one")
    for (a, x), (b, y) in joined:
        units = parts[a].connectors[x].unit, parts[b].connectors[y].unit
        if None not in units and units[0] != units[1]:
            raise CutjointError(f"--connect: '{a}.{x}' is in {units[0]}, but '{b}.{y}' in {units[1]}")
    texts = {
        "SystemStructure.ssd": _structure(name, parts, joined),
        PARAMETERS: parameter_set(parts, values or {}),
    }
    for key, part in parts.items():
        own = {n.removeprefix(f"{key}."): x for n, x in (values or {}).items() if n.startswith(f"{key}.")}
        texts[f"resources/{key}.ssv"] = parameter_set({"": part}, own)
    packed = {file: text.encode() for file, text in texts.items()}
    write_zip(
        path,
        packed | {f"resources/{key}.fmu": read_bytes(x.path, LARGEST_FMU, "FMU") for key, x in parts.items()},
    )


def _place(parts: Mapping[str, Component], text: str, kind: str) -> Place:
    """Component and variable of `fmu.variable`."""
    of, _, variable = text.partition(".")
    if of not in parts:
        raise CutjointError(f"--connect: there is no FMU '{of}' in '{text}'; {nearest(of, parts)}")
    known = [c.name for c in parts[of].of(kind)]
    variable = port_of(variable, known) if kind == "input" else variable
    if variable not in known:
        raise CutjointError(f"--connect: '{of}' has no {kind} '{variable}'; {nearest(variable, known)}")
    return of, variable


def parameter_set(parts: Mapping[str, Component], values: Mapping[str, float | str]) -> str:
    """The text of an SSV with every parameter and start value; with one FMU called "", its own names."""
    root = _root(VALUES, "ParameterSet", "initialValues")
    group = element(root, "ssv:Parameters")
    known = {f"{key}.{c.name}" if key else c.name: c for key, x in parts.items() for c in x.of("parameter")}
    for name in values:
        if name not in known:
            raise CutjointError(f"--set: there is no parameter '{name}'; {nearest(name, known)}")
    for name, c in known.items():
        value = xml_number(_number(name, values[name], c.unit)) if name in values else c.start
        element(element(group, "ssv:Parameter", name=name), f"ssv:{c.type}", value=value, unit=c.unit)
    _units(root, "ssv", parts, "parameter")
    return xml_text(root)


def _number(name: str, given: float | str, unit: str | None) -> float:
    """A value in the unit of its variable; of units that are not SI's, a plain number."""
    known = parse_unit(unit or "1")
    try:
        value = quantity(given, unit if unit and known and known[:2] == (1, 0) else "1")
    except DescriptionError as problem:
        raise CutjointError(f"--set {name} {problem}") from None
    if not isfinite(value):
        raise CutjointError(f"--set {name} must be a finite number")
    return value


def _structure(name: str, parts: Mapping[str, Component], joined: list[tuple[Place, Place]]) -> str:
    root = _root(STRUCTURE, "SystemStructureDescription", name)
    system = element(root, "ssd:System", name=name)
    elements = element(system, "ssd:Elements")
    for key, part in parts.items():
        item = element(elements, "ssd:Component", name=key, source=f"resources/{key}.fmu")
        # FMPy takes every input that is shown for a connected one, and ecos knows no inputs of the system's
        connected = [part.connectors[y] for _, (b, y) in joined if b == key]
        shown = [*connected, *part.of("output")]
        group = element(item, "ssd:Connectors") if shown else item
        for c in shown:
            _connector(group, c.name, c)
        bindings = element(item, "ssd:ParameterBindings")
        element(bindings, "ssd:ParameterBinding", source=f"resources/{key}.ssv")
    connections = element(system, "ssd:Connections") if joined else system
    for (a, x), (b, y) in joined:
        places = {"startElement": a, "startConnector": x, "endElement": b, "endConnector": y}
        element(connections, "ssd:Connection", **places)
    _units(root, "ssd", parts, "input", "output")
    element(root, "ssd:DefaultExperiment", startTime="0.0", stopTime=xml_number(LONGEST))
    return xml_text(root)


def _connector(group: ET.Element, name: str, c: Connector) -> None:
    item = element(group, "ssd:Connector", name=name, kind=c.kind)
    element(item, f"ssc:{c.type}", unit=c.unit)


def _root(space: tuple[str, str], tag: str, name: str) -> ET.Element:
    names = {f"xmlns:{short}": place for short, place in (COMMON, space)}
    first = {"version": "1.0", "name": name, "generationTool": tool()}
    return ET.Element(f"{space[0]}:{tag}", names | first)


def _units(root: ET.Element, space: str, parts: Mapping[str, Component], *kinds: str) -> None:
    """Definitions of the units that are used; FMUs that share a name share its meaning."""
    used = {c.unit for part in parts.values() for kind in kinds for c in part.of(kind)} - {None}
    known = {name: base for part in parts.values() for name, base in part.units.items() if name in used}
    if known:
        group = element(root, f"{space}:Units")
        for name in sorted(known):
            element(element(group, "ssc:Unit", name=name), "ssc:BaseUnit", **known[name])
