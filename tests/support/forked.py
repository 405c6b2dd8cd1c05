"""Command lines run in a child of this process: quick to start, and a hang or a crash stays there."""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CPU_LIMIT = 60  # seconds of a processor that a command line may take: what it needs does not depend on load
WALL_LIMIT = 900.0  # seconds, for one that waits without computing


@dataclass(frozen=True)
class Ended:
    """How a command line ended: its exit code (minus a signal), what it said, its processor time."""

    code: int
    out: str
    err: str
    seconds: float
    left: int  # processes that it did not take along; they are ended


def cutjoint(
    words: Sequence[str], folder: Path, env: Mapping[str, str], stop_after: float | None = None
) -> Ended:
    """`cutjoint words…` in a folder.

    stop_after : seconds after which it gets Ctrl-C, for commands that serve until then.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _become(words, folder, env, out.fileno(), err.fileno())
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        pause = 0.001
        while os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() - begin > WALL_LIMIT:
                os.killpg(child, signal.SIGKILL)
            if stop_after is not None and time.monotonic() - begin > stop_after:
                os.kill(child, signal.SIGINT)
                stop_after = None
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        _, status = os.waitpid(child, 0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        left = session(child)
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        return Ended(os.waitstatus_to_exitcode(status), *texts, seconds, len(left))


def session(leader: int) -> list[int]:
    """The processes that belong to a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            state, _, _, own = path.read_text().rpartition(")")[2].split()[:4]
            if int(own) == leader and state != "Z":
                found.append(int(path.parent.name))
    return found


def _become(words: Sequence[str], folder: Path, env: Mapping[str, str], out: int, err: int) -> None:
    """The child: run the command line and end, whatever happens."""
    code = 1
    try:
        atexit._clear()
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(k, mode, encoding="utf-8") for k, mode in enumerate("rww")
        )
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        os.environ.update(env)
        tempfile.tempdir = env.get("TMPDIR")
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT + 5))
        from cutjoint.model.cli.main import main

        code = main(list(words))
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        code = 1
    finally:
        os._exit(code)
