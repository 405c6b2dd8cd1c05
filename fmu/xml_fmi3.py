"""`modelDescription.xml` and `buildDescription.xml` of FMI 3.0: vectors and matrices are arrays."""

from xml.etree import ElementTree as ET

from .c_sources import units_to_compile
from .plan import Plan, Shown
from .xml_common import described, element, head, identifier, known_names, real, renewed, xml_number, xml_text


def description(plan: Plan) -> str:
    common = {
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
        "providesDirectionalDerivatives": "true",
        "providesAdjointDerivatives": "true",
    }
    # Steps run to their end: what is absent is said to be.
    absent = ("hasEventMode", "mightReturnEarlyFromDoStep", "canReturnEarlyAfterIntermediateUpdate")
    more = dict.fromkeys((*absent, "providesEvaluateDiscreteStates"), "false")
    step = {"fixedInternalStepSize": xml_number(plan.step), "canHandleVariableCommunicationStepSize": "true"}
    step |= {"providesIntermediateUpdate": "true", "maxOutputDerivativeOrder": "1"}
    interfaces = {
        "ModelExchange": common | {"needsCompletedIntegratorStep": "true"},
        "CoSimulation": common | step | more,
    }
    root = head(plan, "3.0", "instantiationToken", interfaces)
    shown = plan.shown()
    reference: dict[str, list[str]] = {}  # of a variable: those of its elements, or its own
    for k, item in enumerate(shown):
        reference.setdefault(item.variable.name, []).append(str(k))
    _variables(element(root, "ModelVariables"), plan, shown, reference)
    _structure(element(root, "ModelStructure"), plan, reference)
    return xml_text(root)


def _variables(group: ET.Element, plan: Plan, shown: list[Shown], reference: dict[str, list[str]]) -> None:
    renew = renewed(plan)
    for k, item in enumerate(shown):
        variable = item.variable
        if variable.kind == "hidden":
            continue
        place = 0 if item.shape else item.which.start
        state = reference[variable.name[4:-1]][place] if variable.kind == "derivative" else None
        attributes = real(variable, item.which, state, renew) if variable.kind != "coordinate" else {}
        attributes |= {"intermediateUpdate": "true"} if variable.kind == "input" else {}
        tag = "Float64" if attributes else "Int32"
        described_item = described(group, tag, item.name, k, variable, **attributes)
        for size in item.shape:
            element(described_item, "Dimension", start=str(size))


def _structure(group: ET.Element, plan: Plan, reference: dict[str, list[str]]) -> None:
    for tag, kinds, known in (
        ("Output", ("output", "effort"), known_names),
        ("ContinuousStateDerivative", ("derivative",), known_names),
        ("InitialUnknown", ("output", "effort", "state", "derivative"), Plan.depends_at_start),
        ("EventIndicator", ("margin",), known_names),
    ):
        for variable in plan.of(*kinds):
            on = [x for name in known(plan, variable) for x in reference.get(name, ())]
            how = {"dependencies": " ".join(on), "dependenciesKind": " ".join(["dependent"] * len(on))}
            for own in reference[variable.name]:
                element(group, tag, valueReference=own, **how)


def build_description(plan: Plan) -> str:
    root = ET.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    build = element(root, "BuildConfiguration", modelIdentifier=identifier(plan.mechanism.name))
    files = element(build, "SourceFileSet", language="C99")
    for name in units_to_compile(3):
        element(files, "SourceFile", name=name)
    return xml_text(root)
