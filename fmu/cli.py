"""`cutjoint export`: write a mechanism as an FMU."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..model.cli.common import add_mechanism, number, to_json
from .c_compile import PLATFORMS
from .export import RUNTIMES, export
from .xml_common import identifier

HELP = "Write a mechanism as a functional mock-up unit (FMI 2.0 or 3.0)."
EXAMPLE = """
cutjoint export stewart -o stewart.fmu
cutjoint export stewart -o stewart3.fmu --fmi 3 --platform linux64,win64
cutjoint export hexapod -o small.fmu --output 'joint.*.position' --output energy
cutjoint export stewart -o quick.fmu --runtime python
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_mechanism(parser)
    parser.add_argument("-o", "--to", metavar="FILE", help="the FMU to write (default: NAME.fmu)")
    parser.add_argument(
        "--runtime",
        default="native",
        metavar="KIND",
        help=f"{' or '.join(RUNTIMES)}: compiled C that needs nothing there, or Python with pythonfmu",
    )
    parser.add_argument("--fmi", type=int, default=2, metavar="VERSION", help="2 (default) or 3")
    parser.add_argument("--step", default="1e-3", metavar="S", help="inner step of co-simulation (1e-3)")
    parser.add_argument(
        "--platform", default="", metavar="A,B", help=f"of {', '.join(PLATFORMS)}; this machine's own if none"
    )
    for what, more in (
        ("input", "show only these"),
        ("output", "show only these; patterns such as 'body.*.position'"),
        ("parameter", "show these, by name or by path such as body.leg1.mass"),
    ):
        parser.add_argument(
            f"--{what}", action="append", default=[], metavar="NAME", help=f"{more}; repeat it"
        )
    parser.add_argument("--linear", action="store_true", help="show linear.A, B, C, D as variables")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(args: argparse.Namespace) -> int:
    target = args.to or f"{identifier(Path(args.mechanism).stem)}.fmu"
    plan = export(
        args.mechanism,
        target,
        runtime=args.runtime,
        fmi=args.fmi,
        step=number(args.step, "--step"),
        platforms=[name.strip() for name in args.platform.split(",") if name.strip()],
        inputs=args.input,
        outputs=args.output,
        parameters=args.parameter,
        linear=args.linear,
    )
    counts = {kind: sum(v.size for v in plan.of(kind)) for kind in ("input", "output", "parameter")}
    counts["freedom"] = plan.freedoms
    written = {"file": str(target), "runtime": args.runtime, "fmi": args.fmi, **counts}
    if args.json:
        print(to_json(written))
    else:
        words = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items())
        print(f"wrote {target}: FMI {args.fmi}.0, {args.runtime}, {words}")
    return 0
