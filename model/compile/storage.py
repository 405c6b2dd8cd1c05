"""The folder of compiled code: the user's own, or a temporary one where that is missing, full or not safe.

What lies there is loaded and executed. So the folder is created for the user alone, and not used if anybody
else could put something there: into it, or into its place by renaming what is above it. A cache that fails is
no reason to fail: the same code then goes to a folder that only this process and those it starts know of.
"""

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..base.errors import CutjointError
from ..base.files import write_atomically
from ..base.subprocesses import remove_at_stop

VARIABLE = "CUTJOINT_CACHE"
MOST_KEPT = 4000  # files in the cache: the kernels of some hundred mechanisms, each with its checksum
_lock = threading.Lock()
_temporary: Path | None = None  # what `use_temporary` made in this process


def cache_folder() -> Path:
    """The folder for compiled libraries, made if missing; CutjointError if there is none to be had."""
    if _temporary is not None and os.environ.get(VARIABLE) == str(_temporary):
        return _made(_temporary)
    try:
        folder = _made(_base())
        check_trust(folder)
    except (CutjointError, OSError, RuntimeError) as problem:  # the last: nobody knows where home is
        return use_temporary(problem)
    return folder


def _base() -> Path:
    """Where the user wants caches to be."""
    if given := os.environ.get(VARIABLE):
        return Path(given).absolute()
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".cache"


def _made(base: Path) -> Path:
    folder = base / "cutjoint"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder.resolve()


def check_trust(folder: Path) -> None:
    """CutjointError if anybody but its owner and root can change what is found under this path.

    Above the folder, entries of a sticky folder such as /tmp are safe, as only their owners rename them, and
    so is a group that a user has to himself (its number is the user's).
    """
    if not hasattr(os, "getuid"):
        return
    me = os.getuid()
    for place in (folder, *folder.parents):
        status = place.stat()
        others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if place != folder:
            if status.st_mode & stat.S_ISVTX:
                others = 0
            elif status.st_gid == me:
                others &= stat.S_IWOTH
        if others or status.st_uid not in (0, me):
            mode = "700" if place == folder else "go-w"
            raise CutjointError(f"others can write to '{place}' (to mend it: chmod {mode} '{place}')")


def use_temporary(problem: BaseException) -> Path:
    """Have this process, and those it starts, use a cache that is removed when it ends; said once."""
    global _temporary
    why = " ".join(str(problem).split()).rstrip(".")
    with _lock:
        if _temporary is None:
            try:
                base = Path(tempfile.mkdtemp(prefix="cutjoint-cache-"))
            except OSError as other:
                raise CutjointError(
                    f"there is no folder for compiled code: {why}, nor a temporary one ({other.strerror}); "
                    f"set {VARIABLE} or TMPDIR"
                ) from problem
            _temporary = base
            atexit.register(_remove, base, os.getpid())
            remove_at_stop(base)
            warnings.warn(
                f"compiled code is kept for this run only: {why}; set {VARIABLE} to a folder of your own",
                stacklevel=3,
            )
        elif os.environ.get(VARIABLE) == str(_temporary):
            raise CutjointError(why) from problem  # that one fails as well
        os.environ[VARIABLE] = str(_temporary)
        return _made(_temporary)


def _remove(base: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(base, ignore_errors=True)


def store(name: str, write: Callable[[Path], Any]) -> Path:
    """Have a file written into the cache, where no half-written one is ever found, and return its path.

    Its checksum is written beside it. Where the folder fails, the file goes to a temporary one.
    """
    try:
        return _write(cache_folder() / name, write)
    except CutjointError as problem:
        return _write(use_temporary(problem) / name, write)


def _write(target: Path, write: Callable[[Path], Any]) -> Path:
    with write_atomically(target) as temporary:
        write(temporary)
        temporary.chmod(0o600)
        checksum = _checksum(temporary)
    with write_atomically(_sum_of(target)) as temporary:
        temporary.write_text(checksum, encoding="ascii")
        temporary.chmod(0o600)
    _forget(target.parent)
    return target


def _forget(folder: Path) -> None:
    """Remove the files that were used longest ago, if there are too many.

    Whoever reads one just then has it open, or finds it missing and makes it anew.
    """
    ages = list[tuple[float, Path]]()
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            with contextlib.suppress(OSError):  # another process forgets as well
                ages.append((path.stat().st_mtime, path))
    for _, path in sorted(ages)[:-MOST_KEPT]:
        with contextlib.suppress(OSError):
            path.unlink()


def is_whole(target: Path) -> bool:
    """Whether a file is in the cache as it was put there; it is then the last to be forgotten.

    To load a library that is cut off ends the process, and one that is damaged does anything: such are said
    and removed, so that they are made again.
    """
    known = _sum_of(target)
    try:
        whole = known.read_bytes() == _checksum(target).encode()
    except OSError:  # not there, or forgotten by another process just now
        return False
    if whole:
        with contextlib.suppress(OSError):
            os.utime(target)
            os.utime(known)
        return True
    warnings.warn(f"'{target}' was damaged; it is made again", stacklevel=2)
    for path in (target, known):
        with contextlib.suppress(OSError):
            path.unlink()
    return False


def _sum_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.sum")


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest(*texts: str) -> str:
    """A name for texts that no other texts have."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]
