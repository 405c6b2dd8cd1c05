"""The `cutjoint` command: finds the subcommand, runs it, and turns failures into one line.

A subcommand is a module with `HELP` (one line), `EXAMPLE` (shown below its help),
`add_arguments(option)` and `run(args) -> exit code`. Modules are imported only when their
subcommand is used, so help is quick and the engine knows nothing of FMI or ROS.

Exit codes: 0 done, 1 unexpected, 2 wrong usage or description, 3 a loop can't be closed,
4 the simulation failed or can't be trusted, 5 a required speed is missed (`bench`), 130 stopped by Ctrl-C.
"""

import argparse
import difflib
import importlib
import importlib.util
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import AssemblyError, CutjointError, SimulationError, UnknownName
from ..signals import Told, end_on_signal
from .common import Options
from .parser import Parser

# Name -> module, one-line help. Those whose module is not installed are not offered.
COMMANDS: dict[str, tuple[str, str]] = {
    "list": ("cutjoint.model.cli.list", "list the mechanisms that come with cutjoint"),
    "import": ("cutjoint.model.cli.import_robot", "read a URDF, MJCF or SDF file, with a report"),
    "convert": ("cutjoint.model.cli.convert", "write a mechanism as URDF, MJCF, SDF or YAML"),
    "new": ("cutjoint.model.cli.new", "write a description to start your own from"),
    "check": ("cutjoint.model.cli.check", "all that is wrong with a description"),
    "schema": ("cutjoint.model.cli.schema", "a JSON Schema of descriptions, for editors"),
    "show": ("cutjoint.model.cli.show", "bodies, joints, loops, mobility; draw a picture"),
    "assemble": ("cutjoint.model.cli.assemble", "close the loops and print the coordinates"),
    "simulate": ("cutjoint.model.cli.simulate", "run a mechanism; write a table or a plot"),
    "linearize": ("cutjoint.model.cli.linearize", "matrices A, B, C, D and eigenvalues"),
    "verify": ("cutjoint.model.cli.verify", "check a mechanism and say what to trust"),
    "propagate": ("cutjoint.model.cli.propagate", "carry a design change through the loops"),
    "sweep": ("cutjoint.model.cli.sweep", "many runs with different numbers, a row each"),
    "export": ("cutjoint.fmu.cli", "write a functional mock-up unit (FMU)"),
    "realtime": ("cutjoint.fmu.realtime_cli", "make a native loop for hardware in the loop"),
    "node": ("cutjoint.ros.cli", "run a mechanism as a ROS 2 node"),
    "replay": ("cutjoint.ros.replay_cli", "make a recorded motion again, or publish it"),
    "view": ("cutjoint.model.cli.view", "move a mechanism in the browser"),
    "bench": ("cutjoint.benchmarks.cli", "measure speed beside other engines"),
    "reproduce": ("cutjoint.model.cli.reproduce", "tables and figures of the papers"),
}
DEBUG = "CUTJOINT_DEBUG"
UNEXPECTED, USAGE, NOT_ASSEMBLED, NOT_SIMULATED = 1, 2, 3, 4
BROKEN_PIPE = 128 + 13


def main(argv: list[str] | None = None, alone: bool | None = None) -> int:
    """Run the command line `argv` (the process's own if None) and return the exit code.

    alone : nothing else runs in this process, as by default if argv is None: told to stop, it leaves at once.
    """
    arguments = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without · or ² still gets the rest
            stream.reconfigure(errors="replace")
    told, alone = Told(), argv is None if alone is None else alone
    try:
        with end_on_signal(told):
            return _ended(arguments, told, alone)
    except KeyboardInterrupt:  # in the moment before, or after
        return _stopped(told, alone)


def _ended(arguments: list[str], told: Told, alone: bool) -> int:
    """The exit code of a command line that is run."""
    try:
        with warnings.catch_warnings(), _telling("cutjoint.model.compile.kernel"):
            warnings.showwarning = _print_once()
            # of a state that is infinite, which is then said in words
            warnings.filterwarnings("ignore", message="invalid value encountered in dot")
            code = _dispatch(arguments)
        if told.signal:  # the interruption was swallowed on the way
            raise KeyboardInterrupt
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except SystemExit as exit_:  # argparse: --help, --version, wrong usage
        return exit_.code if isinstance(exit_.code, int) else UNEXPECTED
    except KeyboardInterrupt:
        return _stopped(told, alone)
    except BrokenPipeError:
        # The reader of our output has gone (`cutjoint list | head -1`): nothing left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if told.signal:  # an interruption that other people's code turned into something else
            return _stopped(told, alone)
        if os.environ.get(DEBUG):
            raise
        return _report(error)


def _stopped(told: Told, alone: bool) -> int:
    """What was half done is undone by now: Python need not take itself and CasADi's graphs apart."""
    code = _fail("stopped", 128 + (told.signal or signal.SIGINT))
    if alone:
        sys.stderr.flush()
        os._exit(code)
    return code


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in COMMANDS and _exists(COMMANDS[arguments[0]][0]):
        name = arguments[0]
        module = importlib.import_module(COMMANDS[name][0])
        parser = Parser(
            prog=f"cutjoint {name}",
            description=module.HELP,
            epilog="example:\n" + "\n".join(f"  {line}" for line in module.EXAMPLE.strip().splitlines()),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(Options(parser))
        return int(module.run(parser.read(arguments[1:])))
    top = _top_parser()
    if not arguments:
        top.print_help()
        return USAGE
    rest = top.parse_args(arguments).command
    near = difflib.get_close_matches(rest, available(), n=1)
    hint = f"did you mean '{near[0]}'?" if near else "see 'cutjoint --help'"
    raise CutjointError(f"there is no command '{rest}'; {hint}")


def _top_parser() -> argparse.ArgumentParser:
    lines = [f"  {name:<11}{COMMANDS[name][1]}" for name in available()]
    parser = argparse.ArgumentParser(
        prog="cutjoint",
        usage="cutjoint COMMAND [options]",
        description="Dynamics of mechanisms with closed loops.\n\ncommands:\n" + "\n".join(lines),
        epilog="example:\n  cutjoint simulate stewart --time 2 --torque all=10 --plot stewart.png\n\n"
        "A mechanism is the name of one that ships (cutjoint list), or the path of a description file\n"
        "or of a robot (URDF, xacro, MJCF, SDF). 'cutjoint COMMAND --help' says more.\n"
        f"{DEBUG}=1 shows tracebacks.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    parser.add_argument("command", metavar="COMMAND", help=argparse.SUPPRESS)
    parser.add_argument("options", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


class _Version(argparse.Action):
    """Print the installed version; read only on demand, since importlib.metadata is slow."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"cutjoint {version('cutjoint')}")
        parser.exit()


def available() -> list[str]:
    """The subcommands whose module is there."""
    return [name for name, (module, _) in COMMANDS.items() if _exists(module)]


def _exists(module: str) -> bool:
    """Whether a module is installed; its package is not imported for that, which would take time."""
    package, _, name = module.rpartition(".")
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return False
    folders = (found.submodule_search_locations or ()) if found else ()
    return any(os.path.exists(os.path.join(folder, f"{name}.py")) for folder in folders)


def _report(error: Exception) -> int:
    if isinstance(error, CutjointError):
        codes = {AssemblyError: NOT_ASSEMBLED, UnknownName: USAGE, SimulationError: NOT_SIMULATED}
        return _fail(str(error), next((c for t, c in codes.items() if isinstance(error, t)), USAGE))
    if isinstance(error, OSError):
        where = f" '{error.filename}'" if error.filename else ""
        return _fail(f"can't use the file{where}: {error.strerror or error}", USAGE)
    if isinstance(error, MemoryError):
        return _fail("not enough memory", UNEXPECTED)
    text = " ".join(str(error).split()) or "no message"
    return _fail(
        f"unexpected {type(error).__name__}: {text} (run again with {DEBUG}=1 for the traceback)",
        UNEXPECTED,
    )


def _fail(message: str, code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:  # full disk or closed pipe: Python would complain again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    print(f"cutjoint: {' '.join(message.split())}", file=sys.stderr)
    return code


@contextmanager
def _telling(logger: str) -> Iterator[None]:
    """While this lasts, what is logged of long work is told, a line each."""
    log, tell = logging.getLogger(logger), logging.StreamHandler(sys.stderr)
    tell.setFormatter(logging.Formatter("cutjoint: %(message)s"))
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(tell)
    try:
        yield
    finally:
        log.removeHandler(tell)
        log.setLevel(level)


def _print_once() -> Callable[..., None]:
    """A way to show warnings: each once, as one line."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            print(f"cutjoint: {message}", file=sys.stderr)

    return show
