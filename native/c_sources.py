"""The C of a mechanism: traced functions as CasADi writes them, and tables for the core.

Names from a description reach the C only inside string literals, escaped.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from importlib.resources import files

import casadi as ca

from ..model.base import thresholds
from ..model.compile.c_pieces import split_functions
from ..model.compile.casadi_c import generate, without_loader
from ..model.describe.mechanism import Motor, Strut
from ..model.equations.motion_drives import motion_rates
from ..model.equations.sampled_sensors import sampled_groups
from ..model.manifold.closing import described_speeds
from ..model.manifold.gaps import what_closes
from ..model.manifold.step import LEFT_OPEN, STEP_INFO
from ..model.run.assembly import start_guess
from .functions import functions, native_functions
from .plan import Plan
from .sampled_rows import memory, sampled_rows
from .variable_layout import kinks, wanted_speeds

TOKEN = "{00000000-0000-0000-0000-000000000000}"  # stands where the hash of the content will be
CORE = ("core.c", "values.c", "samples.c", "events.c", "chart.c", "linear.c", "svd.c", "step_fast.c")
# Of a native library; the linker drops what refers to more.
OF_NATIVE = (*CORE, "native.c", "native_commands.c", "native_servo.c")
NATIVE_HEADERS = ("core.h", "native.h", "native_inside.h")
FARTHEST = sys.float_info.max  # C has no word for infinity
STARTING = (
    "cj_assembly",
    "cj_start_speeds",
    "cj_lifted",
)  # of what stands beside derivatives, for its pieces
LOG_CATEGORIES = {
    "logStatusError": "what went wrong and what to do about it",
    "logStatusWarning": "steps that are too coarse, or had two ways to go on",
    "logEffort": "what a step may cost, and sub-steps where they were tried",
    "logStatusDiscard": "steps that could not be done and left the state as it was",
    "logNonlinearSystems": "how the loops were closed at the start",
    "logDynamicStateSelection": "when other independent coordinates are chosen",
}
# The pieces of long functions are kept apart where the compiler knows how; functions have arguments and
# helpers that not all of them use.
_UNUSED = "".join(
    f'#pragma GCC diagnostic ignored "-Wunused-{what}"\n'
    for what in ("parameter", "function", "const-variable")
)
_PLAIN = f'#include "names.h"\n#if defined(__GNUC__)\n{_UNUSED}#else\n#define __attribute__(x)\n#endif\n'


def native_sources(plan: Plan) -> dict[str, str]:
    """File name -> text of everything that a native library is compiled from."""
    groups, more = functions(plan, adjoint=False), native_functions(plan)
    texts = fit_sources(plan, c_files(__package__, *OF_NATIVE, *NATIVE_HEADERS), groups | more, 2)
    started = [f for f in groups["derivatives.c"] if f.name() in STARTING]
    made = {"step.c": groups["step.c"], "kernels.c": groups["kernels.c"] + started} | more
    return texts | {file: generate_c(file, group) for file, group in made.items()}


def c_files(package: str | None, *names: str) -> dict[str, str]:
    """Name -> text of C files that stand in the folder `c/` of a package."""
    assert package
    return {name: (files(package) / "c" / name).read_text("utf-8") for name in names}


def fit_sources(
    plan: Plan, texts: Mapping[str, str], groups: Mapping[str, list[ca.Function]], fmi: int
) -> dict[str, str]:
    """Files as they are written, with core.h, and the headers that fit them to the mechanism."""
    traced = [f for group in groups.values() for f in group]
    texts = dict(texts)
    declared = re.findall(r"^[\w* ]+\b(cj_\w+)\(", texts["core.h"], re.MULTILINE)
    texts["names.h"] = _names(fmi, [*declared, *_called(traced)])
    return texts | {"sizes.h": _sizes(plan, traced, fmi), "tables.h": _tables(plan, traced)}


def generate_c(file: str, group: Iterable[ca.Function]) -> str:
    return _PLAIN + split_functions(without_loader(generate(group, file, with_export=False)), on_stack=False)


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


def _sizes(plan: Plan, traced: list[ca.Function], fmi: int) -> str:
    tree, sensed, told = plan.simulation.tree, memory(plan), sampled_rows(plan)
    linear = sum(v.size for v in plan.of("linear"))
    numbers = {
        "NQ": tree.nq,
        "NV": tree.nv,
        "NU": len(plan.mechanism.inputs()),
        "NP": plan.simulation.p.size,
        "NTREE": len(tree.q),
        "NMOTION": len(plan.simulation.motions),
        "NM": tree.row_count,
        "NR": plan.ranks.speeds,
        "NF": plan.coordinates,
        "NS": plan.freedoms,
        "NI": tree.nz,
        "NSENSED": len(sensed),
        "NSAMPLED": len(told),
        "NTOLD": sum(len(part.steps) for part in sampled_groups(plan.mechanism)),
        "NX": plan.coordinates + plan.freedoms + tree.nz,
        "NY": len(plan.traced_rows),
        "NCHART": len(plan.of("margin")),
        "NKINKS": len(plan.of("kink")),
        "NZ": len(plan.of("margin", "kink")),
        "NLOOPS": len(tree.rows),
        "NSIGMA": len(plan.rows) - len(plan.traced_rows),
        "NLINEAR": linear,
        "NLINEAR_ROWS": len(plan.linear_rows) if linear else 0,
        "NVARIABLES": len(plan.shown()),
        "NCLOCKS": len(plan.ticks),
        **{f"SLOT_{kind.upper()}": first for kind, first in plan.first.items()},
        "NSTEP_INFO": len(STEP_INFO),
        "UNSETTLED": STEP_INFO.index("unsettled"),
        "BIFURCATION": STEP_INFO.index("undecided"),
        "LEFT_OPEN": LEFT_OPEN,
        "TRIES": STEP_INFO.index("tries"),
        "WORST": plan.simulation.stepping.worst,
        "MOST_TRIES": plan.simulation.stepping.tries,
        "CJ_STEP": repr(plan.step),
        "SLOT_END": plan.slots,
        "HAS_ADJOINT": int(fmi == 3),
        "HAS_EXCHANGE": int(plan.exchange),
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
    tree = plan.simulation.tree
    names = [quote(what_closes(plan.mechanism, name)) for name in tree.cut_names]
    names += [quote(f"the coupling '{tie.name}' of joint '{tie.joint}'") for tie in tree.couplings]
    names += [quote(_driven(item)) for item in tree.driven]
    called = _called(traced)
    parts = [
        "/* What is known of this mechanism at export. */",
        *(
            f"#define {name} {getattr(thresholds, name)!r}"
            for name in ("RANK", "ROUGHLY", "ROUNDED", "SAME_TIME", "SAMPLED")
        ),
        "#if defined(__GNUC__)\n#define CJ_TABLE static const __attribute__((unused))",
        "#else\n#define CJ_TABLE static const\n#endif",
        *(f"int {name}(const double**, double**, long long int*, double*, int);" for name in called),
        *(f"enum {{ {f.name()}_n_in = {f.n_in()}, {f.name()}_n_out = {f.n_out()} }};" for f in traced),
        *(_array("double", name, (repr(float(x)) for x in xs)) for name, xs in _doubles(plan).items()),
        *(_array("int", name, (str(int(x)) for x in xs)) for name, xs in _integers(plan).items()),
        _array("char* const", "loop_names[NLOOPS]", names),
        *(_array("char* const", name, map(quote, xs)) for name, xs in _texts(plan).items()),
    ]
    return "\n".join([*parts, ""])


def _doubles(plan: Plan) -> dict[str, Iterable[float]]:
    """Tables of numbers: where coordinates begin and end, what inputs and parameters are unless told."""
    tree, state = plan.simulation.tree, plan.simulation.state
    limits = [
        plan.mechanism.joint(name).limits for name, at in tree.q.items() for _ in range(at.start, at.stop)
    ]
    return {
        "initial_q[NQ]": state.q,
        "initial_v[NV]": state.v,
        "initial_z[NI]": state.z,
        "lowest_q[NQ]": [max(low, -FARTHEST) for low, _ in limits],
        "highest_q[NQ]": [min(high, FARTHEST) for _, high in limits],
        "guess_q[NQ]": start_guess(plan.simulation.engine),
        "default_speed[NV]": wanted_speeds(plan),
        "default_p[NP]": plan.simulation.p,
        "default_u[NU]": state.u,
        "nothing_sensed[NSENSED]": memory(plan),
        "kink_width[NKINKS]": [item.width for item in kinks(plan)],
        "clock_interval[NCLOCKS]": [tick.period for tick in plan.ticks],
        "clock_shift[NCLOCKS]": [tick.shift for tick in plan.ticks],
    }


def _integers(plan: Plan) -> dict[str, Iterable[int]]:
    """Tables of places and of yes and no."""
    tree, moving = plan.simulation.tree, plan.simulation.motions
    joint_of_q, joint_of_v = (
        [k for k, where in enumerate(of.values()) for _ in range(where.start, where.stop)]
        for of in (tree.q, tree.v)
    )
    q_of_v = [-1] * tree.nv
    for move, link in tree.moves:
        if move.plain:
            q_of_v[link.v.start] = link.q.start
    given, inputs = described_speeds(plan.simulation.equations), range(plan.simulation.u.size)
    distance = plan.simulation.variables().outputs.find("singularity.distance").where.start
    return {
        "given_speed[NV]": [list(tree.q)[k] in given for k in joint_of_v],
        "motion_input[NMOTION]": moving,
        "motion_of_input[NU]": [moving.index(k) if k in moving else -1 for k in inputs],
        "motion_rate[NMOTION]": motion_rates(plan.mechanism),
        "fixed_p[NP]": [v.fixed for v in plan.of("parameter") for _ in range(v.size)],
        "joint_of_q[NQ]": joint_of_q,
        "joint_of_v[NV]": joint_of_v,
        "q_of_v[NV]": q_of_v,
        "loop_first[NLOOPS]": [rows.start for rows in tree.rows.values()],
        "loop_rows[NLOOPS]": [rows.stop - rows.start for rows in tree.rows.values()],
        "linear_rows[NLINEAR_ROWS]": plan.linear_rows if plan.of("linear") else [],
        "sigma_is_rank[NSIGMA]": [row > distance for row in plan.rows if row >= distance],
        **_sampled(plan),
    }


def _sampled(plan: Plan) -> dict[str, Iterable[int]]:
    """Which outputs sensors tell, by which of their numbers, and whether these are rounded."""
    told = sampled_rows(plan)
    steps = [step for part in sampled_groups(plan.mechanism) for step in part.steps]
    return {
        "sampled_y[NSAMPLED]": [at for at, _ in told],
        "sampled_from[NSAMPLED]": [number for _, number in told],
        "sampled_rounds[NSAMPLED]": [steps[number] > 0 for _, number in told],
    }


def _texts(plan: Plan) -> dict[str, list[str]]:
    """Tables of words: of the log, and of parameters and what is asked of them."""
    fields = [
        (name, entry.at.field, k)
        for v, entry in zip(plan.of("parameter"), plan.simulation.equations.parameters, strict=True)
        for name, k in zip(v.elements(), entry.at.indices, strict=True)
    ]
    return {
        "log_categories[NCATEGORIES]": list(LOG_CATEGORIES),
        "names_p[NP]": [name for name, *_ in fields],
        "alone_p[NP]": [field.rule(k) for _, field, k in fields],
        "together_p[NP]": [field.together for _, field, _ in fields],
    }


def _driven(item: Motor | Strut) -> str:
    if isinstance(item, Strut):
        return f"the length of cylinder '{item.name}'"
    return f"the motion of motor '{item.name}' at joint '{item.joint}'"


def _array(kind: str, name: str, texts: Iterable[str]) -> str:
    """A table; one whose name has a length in brackets is held to it by the compiler."""
    stem, _, size = name.rstrip("]").partition("[")
    held = f"\nCJ_HOLDS({stem}, CJ_LENGTH({stem}) == CJ_ROOM({size}));" if size else ""
    return f"CJ_TABLE {kind} {stem}[] = {{{', '.join(texts) or '0'}}};{held}"


def quote(text: str) -> str:
    """A C string literal of any text: bytes that could end or change it are written in octal."""
    plain = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,:;()'-+")
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'


def identifier(name: str) -> str:
    """A C identifier and file name from any mechanism name."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name) or "mechanism"
    return plain if not plain[0].isdigit() else f"_{plain}"
