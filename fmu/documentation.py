"""The FMU's documentation: a page with a picture of the mechanism, its icon, licenses, how it is linked."""

from html import escape
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ..model.base.subprocesses import scratch_folder
from ..native.c_compile import unit_flags
from ..native.c_sources import identifier
from ..native.plan import FmuVariable, Plan

STYLE = (
    "body{font:15px sans-serif;max-width:60em;margin:2em auto}td{padding:.1em .8em .1em 0}img{max-width:100%}"
)
STACK = 64 * 1024  # bytes that no call takes more of, which tests hold; long code works in the instance
KINDS = {
    "input": "Inputs",
    "parameter": "Parameters of the design",
    "start": "Start pose and speeds",
    "output effort": "Outputs",
    "state": "States of model exchange",
    "linear": "Linear model",
}


LICENSE = """The code of this FMU was written by Cutjoint and may be used under Cutjoint's license, below.
Functions named casadi_* belong to the code that CasADi, https://casadi.org, writes for its users. What the
mechanism itself is, its dimensions and its name, belongs to who described it.

{}"""
STATIC_LINKING = """Several FMUs in one program, without shared libraries
=====================================================

Everything is in sources/: C99 that needs the C library and its mathematics, and nothing else. The files to
compile are those that {where} lists. Compile each of them with the prefix that keeps the names
of different FMUs apart,

    cc -std=c99 -O2 -I sources -DFMI{fmi}_FUNCTION_PREFIX={name}_ -c sources/FILE.c

and link the objects with -lm. All names that a linker sees then begin with {name}_, the functions of the
standard among them: {name}_fmi{fmi}DoStep. Without a prefix, or if FMI{fmi}_OVERRIDE_FUNCTION_PREFIX is
defined, they have their plain names, as a shared library needs them. A C++ compiler takes the files as well.

step_fast.c holds the step once more for x86-64 processors with AVX2 and FMA; the processor is asked when an
instance is made, and other machines compile an empty file. The shared library in binaries/ was compiled with
{flags}
this one file with
{fused}
The same flags give the same results to the last bit; with CJ_PLAIN_STEP defined, which leaves the second step
out, so does every processor whose C library rounds sines and cosines alike.
"""


def documentation(plan: Plan, fmi: int, picture: bool) -> tuple[dict[str, bytes], dict[str, str]]:
    """Pictures and texts by their path in the FMU."""
    pictures = {}
    if picture:
        image = draw_mechanism(plan)
        icon = "model.png" if fmi == 2 else "terminalsAndIcons/icon.png"
        pictures = {"documentation/mechanism.png": image, icon: image}
    where = "sources/buildDescription.xml" if fmi == 3 else "modelDescription.xml"
    chosen = {"flags": "core.c", "fused": "step_fast.c"}
    flags = {key: "    " + " ".join(unit_flags(unit, 2)) for key, unit in chosen.items()}
    linking = STATIC_LINKING.format(fmi=fmi, name=identifier(plan.mechanism.name), where=where, **flags)
    texts = {"index.html": html(plan, picture), "licenses/license.txt": LICENSE.format(_own_license())}
    texts["staticLinking.txt"] = linking
    return pictures, {f"documentation/{name}": text for name, text in texts.items()}


def _own_license() -> str:
    try:
        text = distribution("cutjoint").read_text("licenses/LICENSE")
    except PackageNotFoundError:  # run from a clone that is not installed
        beside = Path(__file__).parents[1] / "LICENSE"
        text = beside.read_text("utf-8") if beside.is_file() else None
    return text or "MIT License, https://opensource.org/license/mit"


def draw_mechanism(plan: Plan) -> bytes:
    from ..model.show.picture import save_picture  # not all have one, and Matplotlib takes a while to import

    with scratch_folder() as folder:
        path = folder / "mechanism.png"
        cuts = plan.simulation.tree.cut_names
        save_picture(path, plan.mechanism, plan.simulation.body_poses(), cuts)
        return path.read_bytes()


def html(plan: Plan, picture: bool) -> str:
    mechanism = plan.mechanism
    speeds = plan.simulation.variables().speeds.columns()
    order = ", ".join(f"{k + 1} {speed.name}" for k, speed in enumerate(speeds))
    tables = "".join(_table(title, plan.of(*kinds.split())) for kinds, title in KINDS.items())
    return f"""<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>{escape(mechanism.name)}</title><style>{STYLE}</style></head><body>
<h1>{escape(mechanism.name)}</h1>
<p>{escape(mechanism.description)}</p>
{'<img src="mechanism.png" alt="the mechanism at its start">' if picture else ""}
<p>{plan.freedoms} degrees of freedom, {len(plan.simulation.tree.cuts)} loops. SI units.
Co-simulation steps inside by {plan.step:g} s and projects onto closed loops. {_effort(plan)}
Inputs are held between communication points, or go along lines where the host gives their
derivatives (FMI 2.0) or values before every step inside (FMI 3.0).
Model exchange shows independent coordinates and their speeds as states; which ones
may change at a step event, and <code>state.coordinate</code> shows: {escape(order)}. Solvers land where
<code>event.*</code> change sign: stops, friction, cables, play. Geometry and start
values may be set until initialization ends; the loops are then closed anew. NaN and infinity are refused.
No call takes more than {STACK // 1024} KB of stack; an instance is one block of memory, and no more is
allocated but for states that are kept.</p>
{tables}
</body></html>
"""


def _effort(plan: Plan) -> str:
    """What a step may cost, in plain steps."""
    stepping = plan.simulation.stepping
    if stepping.worst == 1:
        return "Every step is a plain one and costs the same, come what may."
    return (
        f"Where the motion is fast or near a singular pose a step is done again in up to {stepping.substeps} "
        f"sub-steps and costs up to {stepping.worst} times a plain one; <code>step.tries</code> counts them, "
        "and <code>export --substeps</code> sets the bound."
    )


def _table(title: str, variables: list[FmuVariable]) -> str:
    if not variables:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(v.name)}{escape(str(list(v.shape))) if v.shape else ''}</code></td>"
        f"<td>{escape(v.unit) if v.unit != '1' else ''}</td><td>{escape(v.about)}</td></tr>\n"
        for v in variables
    )
    return f"<h2>{title}</h2>\n<table>{rows}</table>\n"
