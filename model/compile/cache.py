"""Kernels that were here before, found without tracing them again.

Tracing a mechanism's functions takes longer than anything else at a start. What a function
becomes depends on the description, on the function's name and on our own source alone. So the cache
also holds, under a hash of these, which library a function was compiled to, and of functions that
are not compiled the function itself.
"""

import contextlib
import errno
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca

from ..base.errors import CutjointError
from . import kernel as compiling
from .kernel import Kernel, compile_or_warn, compiler_fingerprint, kernel
from .lanes import LaneKernel, NotInLanes, build_lanes
from .storage import cache_folder, digest, is_whole, store

PACKAGE = __name__.rsplit(".", 2)[0]
LOG = logging.getLogger(__name__)
LOOK = 0.05  # seconds between two looks at what another process builds
LIBRARY = re.compile(r"(\w+) ([0-9a-f]{32}\.so)")


def recall_kernel(
    of: str, name: str, trace: Callable[[], ca.Function], compile: bool | None, native: bool = True
) -> Kernel:
    """The kernel called `name` of what the text `of` describes, traced only if it is new here.

    Without a text nothing is looked up. compile: as for `kernel`; False keeps out of the cache. What is
    not `native` is never compiled.
    """
    wanted = compile if native else False
    compiler = compiling.find_compiler() if native else None
    if not of or compile is False or (wanted and compiler is None):
        return _built(name, trace, wanted)
    try:
        folder = cache_folder()
    except CutjointError:
        return kernel(trace(), wanted)  # which will say what is wrong, if it needs the folder
    by = compiler_fingerprint(compiler) if compiler else ""
    entry = folder / f"{digest(of, name, source_digest(), ca.__version__, by)}.kernel"
    found = _found(entry, compiler is not None)
    if found is None:
        with alone(entry, name):
            found = _found(entry, compiler is not None)  # another process may have built it meanwhile
            if found is None:
                found = _built(name, trace, wanted)
                _keep(found, entry, compiler is not None)
    return found


def recall_lanes(
    of: str, name: str, trace: Callable[[], ca.Function], compile: bool | None
) -> LaneKernel | None:
    """The same over lanes; None without a compiler, or if the function's lanes can't go together."""
    compiler = None if compile is False else compiling.find_compiler()
    if compiler is None:
        return None
    entry = None
    with contextlib.suppress(OSError, UnicodeDecodeError, CutjointError):
        if of:
            keys = of, name, source_digest(), ca.__version__, compiler_fingerprint(compiler)
            entry = cache_folder() / f"{digest(*keys)}.lanes"
            if is_whole(entry) and (found := LIBRARY.fullmatch(entry.read_text(encoding="utf-8"))):
                library = entry.with_name(found[2])
                if is_whole(library):
                    return LaneKernel(library)
    function = trace()
    try:
        made = compile_or_warn(lambda: LaneKernel(build_lanes(function, compiler)), compiler, compile)
    except NotInLanes:
        return None
    if made and entry:
        text = f"kernel {made.library.name}"
        with contextlib.suppress(CutjointError):
            store(entry.name, lambda path: path.write_text(text, encoding="utf-8"))
    return made


def _built(name: str, trace: Callable[[], ca.Function], compile: bool | None) -> Kernel:
    """A kernel, traced and compiled now; who listens hears of it."""
    LOG.info("building '%s'", name)
    begin = time.monotonic()
    made = kernel(trace(), compile)
    LOG.info("built '%s' in %.1f s", name, time.monotonic() - begin)
    return made


@contextmanager
def alone(entry: Path, name: str) -> Iterator[None]:
    """While this lasts, no other process builds the same: it waits, and finds what was built.

    Each entry has a byte of its own in one file that is locked. A process that ends lets go of it.
    """
    try:
        import fcntl
    except ImportError:  # no such locks here: two processes build the same, and one file stays
        yield
        return
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # a folder that can't be written: `_keep` keeps nothing there
            file = held.enter_context(open(entry.with_name("building.lock"), "a", opener=_private))
            waits = False
            while not _locked(fcntl, file, int(entry.stem[:15], 16)):
                if not waits:
                    LOG.info("another process builds '%s': waiting for it", name)
                waits = True
                time.sleep(LOOK)
        yield


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _locked(fcntl: Any, file: Any, byte: int) -> bool:
    """Whether the byte is ours now; file systems without locks say yes, and everybody builds."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError as problem:
        return problem.errno not in (errno.EACCES, errno.EAGAIN)
    return True


def ours(*made: Any) -> bool:
    """Whether functions and objects are of our own source, as `recall_kernel` takes for granted."""
    homes = (getattr(x, "__module__", None) or type(x).__module__ for x in made)
    return all(f"{home}.".startswith(f"{PACKAGE}.") for home in homes)


@cache
def source_digest() -> str:
    """A hash of all our source: code traced by an older one is not found."""
    root = Path(__file__).resolve().parents[1]
    files = sorted(path for ending in ("py", "h", "c") for path in root.rglob(f"*.{ending}"))
    return digest(*(f"{p.relative_to(root)}\0{p.read_text(encoding='utf-8')}" for p in files))


def _found(entry: Path, native: bool) -> Kernel | None:
    """What an entry leads to; None if it is missing or damaged."""
    with contextlib.suppress(OSError, RuntimeError, UnicodeDecodeError):
        if not is_whole(entry):
            return None
        if not native:
            return Kernel(ca.Function.deserialize(entry.read_text(encoding="utf-8")))
        if found := LIBRARY.fullmatch(entry.read_text(encoding="utf-8")):
            library = entry.with_name(found[2])
            if not is_whole(library):
                return None
            return Kernel(ca.external(found[1], str(library)), library)
    return None


def _keep(made: Kernel, entry: Path, native: bool) -> None:
    """An entry for a kernel; if it can't be written, the next start traces again."""
    if native and made.library is None:
        return  # the compiler failed
    function = made.function
    text = f"{function.name()} {made.library.name}" if made.library else function.serialize()
    with contextlib.suppress(CutjointError):
        store(entry.name, lambda path: path.write_text(text, encoding="utf-8"))
