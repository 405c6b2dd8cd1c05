"""The C of a native FMU: traced functions as CasADi writes them, and tables for the core.

Names from a description reach the C only inside string literals, escaped.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from importlib.resources import files

import casadi as ca

from ..model import thresholds
from ..model.compile.c_pieces import split_functions
from ..model.describe.mechanism import Motor, Strut
from ..model.equations.prescribed import motion_rates
from ..model.equations.sampling import sampled
from ..model.manifold.step import LEFT_OPEN, VERDICT
from ..model.run.assembly import described_speeds, start_guess
from .functions import functions, native_functions
from .plan import Plan, wanted_speeds
from .sampled import memory, sampled_rows

TOKEN = "{00000000-0000-0000-0000-000000000000}"  # stands where the hash of the content will be
WRITTEN = (
    "core.c",
    "samples.c",
    "chart.c",
    "linear.c",
    "numeric.c",
    "step_fast.c",
)  # and one of fmi2.c, fmi3.c
OF_PAGES = (
    "core.c",
    "samples.c",
    "linear.c",
    "numeric.c",
    "page.c",
)  # of a web page, which only steps and draws
# Of a native library, and of a loop around it; the linker drops what refers to more here too.
OF_NATIVE = (*WRITTEN, "native.c", "native_servo.c")
OF_LOOPS = (
    *(f"loop_{part}.c" for part in ("main", "options", "time", "histogram", "report", "measure", "record")),
    *(f"loop_{part}.c" for part in ("gate", "drive", "udp", "shared", "can")),
    "sha256.c",
)
NATIVE_HEADERS = ("core.h", "native.h", "native_inside.h", "loop.h")
FARTHEST = sys.float_info.max  # C has no word for infinity
STARTING = (
    "cj_assembly",
    "cj_start_speeds",
    "cj_lifted",
)  # of what stands beside derivatives, for its pieces
DRAWN = (
    *("cj_outputs", "cj_jacobian", "cj_allowed", "cj_opened", "cj_moved_inputs"),
    *("cj_told_samples", "cj_upcoming", "cj_seated"),
)
LOG_CATEGORIES = {
    "logStatusError": "what went wrong and what to do about it",
    "logStatusWarning": "steps that are too coarse, or had two ways to go on",
    "logEffort": "what a step may cost, and sub-steps where they were tried",
    "logStatusDiscard": "steps that could not be done and left the state as it was",
    "logNonlinearSystems": "how the loops were closed at the start",
    "logDynamicStateSelection": "when other independent coordinates are chosen",
}
# What CasADi adds for its own loader; the core knows sizes and memory itself.
_ASIDE = "alloc_mem|init_mem|free_mem|checkout|release|incref|decref|n_in|n_out|default_in|name_in|name_out"
_ASIDE = (
    rf"cj_\w+_(?:{_ASIDE}|sparsity_in|sparsity_out|work|work_bytes)|\w+_casadi_(?:version|int_size|real_size)"
)
_TYPE = r"(?:const )?(?:int|void|char|casadi_int|casadi_real)\*?"
_EXTRAS = re.compile(
    rf"^{_TYPE} (?:{_ASIDE})\([^\n]*\{{(?:[^\n]*\}}\n|\n.*?^\}}\n)", re.MULTILINE | re.DOTALL
)
# The pieces of long functions are kept apart where the compiler knows how; functions have arguments and
# helpers that not all of them use.
_UNUSED = "".join(
    f'#pragma GCC diagnostic ignored "-Wunused-{what}"\n'
    for what in ("parameter", "function", "const-variable")
)
_PLAIN = f'#include "names.h"\n#if defined(__GNUC__)\n{_UNUSED}#else\n#define __attribute__(x)\n#endif\n'
_HELPERS = re.compile(rf"^(?={_TYPE} casadi_\w+\()", re.MULTILINE)


def sources(plan: Plan, fmi: int) -> dict[str, str]:
    """File name -> text of everything in `sources/`; the token is still `TOKEN`."""
    groups = functions(plan, adjoint=fmi == 3)
    texts = _texts(plan, (*WRITTEN, f"fmi{fmi}.c", "core.h", "calls.h"), groups, fmi)
    texts |= {file: generated(file, group) for file, group in groups.items()}
    return texts | ({"variables.h": _variables(plan)} if fmi == 3 else {})


def page_sources(plan: Plan) -> tuple[dict[str, str], list[str]]:
    """The same for a web page, and which of the files are compiled; the linker drops what refers to more."""
    groups = functions(plan, adjoint=False)
    texts = _texts(plan, (*OF_PAGES, "core.h"), groups, 2)
    texts["step.c"] = generated("step.c", groups["step.c"])
    texts["kernels.c"] = generated("kernels.c", [f for f in groups["kernels.c"] if f.name() in DRAWN])
    return texts, [name for name in texts if name.endswith(".c")]


def native_sources(plan: Plan) -> dict[str, str]:
    """The same for a native library and a native loop."""
    groups, more = functions(plan, adjoint=False), native_functions(plan)
    texts = _texts(plan, (*OF_NATIVE, *OF_LOOPS, *NATIVE_HEADERS), groups | more, 2)
    started = [f for f in groups["derivatives.c"] if f.name() in STARTING]
    made = {"step.c": groups["step.c"], "kernels.c": groups["kernels.c"] + started} | more
    return texts | {file: generated(file, group) for file, group in made.items()}


def _texts(
    plan: Plan, written: Iterable[str], groups: Mapping[str, list[ca.Function]], fmi: int
) -> dict[str, str]:
    """Files as they are written, and the headers that fit them to the mechanism."""
    traced = [f for group in groups.values() for f in group]
    texts = {name: (files(__package__) / "c" / name).read_text("utf-8") for name in written}
    declared = re.findall(r"^[\w* ]+\b(cj_\w+)\(", texts["core.h"], re.MULTILINE)
    texts["names.h"] = _names(fmi, [*declared, *_called(traced)])
    return texts | {"sizes.h": _sizes(plan, traced, fmi), "tables.h": _tables(plan, traced)}


def generated(file: str, group: Iterable[ca.Function]) -> str:
    generator = ca.CodeGenerator(file, {"with_header": False, "with_export": False})
    for function in group:
        generator.add(function)
    return _PLAIN + split_functions(_HELPERS.sub("static ", _EXTRAS.sub("", generator.dump())))


def _called(traced: list[ca.Function]) -> list[str]:
    return [*(f.name() for f in traced), *(f"cj_{name}_fast" for name in ("step", "dynamics", "sampling"))]


def _names(fmi: int, names: Iterable[str]) -> str:
    """Every name that a linker sees follows the standard's prefix: FMUs can be linked into one program."""
    given = f"FMI{fmi}_FUNCTION_PREFIX"
    lines = [
        "/* Names that a linker sees; a prefix keeps those of several FMUs in one program apart. */",
        "#ifndef CUTJOINT_NAMES_H\n#define CUTJOINT_NAMES_H",
        f"#if defined({given}) && !defined(FMI{fmi}_OVERRIDE_FUNCTION_PREFIX)",
        f"#define CJ_PREFIX {given}\n#else\n#define CJ_PREFIX\n#endif",
        "#define CJ_PASTED(prefix, name) prefix##name",
        "#define CJ_PASTE(prefix, name) CJ_PASTED(prefix, name)",
        *(f"#define {name} CJ_PASTE(CJ_PREFIX, {name})" for name in names),
        "#endif",
    ]
    return "\n".join([*lines, ""])


def units_to_compile(fmi: int) -> list[str]:
    traced = ("kernels.c", "derivatives.c", "step.c", *(("adjoint.c",) if fmi == 3 else ()))
    return [*WRITTEN, f"fmi{fmi}.c", *traced]


def _sizes(plan: Plan, traced: list[ca.Function], fmi: int) -> str:
    tree, sensed, told = plan.simulation.tree, memory(plan), sampled_rows(plan)
    linear = sum(v.size for v in plan.of("linear"))
    numbers = {
        "NQ": tree.nq,
        "NV": tree.nv,
        "NU": len(plan.mechanism.inputs()),
        "NP": plan.simulation.p.size,
        "NPARAMETER": plan.simulation.p.size - plan.simulation.engine.motion_count,
        "NMOTION": plan.simulation.engine.motion_count,
        "NM": tree.row_count,
        "NR": plan.ranks.speeds,
        "NF": plan.coordinates,
        "NS": plan.freedoms,
        "NI": tree.nz,
        "NSENSED": len(sensed),
        "NSAMPLED": len(told),
        "NTOLD": sum(len(part.steps) for part in sampled(plan.mechanism)),
        "NX": plan.coordinates + plan.freedoms + tree.nz,
        "NY": len(plan.traced_rows),
        "NZ": len(plan.of("margin")),
        "NLOOPS": len(tree.rows),
        "NSIGMA": len(plan.rows) - len(plan.traced_rows),
        "NLINEAR": linear,
        "NLINEAR_ROWS": len(plan.linear_rows) if linear else 0,
        "NVARIABLES": len(plan.shown()),
        **{f"SLOT_{kind.upper()}": first for kind, first in plan.first.items()},
        "NVERDICT": len(VERDICT),
        "UNSETTLED": VERDICT.index("unsettled"),
        "TWO_WAYS": VERDICT.index("undecided"),
        "LEFT_OPEN": LEFT_OPEN,
        "TRIES": VERDICT.index("tries"),
        "WORST": plan.simulation.stepping.worst,
        "MOST_TRIES": plan.simulation.stepping.tries,
        "CJ_STEP": repr(plan.step),
        "SLOT_END": plan.slots,
        "HAS_ADJOINT": int(fmi == 3),
        "NCATEGORIES": len(LOG_CATEGORIES),
        **{
            f"SIZE_{x.upper()}": max(getattr(f, f"sz_{x}")() for f in traced)
            for x in ("arg", "res", "iw", "w")
        },
        "CJ_TOKEN": f'"{TOKEN}"',
    }
    lines = [f"#define {name} {value}" for name, value in numbers.items()]
    return "/* Sizes of this mechanism, written at export. */\n" + "\n".join([*lines, ""])


def _tables(plan: Plan, traced: list[ca.Function]) -> str:
    tree, state, told = plan.simulation.tree, plan.simulation.state, sampled_rows(plan)
    joint_of_q, joint_of_v = (
        [k for k, where in enumerate(of.values()) for _ in range(where.start, where.stop)]
        for of in (tree.q, tree.v)
    )
    joint_of_q += [-1] * tree.nz
    q_of_v = [-1] * tree.nv
    for move, link in tree.moves:
        if move.plain:
            q_of_v[link.v.start] = link.q.start
    limits = [
        plan.mechanism.joint(name).limits for name, at in tree.q.items() for _ in range(at.start, at.stop)
    ]
    distance = plan.simulation.variables().outputs.find("singularity.distance").where.start
    doubles: dict[str, Iterable[float]] = {
        "initial_q": state.q,
        "initial_v": state.v,
        "lowest_q": [max(low, -FARTHEST) for low, _ in limits],
        "highest_q": [min(high, FARTHEST) for _, high in limits],
        "guess_q": start_guess(plan.simulation.engine),
        "default_speed": wanted_speeds(plan),
        "default_p": plan.simulation.p,
        "default_u": state.u,
        "nothing_sensed": memory(plan),
    }
    moving = plan.simulation.motions
    integers: dict[str, Iterable[int]] = {
        "given_speed": [list(tree.q)[k] in described_speeds(plan.simulation.engine) for k in joint_of_v],
        "motion_input": moving,
        "motion_of_input": [moving.index(k) if k in moving else -1 for k in range(state.u.size)],
        "motion_rate": motion_rates(plan.mechanism),
        "fixed_p": [v.fixed for v in plan.of("parameter") for _ in range(v.size)],
        "joint_of_q": joint_of_q,
        "joint_of_v": joint_of_v,
        "q_of_v": q_of_v,
        "loop_first": [rows.start for rows in tree.rows.values()],
        "loop_rows": [rows.stop - rows.start for rows in tree.rows.values()],
        "linear_rows": plan.linear_rows,
        "sampled_y": [at for at, _ in told],
        "sampled_from": [number for _, number in told],
        "sigma_is_rank": [row > distance for row in plan.rows if row >= distance],
    }
    fields = [
        (name, entry.at.field, k)
        for v, entry in zip(plan.of("parameter"), plan.simulation.equations.parameters, strict=True)
        for name, k in zip(v.elements(), entry.at.indices, strict=True)
    ]
    texts = {
        "log_categories": list(LOG_CATEGORIES),
        "names_p": [name for name, *_ in fields],
        "alone_p": [field.rule(k) for _, field, k in fields],
        "together_p": [field.together for _, field, _ in fields],
    }
    names = [
        quoted(f"the loop closed by joint '{cut.name}' ({cut.parent} to {cut.child})") for cut in tree.cuts
    ]
    names += [quoted(f"the coupling '{tie.name}' of joint '{tie.joint}'") for tie in tree.couplings]
    names += [quoted(_driven(item)) for item in tree.driven]
    parts = [
        "/* What is known of this mechanism at export. */",
        *(
            f"#define {name} {getattr(thresholds, name)!r}"
            for name in ("RANK", "ROUGHLY", "ROUNDED", "SAME_TIME")
        ),
        "#if defined(__GNUC__)\n#define CJ_TABLE static const __attribute__((unused))",
        "#else\n#define CJ_TABLE static const\n#endif",
        *(f"int {name}(const double**, double**, long long int*, double*, int);" for name in _called(traced)),
        *(_array("double", name, (repr(float(x)) for x in values)) for name, values in doubles.items()),
        *(_array("int", name, (str(int(x)) for x in values)) for name, values in integers.items()),
        _array("char* const", "loop_names", names),
        *(_array("char* const", name, map(quoted, values)) for name, values in texts.items()),
    ]
    return "\n".join([*parts, ""])


def _driven(item: Motor | Strut) -> str:
    if isinstance(item, Strut):
        return f"the length of cylinder '{item.name}'"
    return f"the motion of motor '{item.name}' at joint '{item.joint}'"


def _array(kind: str, name: str, texts: Iterable[str]) -> str:
    return f"CJ_TABLE {kind} {name}[] = {{{', '.join(texts) or '0'}}};"


def _variables(plan: Plan) -> str:
    rows = "".join(
        f"    {{{x.slot}, {x.size}, {int(x.variable.kind == 'coordinate')}}},\n" for x in plan.shown()
    )
    about = "/* Value reference -> first slot, number of slots, whether it is an integer. */\n"
    return f"{about}static const struct {{ unsigned slot, count, integer; }} variables[] = {{\n{rows}}};\n"


def quoted(text: str) -> str:
    """A C string literal of any text: bytes that could end or change it are written in octal."""
    plain = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,:;()'-+")
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'
