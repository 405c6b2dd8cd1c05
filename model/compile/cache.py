"""Kernels that were here before, found without tracing them again.

Tracing a mechanism's functions takes longer than anything else at a start. What a function
becomes depends on the description, on the function's name and on our own source alone. So the cache
also holds, under a hash of these, which library a function was compiled to, and of functions that
are not compiled the function itself.
"""

import contextlib
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca

from ..errors import CutjointError
from . import kernel as compiling
from .kernel import Kernel, cache_folder, digest, kept, kernel, made_by, used

PACKAGE = __name__.rsplit(".", 2)[0]
LIBRARY = re.compile(r"(\w+) ([0-9a-f]{32}\.so)")


def remembered(
    of: str, name: str, trace: Callable[[], ca.Function], compile: bool | None, native: bool = True
) -> Kernel:
    """The kernel called `name` of what the text `of` describes, traced only if it is new here.

    Without a text nothing is looked up. compile: as for `kernel`; False keeps out of the cache. What is
    not `native` is never compiled.
    """
    wanted = compile if native else False
    compiler = compiling.find_compiler() if native else None
    if not of or compile is False or (wanted and compiler is None):
        return kernel(trace(), wanted)
    try:
        folder = cache_folder()
    except (CutjointError, OSError):
        return kernel(trace(), wanted)  # which will say what is wrong, if it needs the folder
    by = made_by(shutil.which(compiler) or compiler) if compiler else ""
    entry = folder / f"{digest(of, name, source_digest(), ca.__version__, by)}.kernel"
    found = _found(entry, compiler is not None)
    if found is None:
        found = kernel(trace(), wanted)
        _keep(found, entry, compiler is not None)
    return found


def ours(*made: Any) -> bool:
    """Whether functions and objects are of our own source, as `remembered` takes for granted."""
    homes = (getattr(x, "__module__", None) or type(x).__module__ for x in made)
    return all(f"{home}.".startswith(f"{PACKAGE}.") for home in homes)


@cache
def source_digest() -> str:
    """A hash of all our source: code traced by an older one is not found."""
    root = Path(__file__).resolve().parents[1]
    files = sorted(root.rglob("*.py"))
    return digest(*(f"{p.relative_to(root)}\0{p.read_text(encoding='utf-8')}" for p in files))


def _found(entry: Path, native: bool) -> Kernel | None:
    """What an entry leads to; None if it is missing or damaged."""
    with contextlib.suppress(OSError, RuntimeError, UnicodeDecodeError):
        if not used(entry):
            return None
        if not native:
            return Kernel(ca.Function.load(str(entry)))
        if found := LIBRARY.fullmatch(entry.read_text(encoding="utf-8")):
            library = entry.with_name(found[2])
            used(library)
            return Kernel(ca.external(found[1], str(library)), library)
    return None


def _keep(made: Kernel, entry: Path, native: bool) -> None:
    """An entry for a kernel; if it can't be written, the next start traces again."""
    if native and made.library is None:
        return  # the compiler failed
    with contextlib.suppress(CutjointError), kept(entry) as temporary:
        if made.library:
            temporary.write_text(f"{made.function.name()} {made.library.name}", encoding="utf-8")
        else:
            made.function.save(str(temporary))
