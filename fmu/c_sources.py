"""The C of a native FMU: FMI's entry points around the core and the traced functions."""

from .. import native
from ..native.c_sources import CORE, c_files, fit_sources, generate_c
from ..native.functions import functions
from ..native.plan import Plan


def sources(plan: Plan, fmi: int) -> dict[str, str]:
    """File name -> text of everything in `sources/`; the token is still `TOKEN`."""
    groups = functions(plan, adjoint=fmi == 3)
    written = c_files(native.__name__, *CORE, "core.h") | c_files(
        __package__, f"fmi{fmi}.c", "entry_points.h"
    )
    texts = fit_sources(plan, written, groups, fmi)
    texts |= {file: generate_c(file, group) for file, group in groups.items()}
    return texts | ({"variables.h": _variables(plan)} if fmi == 3 else {})


def units_to_compile(fmi: int) -> list[str]:
    traced = ("kernels.c", "derivatives.c", "step.c", *(("adjoint.c",) if fmi == 3 else ()))
    return [*CORE, f"fmi{fmi}.c", *traced]


def _variables(plan: Plan) -> str:
    types = {"coordinate": "AN_INTEGER", "clock": "A_CLOCK"}
    rows = "".join(
        f"    {{{x.slot}, {x.size}, {types.get(x.variable.kind, 'A_FLOAT')}}},\n" for x in plan.shown()
    )
    about = "/* Value reference -> first slot, number of slots, type. */\n"
    about += "enum { A_FLOAT, AN_INTEGER, A_CLOCK };\n"
    return f"{about}static const struct {{ unsigned slot, count, type; }} variables[] = {{\n{rows}}};\n"
