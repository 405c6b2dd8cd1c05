"""`cutjoint export`: write a mechanism as an FMU.

An annex that extends it may define, besides `add_arguments`: `check(args)`, before the work starts;
`instead(args)`, the exit code if it does all of it; `before(args)`, what it wrote first: name, file and
sentence; `wants_fmu(args)`, whether an FMU is wanted too; `beside(args, fmu)`, what stands beside that: name,
file and text.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

from .. import native
from ..model.base import annexes
from ..model.base.errors import CutjointError
from ..model.base.files import check_writable, write_atomically
from ..model.base.marks import check_replaceable
from ..model.base.subprocesses import scratch_folder
from ..model.cli.common import Options, load_mechanism, number, progress_lines, tell_written, to_json
from ..native import c_compile
from ..native.c_compile import PLATFORMS
from ..native.c_sources import identifier
from ..native.plan import Plan
from .export import RUNTIMES, export, fmi_version
from .step_cost import Effort, measure_step

HELP = "Write a mechanism as a functional mock-up unit (FMI 2.0 or 3.0)."
EXAMPLE = """
cutjoint export stewart -o stewart.fmu
cutjoint export stewart -o stewart3.fmu --fmi 3 --platform linux64,win64
cutjoint export hexapod -o small.fmu --output 'joint.*.position' --output energy
cutjoint export stewart -o quick.fmu --runtime python
"""


def add_arguments(option: Options) -> None:
    option("mechanism", nargs="+")
    option("-o --to", "FILE", "the FMU to write (default: NAME.fmu)", writes=True)
    text = f"{' or '.join(RUNTIMES)}: compiled C that needs nothing there, or Python with pythonfmu"
    option("--runtime", "KIND", text, default="native")
    option("--fmi", "VERSION", "2.0 (default) or 3.0; 2 and 3 will do", type=fmi_version, default=2)
    option("--step", "S", "inner step of co-simulation (1e-3)", default="1e-3")
    text = "how it is taken: runge_kutta, or implicit for stiff mechanisms"
    option("--stepper", "NAME", text, default="runge_kutta")
    option("--substeps")
    option("--platform", "A,B", f"of {', '.join(PLATFORMS)}; this machine's own if none", default="")
    for what, more in (
        ("input", "show only these"),
        ("output", "show only these; patterns such as 'body.*.position'"),
        ("parameter", "show these, by name or by path such as body.leg1.mass"),
    ):
        option(f"--{what}", "NAME", f"{more}; repeat it", action="append", nargs=None, default=[])
    option("--linear", text="show linear.A, B, C, D as variables")
    option("--no-exchange", text="co-simulation alone, without states and what else model exchange needs")
    option("--clocks", text="FMI 3: sensors with a period by clocks, which the host must then tick")
    option("--scalar", text="FMI 3 without arrays, for importers that know none")
    option("--progress")
    option("--json", text="print what was written as JSON")


def run(args: argparse.Namespace) -> int:
    with progress_lines(args, native.__name__, __package__):
        annexes.ask("export", "check", args)
        for code in annexes.ask("export", "instead", args):
            return int(code)
        return _write(args)


def _write(args: argparse.Namespace) -> int:
    if len(args.mechanism) > 1:
        raise CutjointError("several mechanisms make a system: say where, --ssp FILE")
    written: dict[str, Any] = {}
    said: list[str] = []
    for kind, file, sentence in annexes.ask("export", "before", args):
        written[kind] = file
        said.append(sentence)
    beside: list[tuple[str, str, str]] = []
    if args.to or not written or any(annexes.ask("export", "wants_fmu", args)):
        beside = _write_fmu(args, written, said)
    print(to_json(written) if args.json else "\n".join(said))
    tell_written(args, **{kind: file for kind, file, _ in beside})
    return 0


def _write_fmu(
    args: argparse.Namespace, written: dict[str, Any], said: list[str]
) -> list[tuple[str, str, str]]:
    """Write the FMU, and what annexes put beside it; nothing is left if one refuses, or if stopped."""
    (name,) = args.mechanism
    target = args.to or f"{identifier(Path(name).stem)}.fmu"
    check_writable(target)
    check_replaceable(Path(target), force=args.force)  # the default name too
    with scratch_folder("export-") as folder:
        plan = export_one(args, name, fmu := folder / "it.fmu")
        beside = annexes.ask("export", "beside", args, fmu)
        runs_here = args.runtime == "native" and c_compile.here() in _platforms(args)
        effort = measure_step(plan, fmu) if runs_here else None
        with write_atomically(target) as temporary:
            shutil.copyfile(fmu, temporary)
    counts = {kind: sum(v.size for v in plan.of(kind)) for kind in ("input", "output", "parameter")}
    counts["freedom"] = plan.freedoms
    written |= {"file": str(target), "runtime": args.runtime, "fmi": args.fmi, **counts}
    words = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())
    said.append(f"wrote {target}: FMI {args.fmi}.0, {args.runtime}, {words}")
    if plan.left_out:
        said.append(
            f"left {plan.left_out} outputs out, of so many; choose by patterns such as "
            "--output 'joint.*.position' --output 'reaction.*.force', or --output '*' for all"
        )
    if effort:
        written |= {"plain_step": effort.plain, "worst_step": effort.worst}
        said.append(cost(plan, effort))
    for _, file, text in beside:
        with write_atomically(file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return beside


def shared_choices(args: argparse.Namespace) -> dict[str, Any]:
    """What pages and FMUs have in common."""
    choices = {"step": number(args.step, "--step", "s"), "stepper": args.stepper, "substeps": args.substeps}
    return choices | {"inputs": args.input}


def _platforms(args: argparse.Namespace) -> list[str]:
    return [name.strip() for name in args.platform.split(",") if name.strip()] or [c_compile.here()]


def export_one(args: argparse.Namespace, name: str, target: str | Path, scalar: bool = False) -> Plan:
    """The FMU of one mechanism, as the command line asks for it."""
    return export(
        load_mechanism(args, name),
        target,
        runtime=args.runtime,
        fmi=args.fmi,
        platforms=_platforms(args),
        outputs=args.output,
        parameters=args.parameter,
        linear=args.linear,
        scalar=args.scalar or scalar,
        exchange=not args.no_exchange,
        clocks=args.clocks,
        **shared_choices(args),
    )


def cost(plan: Plan, effort: Effort) -> str:
    """What a step costs here, for people."""
    stepping = plan.simulation.stepping
    text = f"a step of {plan.step:g} s costs {1e6 * effort.plain:.1f} us on this machine"
    if stepping.worst == 1:
        return f"{text}, always"
    return f"{text}, and up to {1e6 * effort.worst:.0f} us in {stepping.substeps} sub-steps (--substeps)"
