"""`modelDescription.xml` of FMI 2.0: every element a scalar, its slot the value reference."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from .c_sources import TOKEN, units_to_compile
from .plan import FmuVariable, Plan
from .xml_common import causality, common_head, dump, element, identifier, known_names, limits, number, tool


def description(plan: Plan, shown: list[FmuVariable] | None = None) -> str:
    """The text of the file; with `shown`, of an FMU that runs in Python and offers these variables."""
    mechanism = plan.mechanism
    python = shown is not None
    variables = plan.variables if shown is None else shown
    root = ET.Element(
        "fmiModelDescription",
        {
            "fmiVersion": "2.0",
            "modelName": mechanism.name,
            "guid": TOKEN,
            "description": mechanism.description,
            "generationTool": tool(),
            "variableNamingConvention": "structured",
            "numberOfEventIndicators": str(sum(v.kind == "margin" for v in variables)),
        },
    )
    common = {
        "modelIdentifier": identifier(mechanism.name),
        "canBeInstantiatedOnlyOncePerProcess": "false",
        "canNotUseMemoryManagementFunctions": "true",
        "canGetAndSetFMUstate": "true",
        "canSerializeFMUstate": "true",
        "providesDirectionalDerivative": "false" if python else "true",
    }
    interfaces = {"ModelExchange": {}, "CoSimulation": {"canHandleVariableCommunicationStepSize": "true"}}
    if python:
        interfaces = {"CoSimulation": {**interfaces["CoSimulation"], "needsExecutionTool": "true"}}
    for tag, more in interfaces.items():
        inner = element(root, tag, **common, **more)
        if not python:
            files = element(inner, "SourceFiles")
            for name in units_to_compile(2):
                element(files, "File", name=name)
    common_head(root, plan)
    index = _variables(element(root, "ModelVariables"), variables)
    _structure(element(root, "ModelStructure"), plan, variables, index)
    return dump(root)


def _variables(group: ET.Element, variables: list[FmuVariable]) -> dict[str, list[int]]:
    """Write all scalars; returns variable name -> indices of its elements, from 1."""
    index: dict[str, list[int]] = {}
    count = 0
    for variable in variables:
        if variable.kind in ("time", "hidden"):
            continue
        how, when, initial = causality(variable)
        index[variable.name] = []
        for k, name in enumerate(variable.elements()):
            count += 1
            index[variable.name].append(count)
            scalar = element(
                group,
                "ScalarVariable",
                name=name,
                valueReference=str(variable.slot + k),
                description=variable.about or None,
                causality=how,
                variability=when,
                initial=initial,
            )
            if variable.kind == "coordinate":
                element(scalar, "Integer")
                continue
            attributes = limits(variable)
            if len(set(variable.units)) > 1:
                attributes["unit"] = variable.units[k] if variable.units[k] != "1" else None
            if variable.start:
                attributes["start"] = number(variable.start[k])
            if variable.kind == "derivative":
                attributes["derivative"] = str(index[variable.name[4:-1]][k])
            element(scalar, "Real", **attributes)
    return index


def _structure(group: ET.Element, plan: Plan, shown: list[FmuVariable], index: dict[str, list[int]]) -> None:
    def unknowns(tag: str, variables: list[FmuVariable]) -> None:
        if not variables:
            return
        inner = element(group, tag)
        for variable in variables:
            known = sorted(k for name in known_names(plan, variable) for k in index.get(name, ()))
            for k in index[variable.name]:
                element(inner, "Unknown", index=str(k), dependencies=" ".join(map(str, known)))

    unknowns("Outputs", [v for v in shown if v.kind == "output"])
    unknowns("Derivatives", [v for v in shown if v.kind == "derivative"])
    initial = [v for v in shown if v.kind in ("output", "state", "derivative")]
    if initial:
        inner = element(group, "InitialUnknowns")
        for k in sorted(k for variable in initial for k in index[variable.name]):
            element(inner, "Unknown", index=str(k))
