"""What `modelDescription.xml` of both versions shares: units, numbers, dependencies."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from math import degrees, inf, isfinite
from typing import Any
from xml.etree import ElementTree as ET

from ..model.base.thresholds import ADVISED_TOLERANCE
from ..model.base.units import parse_unit
from ..native.c_sources import LOG_CATEGORIES, TOKEN, identifier
from ..native.plan import FmuVariable, Plan

# Units of energy and power are not read from descriptions, so `base/units.py` does not know them.
_BASE = {"J": "kg.m2/s2", "W": "kg.m2/s3", "N": "kg.m/s2"}
LONGEST = 1.0  # seconds of the default experiment
_SHOWN = {"rad": "deg", "rad/s": "deg/s", "rad/s2": "deg/s2"}  # what people like to read instead


def tool(name: str = "Cutjoint", between: str = " ") -> str:
    """Our name and version."""
    try:
        return f"{name}{between}{version('cutjoint')}"
    except PackageNotFoundError:  # run from a clone that is not installed
        return name


def xml_number(value: float) -> str:
    return repr(float(value))


def element(parent: ET.Element, tag: str, **attributes: str | None) -> ET.Element:
    return ET.SubElement(parent, tag, {k: v for k, v in attributes.items() if v is not None})


def head(
    plan: Plan, fmi: str, token: str, interfaces: Mapping[str, Mapping[str, str]], **more: str
) -> ET.Element:
    """What both versions write alike: model, interfaces, units, log categories, default experiment."""
    mechanism = plan.mechanism
    first = {"fmiVersion": fmi, "modelName": mechanism.name, token: TOKEN}
    more |= {"generationTool": tool(), "variableNamingConvention": "structured"}
    root = ET.Element("fmiModelDescription", first | {"description": mechanism.description} | more)
    own = {"modelIdentifier": identifier(mechanism.name), "canBeInstantiatedOnlyOncePerProcess": "false"}
    for tag, attributes in interfaces.items():
        element(root, tag, **own, **attributes)
    _unit_definitions(root, plan)
    categories = element(root, "LogCategories")
    for name, about in LOG_CATEGORIES.items():
        element(categories, "Category", name=name, description=about)
    times = {"startTime": 0.0, "stopTime": LONGEST, "tolerance": ADVISED_TOLERANCE, "stepSize": plan.step}
    element(root, "DefaultExperiment", **{name: xml_number(x) for name, x in times.items()})
    return root


def _unit_definitions(root: ET.Element, plan: Plan) -> None:
    names = sorted({u for v in plan.variables for u in v.units if u != "1"})
    if not names:
        return
    group = ET.SubElement(root, "UnitDefinitions")
    for name in names:
        unit = element(group, "Unit", name=name)
        known = parse_unit(_BASE.get(name, name))
        assert known is not None, name
        exponents = {
            "kg": known.mass,
            "m": known.length,
            "s": known.time,
            "A": known.current,
            "rad": known.angle,
        }
        element(unit, "BaseUnit", **{k: str(v) for k, v in exponents.items() if v})
        if name in _SHOWN:
            element(unit, "DisplayUnit", name=_SHOWN[name], factor=xml_number(degrees(1.0)))


def real(variable: FmuVariable, which: slice, state: str | None, renewed: bool) -> dict[str, str | None]:
    """What is said of some elements of a variable: of which state it is the derivative, and whether it is one
    that events renew."""
    units, says = (
        set(variable.units[which]),
        variable.nominal not in (0.0, 1.0) and isfinite(variable.nominal),
    )
    unit = units.pop() if len(units) == 1 and units != {"1"} else None
    return {
        "unit": unit,
        "displayUnit": _SHOWN.get(unit) if unit else None,
        "min": xml_number(variable.low) if variable.low != -inf else None,
        "max": xml_number(variable.high) if variable.high != inf else None,
        "nominal": xml_number(variable.nominal) if says else None,
        "start": " ".join(xml_number(x) for x in variable.start[which]) or None,
        "derivative": state,
        "reinit": "true" if renewed and variable.kind == "state" else None,
    }


def causality(variable: FmuVariable) -> tuple[str, str, str | None]:
    """Causality, variability and initial."""
    return {
        "time": ("independent", "continuous", None),
        "input": ("input", "continuous", None),
        "parameter": ("parameter", "fixed" if variable.fixed else "tunable", "exact"),
        "start": ("parameter", "fixed", "exact"),
        "output": ("output", "discrete" if variable.sampled else "continuous", "calculated"),
        "effort": ("output", "discrete", "calculated"),
        "counted": ("local", "discrete", "calculated"),
        "coordinate": ("local", "discrete", "calculated"),
        "clock": ("input", "discrete", None),
    }.get(variable.kind, ("local", "continuous", "calculated"))


def variable_element(
    group: ET.Element, tag: str, name: str, reference: int | str, variable: FmuVariable, **more: Any
) -> ET.Element:
    """An element of a variable with what both versions say of it."""
    how, when, initial = causality(variable)
    same = {"description": variable.about or None, "causality": how, "variability": when, "initial": initial}
    return element(group, tag, name=name, valueReference=str(reference), **same, **more)


def dependency_names(plan: Plan, variable: FmuVariable) -> list[str]:
    """Names of the variables that an output, derivative or margin depends on."""
    names = {"position": "state.position", "speed": "state.speed", "internal": "state.internal"}
    return [names.get(word, word) for word in plan.depends(variable) if word != "speed" or plan.freedoms]


def changes_states(plan: Plan) -> bool:
    """Whether events choose other states."""
    return bool(plan.of("margin"))


def xml_text(root: ET.Element) -> str:
    ET.indent(root, "  ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
