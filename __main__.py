"""The way in: `cutjoint`, or `python -m cutjoint`.

Ctrl-C ends the command also while its modules are still being imported, which takes a quarter of a second:
Python would say so with a traceback, or, where a compiled module swallows the interruption, go on or fail.
"""

import os
import signal
import sys


def main() -> int:
    """Run the process's own command line and return the exit code."""
    _open_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored
        signal.signal(signal.SIGINT, _leave)
    from cutjoint.model.cli.main import main as command

    return command()


def _open_streams() -> None:
    """Have streams that were closed (`2>&-`) lead nowhere: else the next file to be opened gets their number,
    and what is meant for them is written into it."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _leave(signum: int, *_: object) -> None:
    """Nothing has begun that would have to be undone."""
    os.write(2, b"cutjoint: stopped\n")
    os._exit(128 + signum)


if __name__ == "__main__":
    sys.exit(main())
