"""Run traced functions: at once in CasADi's virtual machine, faster as compiled C.

Compiled libraries are kept in the user's cache folder under a hash of their source, the
compiler and its flags. The folder is created for the user alone and refused if
anyone else could write to it, because what lies there is loaded and executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import platform
import shutil
import stat
import subprocess
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from ..errors import CutjointError
from ..files import write_atomically
from ..programs import run_program, scratch_folder
from . import calling
from .c_pieces import FORM, files_of, split_functions

# More than -O1 gains nothing in straight-line code and takes twice as long; what it needs from
# further up are the fused multiply-adds, which gcc has under "expensive optimizations". Calls
# between the pieces of a kernel stay within its library and need no detour.
FLAGS: tuple[str, ...] = ("-O1", "-fexpensive-optimizations", "-march=native", "-fno-math-errno")
FLAGS += ("-fno-semantic-interposition", "-fno-plt", "-fPIC", "-shared")
# Passes of gcc that look for what such code does not have, as measured: without them it is compiled in
# two thirds of the time and runs as fast.
_IDLE = "tree-dse dse tree-dominator-opts tree-ccp tree-bit-ccp tree-forwprop tree-copy-prop tree-pta"
_IDLE += " tree-sink forward-propagate cprop-registers"
WITHOUT_IDLE = tuple(f"-fno-{name}" for name in _IDLE.split())
TIMEOUT = 600  # seconds for one compilation
LONG = 100_000  # lines of code, one an operation, whose compilation takes seconds and is told
MOST = 800_000  # lines that are compiled unasked: a minute of a processor, less of several
Made = TypeVar("Made")
LOG = logging.getLogger(__name__)


class TooLong(RuntimeError):
    """Code that would keep a compiler busy for longer than anyone expects."""


MOST_KEPT = 4000  # files in the cache: the kernels of some hundred mechanisms, each with its checksum


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
        self.evaluate = self._called()

    def taking(self, to: np.ndarray, found: np.ndarray, said: np.ndarray) -> Callable[[], Any]:
        """What evaluates and copies `found` into `to`, unless the code has `said` anything: then, True."""
        if direct := self._direct((to, found, said)):
            return direct
        plain, moved, words, nothing = to.data, found.data, said.data.cast("B").tobytes, bytes(said.nbytes)

        def take() -> bool:
            self.evaluate()
            if words() != nothing:
                return True
            plain[:] = moved
            return False

        return take

    def _direct(self, moves: Sequence[np.ndarray] = ()) -> Callable[[], Any] | None:
        """What calls the compiled code itself, where that is possible."""
        by = _caller_library() if self.library else None
        if not (by and self.library):
            return None
        f = self.function
        sizes = f.sz_arg(), f.sz_res(), f.sz_iw(), f.sz_w()
        code = calling.address(self.library, f.name())
        return calling.caller(by, code, sizes, self.arguments, self.results, moves)

    def _called(self) -> Callable[[], Any]:
        """What runs the code on our arrays."""
        if direct := self._direct():
            return direct
        buffer, evaluate = self.function.buffer()
        for k, array in enumerate(self.arguments):
            buffer.set_arg(k, _flat(array))
        for k, array in enumerate(self.results):
            buffer.set_res(k, _flat(array))
        self._buffer = buffer
        return evaluate  # type: ignore[no-any-return]

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


@cache
def _caller_library() -> Path | None:
    """The compiled way into kernels, the same for all; None where CasADi's has to do."""
    compiler = find_compiler() if calling.DIRECT else None
    if compiler is None:
        return None
    with contextlib.suppress(OSError, RuntimeError, subprocess.SubprocessError, CutjointError):
        made = compiled(calling.source(), compiler)
        return made if calling.address(made, "call") else None
    return None


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

    def build() -> Kernel:
        library = build_library(function, compiler, None if compile else MOST)
        return Kernel(ca.external(function.name(), str(library)), library)

    return compiled_or_told(build, compiler, compile) or Kernel(function)


def compiled_or_told(build: Callable[[], Made], compiler: str, compile: bool | None) -> Made | None:
    """What is built, or None and a warning if the compiler fails; an error where that is insisted on."""
    try:
        return build()
    except TooLong as problem:
        warnings.warn(f"{problem}; running in the slower virtual machine", stacklevel=3)
        return None
    except (OSError, subprocess.SubprocessError, RuntimeError) as problem:
        if compile:
            raise CutjointError(f"the C compiler '{compiler}' failed: {_first_line(problem)}") from problem
        warnings.warn(
            f"the C compiler '{compiler}' failed ({_first_line(problem)}); "
            "running in the slower virtual machine",
            stacklevel=3,
        )
        return None


def find_compiler() -> str | None:
    """The C compiler: $CC, or the first of cc, gcc, clang on the path; None if CUTJOINT_COMPILE=0."""
    if os.environ.get("CUTJOINT_COMPILE") == "0":
        return None
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return name
    return None


def build_library(function: ca.Function, compiler: str, most: int | None = MOST) -> Path:
    """Path of the shared library of a function, compiled now or found in the cache."""
    generator = ca.CodeGenerator("kernel.c", {"with_header": False})
    generator.add(function)
    code = generator.dump()
    lines = code.count("\n")
    if most is not None and lines > most:
        raise TooLong(
            f"'{function.name()}' takes {lines:,} operations, more than the {most:,} that are compiled "
            "unasked (compile=True asks for it)"
        )
    if lines > LONG:
        LOG.info("compiling '%s', %s operations", function.name(), f"{lines:,}")
    return compiled(_without_calls(code), compiler, key=FORM, change=_in_files)


def _without_calls(code: str) -> str:
    """The same C with fmax and fmin written out: a call has all registers stored for two instructions.

    What is no number is passed over, as by those of C.
    """
    for name, sign in (("fmax", ">"), ("fmin", "<")):
        code = code.replace(f"casadi_real casadi_{name}(", f"static inline casadi_real casadi_{name}(")
        code = code.replace(f"return {name}(x, y);", f"return (x {sign} y) | (y != y) ? x : y;")
    return code


def _in_files(code: str) -> list[str]:
    return files_of(split_functions(code))


def compiled(
    code: str,
    compiler: str,
    flags: Sequence[str] | None = None,
    libraries: Sequence[str] = ("-lm",),
    key: str = "",
    change: Callable[[str], list[str]] = lambda code: [code],
) -> Path:
    """Path of the shared library of C code, made now of the files `key` stands for, or found in the cache."""
    flags = flags_of(compiler) if flags is None else flags
    by = made_by(shutil.which(compiler) or compiler, (*flags, *libraries[1:]))
    target = cache_folder() / f"{digest(code, key, by)}.so"
    if used(target):
        return target
    with scratch_folder() as folder:
        files, made = change(code), folder / "kernel.so"
        names = [f"kernel{k}" for k in range(len(files))]
        for name, text in zip(names, files, strict=True):
            Path(folder, f"{name}.c").write_text(text, encoding="utf-8")
        if len(files) > 1:
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                plain = [flag for flag in flags if flag != "-shared"]
                each = ([compiler, *plain, "-c", f"{name}.c"] for name in names)
                list(pool.map(lambda words: _run(words, folder), each))
        sources = [f"{name}.{'o' if len(files) > 1 else 'c'}" for name in names]
        _run([compiler, *flags, "-o", str(made), *sources, *libraries], folder)
        with kept(target) as temporary:
            shutil.copyfile(made, temporary)
        return target


def _run(words: Sequence[str], folder: Path) -> None:
    run = run_program(words, TIMEOUT, folder, {**os.environ, "TMPDIR": str(folder)})
    if run.returncode != 0:
        raise RuntimeError(run.stderr.decode(errors="replace").strip() or f"exit code {run.returncode}")


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

    Its checksum is written beside it. Then the files that were used longest ago are forgotten, if there are
    too many. Whoever reads one just then has it open, or finds it missing and makes it anew.
    """
    with write_atomically(target) as temporary:
        yield temporary
        temporary.chmod(0o600)
        checksum = _checksum(temporary)
    with write_atomically(_sum_of(target)) as temporary:
        temporary.write_text(checksum, encoding="ascii")
        temporary.chmod(0o600)
    ages = list[tuple[float, Path]]()
    for path in target.parent.iterdir():
        with contextlib.suppress(OSError):  # another process forgets as well
            ages.append((path.stat().st_mtime, path))
    for _, path in sorted(ages)[:-MOST_KEPT]:
        with contextlib.suppress(OSError):
            path.unlink()


def used(target: Path) -> bool:
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


def made_by(compiler: str, flags: Sequence[str] | None = None) -> str:
    """What the same source would become something else without: compiler, flags and processor."""
    by = (*(flags_of(compiler) if flags is None else flags), compiler_version(compiler))
    return "\0".join([*by, platform.machine(), _processor()])


def flags_of(compiler: str) -> tuple[str, ...]:
    """How kernels are compiled."""
    return (*FLAGS, *(WITHOUT_IDLE if is_gcc(compiler_version(compiler)) else ()))


@cache
def compiler_version(*command: str) -> str:
    """What a compiler says of itself."""
    words = [*command, "--version"]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False).stdout


def is_gcc(said: str) -> bool:
    """Whether that is what a compiler says of itself; others do not know the names of its passes."""
    return "Free Software Foundation" in said


def digest(*texts: str) -> str:
    """A name for texts that no other texts have."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


@cache
def _processor() -> str:
    """Code for the native processor must not be found by another one that shares the home folder."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return platform.processor()


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0][:200] if lines else type(problem).__name__
