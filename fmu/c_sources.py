"""The C of a native FMU: traced functions as CasADi writes them, and tables for the core.

Names from a description reach the C only inside string literals, escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

import casadi as ca

from ..model import thresholds
from ..model.compile.c_pieces import split
from ..model.equations.topology import start_coordinates
from .functions import functions
from .plan import Plan, wanted_speeds

TOKEN = "{00000000-0000-0000-0000-000000000000}"  # stands where the hash of the content will be
CORE = ("core.h", "core.c", "calls.c", "chart.c", "linear.c", "numeric.c", "step_fast.c")
# What CasADi adds for its own loader; the core knows sizes and memory itself.
_ASIDE = "alloc_mem|init_mem|free_mem|checkout|release|incref|decref|n_in|n_out|default_in|name_in|name_out"
_ASIDE = (
    rf"cj_\w+_(?:{_ASIDE}|sparsity_in|sparsity_out|work|work_bytes)|\w+_casadi_(?:version|int_size|real_size)"
)
_TYPE = r"(?:const )?(?:int|void|char|casadi_int|casadi_real)\*?"
_EXTRAS = re.compile(
    rf"^{_TYPE} (?:{_ASIDE})\([^\n]*\{{(?:[^\n]*\}}\n|\n.*?^\}}\n)", re.MULTILINE | re.DOTALL
)
# The pieces of long functions are kept apart where the compiler knows how.
_PLAIN = "#if !defined(__GNUC__)\n#define __attribute__(x)\n#endif\n"
_HELPERS = re.compile(rf"^(?={_TYPE} casadi_\w+\()", re.MULTILINE)


def sources(plan: Plan, fmi: int) -> dict[str, str]:
    """File name -> text of everything in `sources/`; the token is still `TOKEN`."""
    traced = functions(plan, adjoint=fmi == 3)
    texts = {name: (files(__package__) / "c" / name).read_text("utf-8") for name in (*CORE, f"fmi{fmi}.c")}
    texts |= {file: generated(file, group) for file, group in traced.items()}
    texts["sizes.h"] = _sizes(plan, [f for group in traced.values() for f in group], fmi)
    texts["tables.h"] = _tables(plan, [f for group in traced.values() for f in group])
    if fmi == 3:
        texts["variables.h"] = _variables(plan)
    return texts


def generated(file: str, group: Iterable[ca.Function]) -> str:
    generator = ca.CodeGenerator(file, {"with_header": False, "with_export": False})
    for function in group:
        generator.add(function)
    return _PLAIN + split(_HELPERS.sub("static ", _EXTRAS.sub("", generator.dump())))


def units_to_compile(fmi: int) -> list[str]:
    written = ("core", "calls", "chart", "linear", "numeric", f"fmi{fmi}")
    traced = ("kernels", "derivatives", "step", "step_fast", *(("adjoint",) if fmi == 3 else ()))
    return [f"{name}.c" for name in (*written, *traced)]


def _sizes(plan: Plan, traced: list[ca.Function], fmi: int) -> str:
    tree, first = plan.simulation.tree, plan.first
    linear = sum(v.size for v in plan.of("linear"))
    numbers = {
        "NQ": tree.nq,
        "NV": tree.nv,
        "NU": len(plan.mechanism.inputs()),
        "NP": plan.simulation.p.size,
        "NM": tree.row_count,
        "RANK": plan.rank,
        "NF": plan.freedoms,
        "NY": len(plan.traced_rows),
        "NZ": sum(v.kind == "margin" for v in plan.variables),
        "NLOOPS": len(tree.cuts),
        "NSIGMA": len(plan.rows) - len(plan.traced_rows),
        "NLINEAR": linear,
        "NLINEAR_ROWS": len(plan.linear_rows) if linear else 0,
        "NVARIABLES": len(plan.variables),
        "SLOT_TIME": 0,
        "SLOT_U": first["input"],
        "SLOT_P": first["parameter"],
        "SLOT_START_Q": first["start_q"],
        "SLOT_START_V": first["start_v"],
        "SLOT_Y": first["output"],
        "SLOT_SIGMA": first["sigma"],
        "SLOT_X": first["state"],
        "SLOT_DX": first["derivative"],
        "SLOT_LINEAR": first.get("linear", plan.slots),
        "SLOT_MARGIN": first["margin"],
        "SLOT_COORDINATE": first["coordinate"],
        "SLOT_END": plan.slots,
        "HAS_ADJOINT": int(fmi == 3),
        "SIZE_ARG": max(f.sz_arg() for f in traced),
        "SIZE_RES": max(f.sz_res() for f in traced),
        "SIZE_IW": max(f.sz_iw() for f in traced),
        "SIZE_W": max(f.sz_w() for f in traced),
    }
    lines = [f"#define {name} {value}" for name, value in numbers.items()]
    return "/* Sizes of this mechanism, written at export. */\n" + "\n".join([*lines, ""])


def _tables(plan: Plan, traced: list[ca.Function]) -> str:
    tree, state = plan.simulation.tree, plan.simulation.state
    joints, q_of_v = list(tree.q), [-1] * tree.nv
    joint_of_q, joint_of_v = (
        [k for k, where in enumerate(of.values()) for _ in range(where.start, where.stop)]
        for of in (tree.q, tree.v)
    )
    for move, link in tree.moves:
        if move.plain:
            q_of_v[link.v.start] = link.q.start
    distance = plan.simulation.variables().outputs.find("singularity.distance").where.start
    names = [f"joint '{cut.name}' ({cut.parent} to {cut.child})" for cut in tree.cuts]
    given = [bool(plan.mechanism.joint(joints[k]).speed) for k in joint_of_v]
    fixed = [int(v.fixed) for v in plan.of("parameter") for _ in range(v.size)]
    parts = [
        "/* What is known of this mechanism at export. */",
        f'#define CJ_TOKEN "{TOKEN}"',
        f"#define CJ_STEP {plan.step!r}",
        *(f"#define {name} {getattr(thresholds, name)!r}" for name in ("ROUGHLY", "SAME_TIME")),
        f"#define CJ_RANK_TOLERANCE {thresholds.RANK!r}",
        "#if defined(__GNUC__)\n#define CJ_TABLE static const __attribute__((unused))",
        "#else\n#define CJ_TABLE static const\n#endif",
        *(f"int {f.name()}(const double**, double**, long long int*, double*, int);" for f in traced),
        "int cj_step_fast(const double**, double**, long long int*, double*, int);",
        _array("double", "initial_q", state.q),
        _array("double", "initial_v", state.v),
        _array("double", "guess_q", start_coordinates(plan.mechanism, tree)),
        _array("double", "default_speed", wanted_speeds(plan)),
        _array("unsigned char", "given_speed", given),
        _array("double", "default_p", plan.simulation.p),
        _array("unsigned char", "fixed_p", fixed),
        _array("int", "joint_of_q", joint_of_q),
        _array("int", "joint_of_v", joint_of_v),
        _array("int", "q_of_v", q_of_v),
        _array("int", "loop_first", [rows.start for rows in tree.rows.values()]),
        _array("int", "loop_rows", [rows.stop - rows.start for rows in tree.rows.values()]),
        _array("int", "linear_rows", plan.linear_rows),
        _array("unsigned char", "sigma_is_rank", [row > distance for row in plan.rows if row >= distance]),
        _array("char* const", "loop_names", [quoted(name) for name in names]),
    ]
    return "\n".join([*parts, ""])


def _array(kind: str, name: str, values: Iterable[Any]) -> str:
    texts = [v if isinstance(v, str) else repr(float(v)) if kind == "double" else str(int(v)) for v in values]
    return f"CJ_TABLE {kind} {name}[] = {{{', '.join(texts) or '0'}}};"


def _variables(plan: Plan) -> str:
    rows = [f"    {{{v.slot}, {v.size}, {int(v.kind == 'coordinate')}}}," for v in plan.variables]
    return "\n".join(
        [
            "/* Value reference -> first slot, number of slots, whether it is an integer. */",
            "static const struct { unsigned slot, count, integer; } variables[] = {",
            *rows,
            "};",
            "",
        ]
    )


def quoted(text: str) -> str:
    """A C string literal of any text: bytes that could end or change it are written in octal."""
    plain = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,:;()'-+")
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'
