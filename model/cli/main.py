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
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..errors import AssemblyError, CutjointError, SimulationError, UnknownName
from .common import Options

# Name -> module, one-line help. Those whose module is not installed are not offered.
COMMANDS: dict[str, tuple[str, str]] = {
    "list": ("cutjoint.model.cli.list", "list the mechanisms that come with cutjoint"),
    "import": ("cutjoint.model.cli.import_robot", "read a URDF, MJCF or SDF file, with a report"),
    "convert": ("cutjoint.model.cli.convert", "write a mechanism as URDF, MJCF, SDF or YAML"),
    "show": ("cutjoint.model.cli.show", "bodies, joints, loops, mobility; draw a picture"),
    "assemble": ("cutjoint.model.cli.assemble", "close the loops and print the coordinates"),
    "simulate": ("cutjoint.model.cli.simulate", "run a mechanism; write a table or a plot"),
    "linearize": ("cutjoint.model.cli.linearize", "matrices A, B, C, D and eigenvalues"),
    "verify": ("cutjoint.model.cli.verify", "check a mechanism and say what to trust"),
    "propagate": ("cutjoint.model.cli.propagate", "carry a design change through the loops"),
    "export": ("cutjoint.fmu.cli", "write a functional mock-up unit (FMU)"),
    "node": ("cutjoint.ros.cli", "run a mechanism as a ROS 2 node"),
    "view": ("cutjoint.model.cli.view", "move a mechanism in the browser"),
    "bench": ("cutjoint.benchmarks.cli", "measure speed beside other engines"),
    "reproduce": ("cutjoint.model.cli.reproduce", "tables and figures of the papers"),
}
DEBUG = "CUTJOINT_DEBUG"
UNEXPECTED, USAGE, NOT_ASSEMBLED, NOT_SIMULATED = 1, 2, 3, 4
INTERRUPTED, BROKEN_PIPE, TERMINATED = (128 + signum for signum in (2, 13, 15))


def main(argv: list[str] | None = None) -> int:
    """Run the command line `argv` (the process's own if None) and return the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without · or ² still gets the rest
            stream.reconfigure(errors="replace")
    old_handler = _terminate_cleanly()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_once()
            code = _dispatch(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except SystemExit as exit_:  # argparse: --help, --version, wrong usage
        return exit_.code if isinstance(exit_.code, int) else UNEXPECTED
    except KeyboardInterrupt:
        return _fail("stopped", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (`cutjoint list | head -1`): nothing left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _report(error)
    finally:
        # A command that ended by a signal ignores further ones until the process has gone.
        if old_handler is not None and signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, old_handler)


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in COMMANDS and _exists(COMMANDS[arguments[0]][0]):
        name = arguments[0]
        module = importlib.import_module(COMMANDS[name][0])
        parser = argparse.ArgumentParser(
            prog=f"cutjoint {name}",
            description=module.HELP,
            epilog="example:\n" + "\n".join(f"  {line}" for line in module.EXAMPLE.strip().splitlines()),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(Options(parser))
        return int(module.run(parser.parse_args(arguments[1:])))
    parser = _top_parser()
    if not arguments:
        parser.print_help()
        return USAGE
    rest = parser.parse_args(arguments).command
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


def _print_once() -> Callable[..., None]:
    """A way to show warnings: each once, as one line."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            print(f"cutjoint: {message}", file=sys.stderr)

    return show


def _terminate_cleanly() -> Any:
    """Let SIGTERM unwind the stack like Ctrl-C, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        return None

    def stop(signum: int, frame: FrameType | None) -> None:
        raise SystemExit(TERMINATED)

    return signal.signal(signal.SIGTERM, stop)


if __name__ == "__main__":
    sys.exit(main())
