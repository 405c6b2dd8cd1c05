"""`modelDescription.xml` of FMI 2.0: every element a scalar, its slot the value reference."""

from collections.abc import Callable, Iterable
from xml.etree import ElementTree as ET

from ..native.plan import FmuVariable, Plan
from .c_sources import units_to_compile
from .xml_common import changes_states, dependency_names, element, head, real, variable_element, xml_text


def description(plan: Plan, shown: list[FmuVariable] | None = None) -> str:
    """The text of the file; with `shown`, of an FMU that runs in Python and offers these variables."""
    python = shown is not None
    variables = [v for v in plan.variables if plan.listed(v)] if shown is None else shown
    common = {
        "canNotUseMemoryManagementFunctions": "true",
        "canGetAndSetFMUstate": "true",
        "canSerializeFMUstate": "true",
        "providesDirectionalDerivative": "false" if python else "true",
    }
    stepping = {**common, "canHandleVariableCommunicationStepSize": "true"}
    if python:  # pythonfmu passes no derivatives of inputs or outputs on
        interfaces = {"CoSimulation": {**stepping, "needsExecutionTool": "true"}}
    else:
        between = {"canInterpolateInputs": "true", "maxOutputDerivativeOrder": "1"}
        interfaces = {"ModelExchange": common} if plan.exchange else {}
        interfaces |= {"CoSimulation": stepping | between}
    events = str(sum(v.kind in ("margin", "kink") for v in variables))
    root = head(plan, "2.0", "guid", interfaces, numberOfEventIndicators=events)
    for interface in [] if python else list(root)[: len(interfaces)]:
        files = element(interface, "SourceFiles")
        for name in units_to_compile(2):
            element(files, "File", name=name)
    index = _variables(element(root, "ModelVariables"), variables, changes_states(plan))
    _structure(element(root, "ModelStructure"), plan, variables, index)
    return xml_text(root)


def _variables(group: ET.Element, variables: list[FmuVariable], renew: bool) -> dict[str, list[int]]:
    """Write all scalars; returns variable name -> indices of its elements, from 1."""
    index: dict[str, list[int]] = {}
    count = 0
    for variable in variables:
        if variable.kind in ("time", "hidden"):
            continue
        index[variable.name] = []
        for k, name in enumerate(variable.elements()):
            count += 1
            index[variable.name].append(count)
            scalar = variable_element(group, "ScalarVariable", name, variable.slot + k, variable)
            if variable.kind == "coordinate":
                element(scalar, "Integer")
                continue
            state = str(index[variable.name[4:-1]][k]) if variable.kind == "derivative" else None
            element(scalar, "Real", **real(variable, slice(k, k + 1), state, renew))
    return index


def _structure(group: ET.Element, plan: Plan, shown: list[FmuVariable], index: dict[str, list[int]]) -> None:
    def unknowns(
        tag: str, kinds: tuple[str, ...], known: Callable[[Plan, FmuVariable], Iterable[str]]
    ) -> None:
        variables = [v for v in shown if v.kind in kinds]
        if not variables:
            return
        inner = element(group, tag)
        rows: dict[int, str] = {}
        for variable in variables:
            on = sorted(k for name in known(plan, variable) for k in index.get(name, ()))
            rows |= dict.fromkeys(index[variable.name], " ".join(map(str, on)))
        for k in sorted(rows):
            element(inner, "Unknown", index=str(k), dependencies=rows[k])

    unknowns("Outputs", ("output", "effort"), _during)
    unknowns("Derivatives", ("derivative",), _during)
    unknowns("InitialUnknowns", ("output", "effort", "state", "derivative"), Plan.depends_at_start)


def _during(plan: Plan, variable: FmuVariable) -> list[str]:
    """What FMI 2.0 counts as known after the start: inputs and states."""
    parameters = {v.name for v in plan.of("parameter")}
    return [name for name in dependency_names(plan, variable) if name not in parameters]
