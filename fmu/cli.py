"""`cutjoint export`: write a mechanism as an FMU."""

import argparse
import shutil
from pathlib import Path
from typing import Any

from ..model.cli.common import MANY, Options, check_targets, number, progress_lines, tell_written, to_json
from ..model.errors import CutjointError
from ..model.files import check_writable, write_atomically
from ..model.programs import scratch_folder
from . import c_compile
from .c_compile import PLATFORMS
from .effort import Effort, measured
from .export import RUNTIMES, export
from .page import export_page
from .plan import Plan
from .ssp import component, parameter_set, write_ssp
from .xml_common import identifier

HELP = "Write a mechanism as a functional mock-up unit (FMI 2.0 or 3.0)."
EXAMPLE = """
cutjoint export stewart -o stewart.fmu
cutjoint export stewart -o stewart3.fmu --fmi 3 --platform linux64,win64
cutjoint export hexapod -o small.fmu --output 'joint.*.position' --output energy
cutjoint export stewart -o quick.fmu --runtime python
cutjoint export stewart --page stewart.html
cutjoint export stewart pd.fmu --ssp both.ssp --connect pd.torque1=stewart.motor.motor1.torque
"""


def add_arguments(option: Options) -> None:
    option("mechanism", nargs="+")
    option("-o --to", "FILE", "the FMU to write (default: NAME.fmu)")
    text = f"{' or '.join(RUNTIMES)}: compiled C that needs nothing there, or Python with pythonfmu"
    option("--runtime", "KIND", text, default="native")
    option("--fmi", "VERSION", "2 (default) or 3", type=int, default=2)
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
    text = "write a web page that simulates it, with sliders; and an FMU too if -o is given"
    option("--page", "FILE", text)
    option("--linear", text="show linear.A, B, C, D as variables")
    option("--scalar", text="FMI 3 without arrays, for importers that know none")
    option("--ssp", "FILE", "pack several, mechanisms or FMUs there are, as a system (SSP)")
    text = "of a system: from an output to an input, by the FMUs' names"
    option("--connect", "FMU.OUTPUT=FMU.INPUT", text, **MANY)
    text = "parameters and start values in parameter sets (SI, or with a unit), of a system FMU.NAME"
    option("--set", "NAME=VALUE", text, **MANY)
    option("--ssv", "FILE", "write parameters and start values as a parameter set beside the FMU")
    option("--progress")
    option("--json", text="print what was written as JSON")


def run(args: argparse.Namespace) -> int:
    with progress_lines(args, __package__):
        return _pack(args) if args.ssp else _write(args)


def _write(args: argparse.Namespace) -> int:
    if len(args.mechanism) > 1 or args.connect:
        raise CutjointError("several mechanisms and their connections make a system: say where, --ssp FILE")
    if args.set and not args.ssv:
        raise CutjointError("--set is for parameter sets: say where, --ssv FILE or --ssp FILE")
    check_targets(args.ssv)
    (name,) = args.mechanism
    written: dict[str, Any] = {}
    said = []
    if args.page:
        count = len(export_page(name, args.page, **_shared(args)).of("input"))
        written["page"] = args.page
        said.append(f"wrote {args.page}: open it in a browser, {count} input{'' if count == 1 else 's'}")
    if args.to or args.ssv or not args.page:
        target = args.to or f"{identifier(Path(name).stem)}.fmu"
        check_writable(target)
        with scratch_folder(
            "export-"
        ) as folder:  # none is left beside values that are refused, or if stopped
            plan = _export(args, name, fmu := folder / "it.fmu")
            values = parameter_set({"": component(fmu)}, _values(args)) if args.ssv else ""
            runs_here = args.runtime == "native" and c_compile.here() in _platforms(args)
            effort = measured(plan, fmu) if runs_here else None
            with write_atomically(target) as temporary:
                shutil.copyfile(fmu, temporary)
        counts = {kind: sum(v.size for v in plan.of(kind)) for kind in ("input", "output", "parameter")}
        counts["freedom"] = plan.freedoms
        written |= {"file": str(target), "runtime": args.runtime, "fmi": args.fmi, **counts}
        words = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())
        said.append(f"wrote {target}: FMI {args.fmi}.0, {args.runtime}, {words}")
        if effort:
            written |= {"plain_step": effort.plain, "worst_step": effort.worst}
            said.append(cost(plan, effort))
    if args.ssv:
        with write_atomically(args.ssv) as temporary:
            temporary.write_text(values, encoding="utf-8")
    print(to_json(written) if args.json else "\n".join(said))
    tell_written(args, parameters=args.ssv)
    return 0


def _shared(args: argparse.Namespace) -> dict[str, Any]:
    """What pages and FMUs have in common."""
    choices = {"step": number(args.step, "--step", "s"), "stepper": args.stepper, "substeps": args.substeps}
    return choices | {"inputs": args.input}


def _platforms(args: argparse.Namespace) -> list[str]:
    return [name.strip() for name in args.platform.split(",") if name.strip()] or [c_compile.here()]


def _export(args: argparse.Namespace, name: str, target: str | Path) -> Plan:
    return export(
        name,
        target,
        runtime=args.runtime,
        fmi=args.fmi,
        platforms=_platforms(args),
        outputs=args.output,
        parameters=args.parameter,
        linear=args.linear,
        scalar=args.scalar or bool(args.ssp),
        **_shared(args),
    )


def _values(args: argparse.Namespace) -> dict[str, float | str]:
    pairs = [word.partition("=") for word in args.set]
    for name, equals, _ in pairs:
        if not equals:
            raise CutjointError(f"--set takes NAME=VALUE, not '{name}'")
    return {name: text for name, _, text in pairs}


def _pack(args: argparse.Namespace) -> int:
    """A system of FMUs: those that are there, and others made of mechanisms."""
    if args.to or args.ssv or args.page:
        raise CutjointError("--ssp writes one file with everything in it: leave -o, --ssv and --page out")
    check_targets(args.ssp)
    pairs = [word.partition("=") for word in args.connect]
    for word, (_, equals, _) in zip(args.connect, pairs, strict=True):
        if not equals:
            raise CutjointError(f"--connect takes FMU.OUTPUT=FMU.INPUT, not '{word}'")
    with scratch_folder("ssp-") as folder:
        fmus: dict[str, Path] = {}
        for given in args.mechanism:
            stem = identifier(Path(given).stem)
            again = sum(name.rstrip("0123456789") == stem for name in fmus)
            name = f"{stem}{again + 1}" if again else stem
            fmus[name] = Path(given) if given.endswith(".fmu") else Path(folder, f"{name}.fmu")
            if not given.endswith(".fmu"):
                _export(args, given, fmus[name])
        write_ssp(
            args.ssp, fmus, [(a, b) for a, _, b in pairs], _values(args), identifier(Path(args.ssp).stem)
        )
    if args.json:
        print(to_json({"file": args.ssp, "fmus": list(fmus), "connections": args.connect}))
    else:
        print(f"wrote {args.ssp}: {', '.join(fmus)}, {len(pairs)} connection{'' if len(pairs) == 1 else 's'}")
    return 0


def cost(plan: Plan, effort: Effort) -> str:
    """What a step costs here, for people."""
    stepping = plan.simulation.stepping
    text = f"a step of {plan.step:g} s costs {1e6 * effort.plain:.1f} us on this machine"
    if stepping.worst == 1:
        return f"{text}, always"
    return f"{text}, and up to {1e6 * effort.worst:.0f} us in {stepping.substeps} sub-steps (--substeps)"
