"""`modelDescription.xml` and `buildDescription.xml` of FMI 3.0: vectors and matrices are arrays."""

from xml.etree import ElementTree as ET

from ..native.c_sources import identifier
from ..native.plan import FmuVariable, Plan, Shown
from .c_sources import units_to_compile
from .xml_common import (
    changes_states,
    dependency_names,
    element,
    head,
    real,
    variable_element,
    xml_number,
    xml_text,
)


def description(plan: Plan) -> str:
    common = {
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
        "providesDirectionalDerivatives": "true",
        "providesAdjointDerivatives": "true",
    }
    events = ("hasEventMode", "mightReturnEarlyFromDoStep", "canReturnEarlyAfterIntermediateUpdate")
    more = dict.fromkeys(events, "true") | {"providesEvaluateDiscreteStates": "false"}
    step = {"fixedInternalStepSize": xml_number(plan.step), "canHandleVariableCommunicationStepSize": "true"}
    step |= {"providesIntermediateUpdate": "true", "maxOutputDerivativeOrder": "1"}
    interfaces = {
        "ModelExchange": common | {"needsCompletedIntegratorStep": "true"},
        "CoSimulation": common | step | more,
    }
    if not plan.exchange:
        del interfaces["ModelExchange"]
    root = head(plan, "3.0", "instantiationToken", interfaces)
    shown = plan.shown()
    reference: dict[str, list[str]] = {}  # of a variable: those of its elements, or its own
    for k, item in enumerate(shown):
        if plan.listed(item.variable):
            reference.setdefault(item.variable.name, []).append(str(k))
    _variables(element(root, "ModelVariables"), plan, shown, reference)
    _structure(element(root, "ModelStructure"), plan, reference)
    return xml_text(root)


def _variables(group: ET.Element, plan: Plan, shown: list[Shown], reference: dict[str, list[str]]) -> None:
    renew = changes_states(plan)
    for k, item in enumerate(shown):
        variable = item.variable
        if not plan.listed(variable):
            continue
        if variable.kind == "clock":
            tick = plan.ticks[variable.slot - plan.first["clock"]]
            when = {"intervalDecimal": xml_number(tick.period), "shiftDecimal": xml_number(tick.shift)}
            variable_element(group, "Clock", item.name, k, variable, intervalVariability="constant", **when)
            continue
        place = 0 if item.shape else item.which.start
        state = reference[variable.name[4:-1]][place] if variable.kind == "derivative" else None
        attributes = real(variable, item.which, state, renew) if variable.kind != "coordinate" else {}
        attributes |= {"intermediateUpdate": "true"} if variable.kind == "input" else {}
        by = [x for name in clock_names(plan, variable) for x in reference[name]]
        attributes |= {"clocks": " ".join(by) or None}
        tag = "Float64" if variable.kind != "coordinate" else "Int32"
        described_item = variable_element(group, tag, item.name, k, variable, **attributes)
        for size in item.shape:
            element(described_item, "Dimension", start=str(size))


def _structure(group: ET.Element, plan: Plan, reference: dict[str, list[str]]) -> None:
    for tag, kinds, known in (
        ("Output", ("output", "effort"), _known_of_outputs),
        ("ContinuousStateDerivative", ("derivative",), dependency_names),
        ("InitialUnknown", ("output", "effort", "state", "derivative"), Plan.depends_at_start),
        ("EventIndicator", ("margin", "kink"), dependency_names),
    ):
        for variable in filter(plan.listed, plan.of(*kinds)):
            if tag == "InitialUnknown" and clock_names(plan, variable):
                continue  # it has no value before its first tick
            on = [x for name in known(plan, variable) for x in reference.get(name, ())]
            how = {"dependencies": " ".join(on), "dependenciesKind": " ".join(["dependent"] * len(on))}
            for own in reference[variable.name]:
                element(group, tag, valueReference=own, **how)


def clock_names(plan: Plan, variable: FmuVariable) -> list[str]:
    """The clock by which a sensor tells something new, if clocks are shown."""
    pairs = zip(plan.of("clock"), plan.ticks, strict=True)
    return [clock.name for clock, tick in pairs if variable.name in tick.names]


def _known_of_outputs(plan: Plan, variable: FmuVariable) -> list[str]:
    return dependency_names(plan, variable) + clock_names(plan, variable)


def build_description(plan: Plan) -> str:
    root = ET.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    build = element(root, "BuildConfiguration", modelIdentifier=identifier(plan.mechanism.name))
    files = element(build, "SourceFileSet", language="C99")
    for name in units_to_compile(3):
        element(files, "SourceFile", name=name)
    element(build, "Library", name="m", external="true", description="the mathematics of C")
    return xml_text(root)
