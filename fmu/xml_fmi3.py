"""`modelDescription.xml` and `buildDescription.xml` of FMI 3.0: vectors and matrices are arrays."""

from xml.etree import ElementTree as ET

from .c_sources import units_to_compile
from .plan import Plan
from .xml_common import described, element, head, identifier, known_names, real, renewed, xml_number, xml_text


def description(plan: Plan) -> str:
    common = {
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
        "providesDirectionalDerivatives": "true",
        "providesAdjointDerivatives": "true",
    }
    # Steps run to their end and inputs are held meanwhile: what is absent is said to be.
    absent = ("hasEventMode", "mightReturnEarlyFromDoStep", "canReturnEarlyAfterIntermediateUpdate")
    more = dict.fromkeys((*absent, "providesIntermediateUpdate", "providesEvaluateDiscreteStates"), "false")
    step = {"fixedInternalStepSize": xml_number(plan.step), "canHandleVariableCommunicationStepSize": "true"}
    interfaces = {
        "ModelExchange": common | {"needsCompletedIntegratorStep": "true"},
        "CoSimulation": common | step | more,
    }
    root = head(plan, "3.0", "instantiationToken", interfaces)
    reference = {v.name: str(k) for k, v in enumerate(plan.variables)}
    _variables(element(root, "ModelVariables"), plan, reference)
    _structure(element(root, "ModelStructure"), plan, reference)
    return xml_text(root)


def _variables(group: ET.Element, plan: Plan, reference: dict[str, str]) -> None:
    renew = renewed(plan)
    for variable in plan.variables:
        if variable.kind == "hidden":
            continue
        state = reference[variable.name[4:-1]] if variable.kind == "derivative" else None
        attributes = real(variable, slice(None), state, renew) if variable.kind != "coordinate" else {}
        tag = "Float64" if attributes else "Int32"
        item = described(group, tag, variable.name, reference[variable.name], variable, **attributes)
        for size in variable.shape:
            element(item, "Dimension", start=str(size))


def _structure(group: ET.Element, plan: Plan, reference: dict[str, str]) -> None:
    for tag, kinds, known in (
        ("Output", ("output",), known_names),
        ("ContinuousStateDerivative", ("derivative",), known_names),
        ("InitialUnknown", ("output", "state", "derivative"), Plan.depends_at_start),
        ("EventIndicator", ("margin",), known_names),
    ):
        for variable in plan.of(*kinds):
            on = [reference[name] for name in known(plan, variable) if name in reference]
            how = {"dependencies": " ".join(on), "dependenciesKind": " ".join(["dependent"] * len(on))}
            element(group, tag, valueReference=reference[variable.name], **how)


def build_description(plan: Plan) -> str:
    root = ET.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    build = element(root, "BuildConfiguration", modelIdentifier=identifier(plan.mechanism.name))
    files = element(build, "SourceFileSet", language="C99")
    for name in units_to_compile(3):
        element(files, "SourceFile", name=name)
    return xml_text(root)
