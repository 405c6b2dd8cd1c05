"""`cutjoint export stewart pd.fmu --ssp both.ssp --connect …`: systems of FMUs, and parameter sets."""

import argparse
from pathlib import Path

from ...model.base.errors import CutjointError
from ...model.base.subprocesses import scratch_folder
from ...model.cli.common import MANY, Options, check_targets, to_json
from ...native.c_sources import identifier
from ..cli import export_one
from .ssp import component, parameter_set, write_ssp

EXAMPLE = "cutjoint export stewart pd.fmu --ssp both.ssp --connect pd.torque1=stewart.motor.motor1.torque"


def add_arguments(option: Options) -> None:
    option("--ssp", "FILE", "pack several, mechanisms or FMUs there are, as a system (SSP)", writes=True)
    text = "of a system: from an output to an input, by the FMUs' names"
    option("--connect", "FMU.OUTPUT=FMU.INPUT", text, **MANY)
    text = "parameters and start values in parameter sets (SI, or with a unit), of a system FMU.NAME"
    option("--set", "NAME=VALUE", text, **MANY)
    option(
        "--ssv", "FILE", "write parameters and start values as a parameter set beside the FMU", writes=True
    )


def check(args: argparse.Namespace) -> None:
    """Refuse options that mean nothing without others."""
    if args.connect and not args.ssp:
        raise CutjointError("several mechanisms and their connections make a system: say where, --ssp FILE")
    if args.set and not (args.ssv or args.ssp):
        raise CutjointError("--set is for parameter sets: say where, --ssv FILE or --ssp FILE")
    check_targets(args.ssv)


def wants_fmu(args: argparse.Namespace) -> bool:
    """A parameter set stands beside an FMU."""
    return bool(args.ssv)


def beside(args: argparse.Namespace, fmu: Path) -> tuple[str, str, str] | None:
    """The parameter set of an FMU: what it is, its file, its text."""
    if not args.ssv:
        return None
    return "parameters", args.ssv, parameter_set({"": component(fmu)}, _values(args))


def instead(args: argparse.Namespace) -> int | None:
    """Pack a system of FMUs, those that are there, and others made of mechanisms, if that is asked for."""
    if not args.ssp:
        return None
    if args.to or args.ssv or getattr(args, "page", None):
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
                export_one(args, given, fmus[name], scalar=True)
        write_ssp(
            args.ssp, fmus, [(a, b) for a, _, b in pairs], _values(args), identifier(Path(args.ssp).stem)
        )
    if args.json:
        print(to_json({"file": args.ssp, "fmus": list(fmus), "connections": args.connect}))
    else:
        print(f"wrote {args.ssp}: {', '.join(fmus)}, {len(pairs)} connection{'' if len(pairs) == 1 else 's'}")
    return 0


def _values(args: argparse.Namespace) -> dict[str, float | str]:
    pairs = [word.partition("=") for word in args.set]
    for name, equals, _ in pairs:
        if not equals:
            raise CutjointError(f"--set takes NAME=VALUE, not '{name}'")
    return {name: text for name, _, text in pairs}
