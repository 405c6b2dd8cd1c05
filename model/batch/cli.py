"""`cutjoint sweep`: many runs with different numbers, a row each in Parquet files."""

from __future__ import annotations

import argparse
from typing import Any

from ..base.errors import CutjointError
from ..cli.common import (
    Options,
    check_targets,
    load_mechanism,
    positive,
    progress_bar,
    read_gravity,
    read_torques,
    tell_written,
    to_json,
)

HELP = "Run a mechanism with many different numbers, on all cores, and keep a row a run."
EXAMPLE = """
cutjoint sweep fourbar --vary body.coupler.mass=1:3:0.5 --time 1 -o results
cutjoint sweep stewart --vary 'body.platform.mass~normal(10,0.5)' --torque all=10 --runs 100000 -o results
cutjoint sweep mcpherson --vary 'tie_rod~uniform(0.43,0.45)' --runs 512 --sampling sobol -o results
cutjoint sweep fourbar --vary 'joint.crank_pin.on_child.position[1]~+normal(0, 0.5 mm)' --runs 200 -o results
cutjoint sweep stewart --samples samples.csv --record energy --keep series -o results

The same command resumes a sweep that was stopped, and ends with the
same table, whatever the number of workers. Read it with pandas, Polars, DuckDB or
cutjoint.model.batch.store.read_results.
"""


def add_arguments(option: Options) -> None:
    option("mechanism")
    several = {"nargs": "+", "action": "extend", "default": []}
    text = (
        "a number, by its path or a parameter's name, or input.NAME: =FIRST:LAST:STEP or =VALUE,VALUE, "
        "crossed with the others, or ~uniform(LOW,HIGH), ~normal(MEAN,SPREAD), ~lognormal(MEDIAN,SPREAD), "
        "~triangular(LOW,PEAK,HIGH); +=… and ~+… add to its nominal value (cutjoint show --parameters)"
    )
    option("--vary", "NAME=…", text, **several)
    option("--samples", "FILE", "a CSV file: a line of names, then a sample a line")
    option("--runs", "N", "how many; the points of the grid if not given", type=int)
    option("--time", "T", "seconds of every run (default: 1)", default="1")
    option("--step", "H", "seconds of every step (default: 0.001)", default="0.001")
    option("--input --torque", text="torque or force of motors and cylinders, NAME or 'all'")
    option("--gravity")
    option("--record", "NAME", "outputs to keep; the energy if not given", **several)
    option("--keep", "WHAT", "of final, min, max, series (default: the first three)", **several)
    option("--every", "N", "read outputs after every N steps (default: 1)", type=int, default=1)
    option("--sampling", "KIND", "random (default), sobol, halton or latin", default="random")
    option("--seed", "N", "another one draws other samples (default: 0)", type=int, default=0)
    option("--substeps")
    option("--workers", "N", "threads; one a processor if not given", type=int)
    option("--cluster", "ADDRESS", "a Dask scheduler such as tcp://host:8786, or 'local' for processes here")
    option(
        "-o --output",
        "FOLDER",
        "where the rows go; an existing sweep is resumed",
        required=True,
        writes=True,
    )
    option("--plot", "FILE", "draw histograms, scatter and sensitivities (png, svg or pdf)", writes=True)
    option("--progress")
    option("--json")


def run(args: argparse.Namespace) -> int:
    from .executors import run_sweep
    from .results import draw_sweep, write_summary
    from .sweep import sweep

    check_targets(picture=args.plot)
    mechanism = load_mechanism(args)
    inputs = read_torques(args.torque, mechanism)
    planned = sweep(
        mechanism,
        args.vary,
        positive(args.time, "--time", "s"),
        step=positive(args.step, "--step", "s"),
        runs=args.runs,
        record=args.record or None,
        keep=args.keep or ("final", "min", "max"),
        every=args.every,
        inputs=inputs,
        gravity=read_gravity(args.gravity),
        sampling=args.sampling,
        seed=args.seed,
        table=args.samples,
        substeps=args.substeps,
    )
    with progress_bar(args) as progress:
        run_sweep(planned, args.output, args.workers, args.cluster, progress)
    found = write_summary(args.output)
    if args.plot:
        if not found["outputs"]:
            raise CutjointError("--plot draws final, least and greatest values; add one of them to --keep")
        draw_sweep(args.output, args.plot)
    print(to_json(found) if args.json else sweep_told(found))
    tell_written(args, results=args.output, plot=args.plot)
    return 0


def sweep_told(found: dict[str, Any]) -> str:
    """The summary for people."""
    from ..show.table import table

    ends = ", ".join(f"{count} {end}" for end, count in found["ends"].items())
    lines = [f"{found['name']}: {found['rows']} runs: {ends}"]
    for end, some in found["not_done"].items():
        lines += [f"  {end}: run {one['run']}: {one['why']}" for one in some[:2]]
    words = {"refined": "were refined", "unsettled": "did not settle", "undecided": "had two ways to go on"}
    for name, count in found["runs_with_steps"].items():
        if count:
            lines.append(f"  {count} runs have steps that {words[name]}")
    header = ("", "mean", "deviation", "5 %", "median", "95 %", "least", "greatest")
    rows = [
        (name, *(f"{values[word]:.6g}" for word in header[1:]))
        for name, values in found["outputs"].items()
        if values
    ]
    parts = ["\n".join(lines), table(rows, header) if rows else ""]
    if found["sensitivities"]:
        varied = [name for name in next(iter(found["sensitivities"].values())) if name != "explained"]
        rows = [
            (name, *(f"{values[x]:.3g}" for x in varied), f"{100 * values['explained']:.0f}")
            for name, values in found["sensitivities"].items()
        ]
        parts.append(
            "Change with one standard deviation of what is varied\n"
            + table(rows, ("", *varied, "explained, %"))
        )
    return "\n\n".join(part for part in parts if part)
