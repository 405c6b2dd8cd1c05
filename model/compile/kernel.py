"""Run traced functions: at once in CasADi's virtual machine, faster as compiled C.

Compiled libraries are kept in the user's cache folder under a hash of their source, the
compiler and its flags. The folder is created for the user alone and refused if
anyone else could write to it, because what lies there is loaded and executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from ..errors import CutjointError
from ..files import write_atomically
from .c_pieces import FORM, split_functions

# More than -O1 gains nothing in straight-line code and takes twice as long; what it needs from
# further up are the fused multiply-adds, which gcc has under "expensive optimizations". Calls
# between the pieces of a kernel stay within its library and need no detour.
FLAGS: tuple[str, ...] = ("-O1", "-fexpensive-optimizations", "-march=native", "-fno-math-errno")
FLAGS += ("-fno-semantic-interposition", "-fno-plt", "-fPIC", "-shared")
TIMEOUT = 600  # seconds for one compilation
MOST_KEPT = 2000  # files in the cache: the kernels of some hundred mechanisms


class Kernel:
    """A traced function with its argument and result arrays, ready to be called many times.

    `kernel(q, v, ...)` returns fresh arrays, from any thread. For tight loops `bind` the code to
    arrays of your own, fill them in place, call `evaluate()` and read `results`: nothing is
    allocated or copied. Keep the kernel itself as long as its `evaluate`: the arrays are the kernel's.
    """

    def __init__(
        self,
        function: ca.Function,
        library: Path | None = None,
        arguments: Sequence[np.ndarray] = (),
        results: Sequence[np.ndarray] = (),
    ):
        self.function = function
        self.library = library
        own = [_array(function.name_in(k), function.size_in(k)) for k in range(function.n_in())]
        self.arguments = [*arguments, *own[len(arguments) :]]
        own = [_array(function.name_out(k), function.size_out(k)) for k in range(function.n_out())]
        self.results = [*results, *own[len(results) :]]
        self._copies = [array.copy for array in self.results]
        self._idle: list[Kernel] = []  # memory for calls, a set for each thread: cheaper than a lock
        self._buffer, self.evaluate = function.buffer()
        for k, array in enumerate(self.arguments):
            self._buffer.set_arg(k, _flat(array))
        for k, array in enumerate(self.results):
            self._buffer.set_res(k, _flat(array))

    @property
    def compiled(self) -> bool:
        """Whether it runs as compiled code."""
        return self.library is not None

    def bind(self, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray] = ()) -> Kernel:
        """The same code on other memory: the first arguments and results are these arrays themselves."""
        return Kernel(self.function, self.library, arguments, results)

    def __call__(self, *values: Any) -> Any:
        try:
            mine = self._idle.pop()
        except IndexError:  # the first call, or other threads are at it
            mine = Kernel(self.function, self.library)
        arguments = mine.arguments
        if len(values) != len(arguments):
            raise TypeError(f"{self.function.name()} takes {len(arguments)} arguments, not {len(values)}")
        for k, value in enumerate(values):
            arguments[k][...] = value
        mine.evaluate()
        results = [copy() for copy in mine._copies]
        self._idle.append(mine)
        return results if len(results) > 1 else results[0]


def _array(name: str, size: tuple[int, int]) -> np.ndarray:
    """Memory of an argument or result: what has a capital name, such as G, is a matrix."""
    if name[0].isupper():
        return np.zeros(size, order="F")
    if size[1] != 1:
        raise AssertionError(f"{name} is a matrix and wants a capital letter")
    return np.zeros(size[0])


def _flat(array: np.ndarray) -> memoryview:
    """The same memory as one row of numbers, in CasADi's column order."""
    return array.reshape(-1, order="F").data


def kernel(function: ca.Function, compile: bool | None = None) -> Kernel:
    """A callable for a traced function.

    compile None: compiled where a C compiler is found; True: or an error; False: never.
    """
    if compile is False:
        return Kernel(function)
    compiler = find_compiler()
    if compiler is None:
        if compile:
            raise CutjointError("no C compiler found; install gcc or clang, set CC, or pass compile=False")
        return Kernel(function)
    try:
        library = build_library(function, compiler)
        return Kernel(ca.external(function.name(), str(library)), library)
    except (OSError, subprocess.SubprocessError, RuntimeError) as problem:
        if compile:
            raise CutjointError(f"the C compiler '{compiler}' failed: {_first_line(problem)}") from problem
        warnings.warn(
            f"the C compiler '{compiler}' failed ({_first_line(problem)}); "
            "running in the slower virtual machine",
            stacklevel=2,
        )
        return Kernel(function)


def find_compiler() -> str | None:
    """The C compiler: $CC, or the first of cc, gcc, clang on the path; None if CUTJOINT_COMPILE=0."""
    if os.environ.get("CUTJOINT_COMPILE") == "0":
        return None
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return name
    return None


def build_library(function: ca.Function, compiler: str) -> Path:
    """Path of the shared library of a function, compiled now or found in the cache."""
    with tempfile.TemporaryDirectory(prefix="cutjoint-") as folder:
        source = Path(folder) / "kernel.c"
        generator = ca.CodeGenerator("kernel.c", {"with_header": False})
        generator.add(function)
        code = generator.dump()
        target = cache_folder() / f"{digest(code, FORM, made_by(shutil.which(compiler) or compiler))}.so"
        if used(target):
            return target
        source.write_text(split_functions(code))
        made = Path(folder) / "kernel.so"
        run = subprocess.run(
            [compiler, *FLAGS, "-o", str(made), str(source), "-lm"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if run.returncode != 0:
            raise RuntimeError(run.stderr.strip() or f"exit code {run.returncode}")
        with kept(target) as temporary:
            shutil.copyfile(made, temporary)
        return target


def cache_folder() -> Path:
    """The user's own folder for compiled libraries, refused if others can write to it."""
    base = os.environ.get("CUTJOINT_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "cutjoint"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.stat()
    mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    if not mine or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CutjointError(
            f"others can write to the cache folder {folder}; run 'chmod 700 {folder}' or set CUTJOINT_CACHE"
        )
    return folder


@contextmanager
def kept(target: Path) -> Iterator[Path]:
    """A path to write to; it becomes a file of the cache, where no half-written one is ever found.

    Then the files that were used longest ago are forgotten, if there are too many. Whoever reads one
    just then has it open, or finds it missing and makes it anew.
    """
    with write_atomically(target) as temporary:
        yield temporary
        temporary.chmod(0o600)
    ages = list[tuple[float, Path]]()
    for path in target.parent.iterdir():
        with contextlib.suppress(OSError):  # another process forgets as well
            ages.append((path.stat().st_mtime, path))
    for _, path in sorted(ages)[:-MOST_KEPT]:
        with contextlib.suppress(OSError):
            path.unlink()


def used(target: Path) -> bool:
    """Whether a file is in the cache; it is then the last to be forgotten."""
    with contextlib.suppress(OSError):
        os.utime(target)
        return True
    return False


def made_by(compiler: str) -> str:
    """What the same source would become something else without: compiler, flags and processor."""
    return "\0".join([*FLAGS, _here(compiler)])


@cache
def _here(compiler: str) -> str:
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=30, check=False)
    return "\0".join([version.stdout, platform.machine(), _processor()])


def digest(*texts: str) -> str:
    """A name for texts that no other texts have."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


def _processor() -> str:
    """Code for the native processor must not be found by another one that shares the home folder."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return platform.processor()


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0][:200] if lines else type(problem).__name__
