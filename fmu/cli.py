"""`cutjoint export`: write a mechanism as an FMU."""

import argparse
from pathlib import Path
from typing import Any

from ..model.cli.common import Options, number, to_json
from .c_compile import PLATFORMS
from .export import RUNTIMES, export
from .page import export_page
from .xml_common import identifier

HELP = "Write a mechanism as a functional mock-up unit (FMI 2.0 or 3.0)."
EXAMPLE = """
cutjoint export stewart -o stewart.fmu
cutjoint export stewart -o stewart3.fmu --fmi 3 --platform linux64,win64
cutjoint export hexapod -o small.fmu --output 'joint.*.position' --output energy
cutjoint export stewart -o quick.fmu --runtime python
cutjoint export stewart --page stewart.html
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    option("-o --to", "FILE", "the FMU to write (default: NAME.fmu)")
    text = f"{' or '.join(RUNTIMES)}: compiled C that needs nothing there, or Python with pythonfmu"
    option("--runtime", "KIND", text, default="native")
    option("--fmi", "VERSION", "2 (default) or 3", type=int, default=2)
    option("--step", "S", "inner step of co-simulation (1e-3)", default="1e-3")
    text = "how it is taken: runge_kutta, or implicit for stiff mechanisms"
    option("--stepper", "NAME", text, default="runge_kutta")
    option("--platform", "A,B", f"of {', '.join(PLATFORMS)}; this machine's own if none", default="")
    for what, more in (
        ("input", "show only these"),
        ("output", "show only these; patterns such as 'body.*.position'"),
        ("parameter", "show these, by name or by path such as body.leg1.mass"),
    ):
        option(f"--{what}", "NAME", f"{more}; repeat it", action="append", default=[])
    text = "write a web page that simulates it, with sliders; and an FMU too if -o is given"
    option("--page", "FILE", text)
    option("--linear", text="show linear.A, B, C, D as variables")
    option("--json", text="print what was written as JSON")


def run(args: argparse.Namespace) -> int:
    written: dict[str, Any] = {}
    said = []
    shared = {"step": number(args.step, "--step"), "stepper": args.stepper, "inputs": args.input}
    if args.page:
        count = len(export_page(args.mechanism, args.page, **shared).of("input"))
        written["page"] = args.page
        said.append(f"wrote {args.page}: open it in a browser, {count} input{'' if count == 1 else 's'}")
    if args.to or not args.page:
        target = args.to or f"{identifier(Path(args.mechanism).stem)}.fmu"
        plan = export(
            args.mechanism,
            target,
            runtime=args.runtime,
            fmi=args.fmi,
            platforms=[name.strip() for name in args.platform.split(",") if name.strip()],
            outputs=args.output,
            parameters=args.parameter,
            linear=args.linear,
            **shared,
        )
        counts = {kind: sum(v.size for v in plan.of(kind)) for kind in ("input", "output", "parameter")}
        counts["freedom"] = plan.freedoms
        written |= {"file": str(target), "runtime": args.runtime, "fmi": args.fmi, **counts}
        words = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())
        said.append(f"wrote {target}: FMI {args.fmi}.0, {args.runtime}, {words}")
    print(to_json(written) if args.json else "\n".join(said))
    return 0
