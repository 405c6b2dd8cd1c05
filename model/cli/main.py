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

from ..base import annexes
from ..base.annexes import Command
from ..base.errors import AssemblyError, CutjointError, SimulationError, UnknownName, inert
from ..base.posix_signals import Told, end_on_signal
from .common import Options, check_outputs
from .parser import Parser

# The core's own; annexes bring theirs.
CORE = {
    "list": Command("cutjoint.model.cli.list", "list the mechanisms that come with cutjoint", 10),
    "new": Command("cutjoint.model.cli.new", "write a description to start your own from", 30),
    "check": Command("cutjoint.model.cli.check", "all that is wrong with a description", 31),
    "schema": Command("cutjoint.model.cli.schema", "a JSON Schema of descriptions, for editors", 32),
    "completion": Command("cutjoint.model.cli.completion", "completion for bash, zsh or fish", 95),
    "show": Command("cutjoint.model.cli.show", "bodies, joints, loops, mobility; draw a picture", 40),
    "assemble": Command("cutjoint.model.cli.assemble", "close the loops and print the coordinates", 41),
    "reach": Command("cutjoint.model.cli.reach", "put a frame somewhere: joints, limits, forces", 41),
    "simulate": Command("cutjoint.model.cli.simulate", "run a mechanism; write a table or a plot", 42),
    "statics": Command("cutjoint.model.cli.statics", "efforts that hold it, over a stroke too", 42),
    "linearize": Command("cutjoint.model.cli.linearize", "matrices A, B, C, D and eigenvalues", 43),
    "export": Command("cutjoint.fmu.cli", "write a functional mock-up unit (FMU)", 60),
    "library": Command("cutjoint.native.library_cli", "write its kinematics as a C library", 62),
    "node": Command("cutjoint.ros.cli", "run a mechanism as a ROS 2 node", 70),
    "complete": Command("cutjoint.ros.complete_cli", "all joints of a real robot from its encoders", 71),
    "replay": Command("cutjoint.ros.replay_cli", "make a recorded motion again, or publish it", 71),
}
DEBUG = "CUTJOINT_DEBUG"
UNEXPECTED, USAGE, NOT_ASSEMBLED, NOT_SIMULATED = 1, 2, 3, 4
BROKEN_PIPE = 128 + 13
NO_MEMORY = ("failed to map segment from shared object", "std::bad_alloc")  # as others say it


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
            logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where there is no home it finds a place
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
    if arguments and arguments[0] in (known := commands()):
        name = arguments[0]
        module = importlib.import_module(known[name].module)
        parser = Parser(
            prog=f"cutjoint {name}",
            description=module.HELP,
            epilog="example:\n" + "\n".join(f"  {line}" for line in _examples(module, name)),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        written = add_arguments(module, name, parser)
        args = parser.read(arguments[1:])
        check_outputs(args, written)
        return int(module.run(args))
    top = _top_parser()
    if not arguments:
        top.print_help()
        return USAGE
    rest = top.parse_args(arguments).command
    near = difflib.get_close_matches(rest, commands(), n=1)
    hint = f"did you mean '{near[0]}'?" if near else "see 'cutjoint --help'"
    raise CutjointError(f"there is no command '{rest}'; {hint}")


def _examples(module: Any, name: str) -> list[str]:
    """Command lines that show a subcommand, those of annexes behind its own."""
    texts = [module.EXAMPLE, *(getattr(x, "EXAMPLE", "") for x in annexes.extensions(name))]
    return [line for text in texts for line in text.strip().splitlines()]


def _top_parser() -> argparse.ArgumentParser:
    lines = [f"  {name:<11}{command.help}" for name, command in commands().items()]
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


def commands() -> dict[str, Command]:
    """The subcommands whose module is there, in the order of the help."""
    there = {name: c for name, c in (CORE | annexes.commands()).items() if _exists(c.module)}
    return dict(sorted(there.items(), key=lambda item: item[1].place))


def add_arguments(module: Any, name: str, parser: Any) -> list[str]:
    """Declare a subcommand's own arguments, and what annexes add to it; those that name files to write."""
    option = Options(parser)
    module.add_arguments(option)
    for extension in annexes.extensions(name):
        extension.add_arguments(option)
    return option.written


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
    if isinstance(error, MemoryError) or any(text in str(error) for text in NO_MEMORY):
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
    print(f"cutjoint: {' '.join(inert(message).split())}", file=sys.stderr)
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
            print(f"cutjoint: {inert(str(message))}", file=sys.stderr)

    return show
