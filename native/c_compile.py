"""Compile an FMU's C for this machine and for others."""

import contextlib
import importlib.util
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..model.base.errors import CutjointError, how_to_install
from ..model.base.subprocesses import run_program, scratch_folder
from ..model.compile.c_pieces import files_of
from ..model.compile.kernel import (
    WITHOUT_IDLE,
    compiler_environment,
    compiler_version,
    find_compiler,
    is_gcc,
)
from ..model.compile.storage import cache_folder, digest, is_whole, store

LOG = logging.getLogger(__name__)
TIMEOUT = 900  # seconds for one file


@dataclass(frozen=True)
class Platform:
    """Where a binary goes in FMI 3.0, and what the cross compiler calls it."""

    folder: str
    zig: str
    ending: str


OLDEST = 17  # glibc 2.17 is of 2012
PLATFORMS = {
    "linux64": Platform("x86_64-linux", f"x86_64-linux-gnu.2.{OLDEST}", ".so"),
    "win64": Platform("x86_64-windows", "x86_64-windows-gnu", ".dll"),
    "darwin64": Platform("x86_64-darwin", "x86_64-macos", ".dylib"),
    "aarch64-linux": Platform("aarch64-linux", f"aarch64-linux-gnu.2.{OLDEST}", ".so"),
    "aarch64-darwin": Platform("aarch64-darwin", "aarch64-macos", ".dylib"),
}
PAGE = "a web page"
STATIC = {  # programs that need nothing of the system they run on, where this machine's compiler has no say
    "linux64": Platform("x86_64-linux", "x86_64-linux-musl", ""),
    "aarch64-linux": Platform("aarch64-linux", "aarch64-linux-musl", ""),
}
TARGETS = {**PLATFORMS, PAGE: Platform("", "wasm32-wasi", ".wasm")}
# No -march: an FMU travels. step_fast.c holds the step for newer x86-64 processors beside the plain one.
FLAGS = ("-std=c99", "-fvisibility=hidden", "-fno-math-errno")
# Traced code is long and straight: as in model/compile, more than -O1 gains nothing; nor does it where calls
# are handed on, but for the loops of the singular values. Fused multiply-adds, which ISO C leaves out, only
# in the step for processors that have them.
GENERATED = (
    "kernels.c",
    "derivatives.c",
    "adjoint.c",
    "joints.c",
    "commands.c",
    "servo.c",
    "chain.c",
    "step.c",
    "step_fast.c",
)
# Values and derivatives may be cut; step_fast.c needs the step whole. Without these passes, too, they are
# compiled in four fifths of the time and are 3 % slower; the step, where they find something, by 20 %.
SHARED = ("kernels.c", "derivatives.c", "adjoint.c")
_LITTLE = "tree-fre tree-ch tree-loop-optimize inline guess-branch-probability ipa-modref ipa-pure-const"
WITHOUT_LITTLE = tuple(f"-fno-{name}" for name in _LITTLE.split())
LOOPS = ("svd.c",)
FUSED = ("-ffp-contract=fast", "-fexpensive-optimizations")
APART, DROPPED = ("-ffunction-sections",), ("-Wl,--gc-sections",)  # functions that nobody calls are left out


def here() -> str:
    """The platform of this machine."""
    arm = platform.machine().lower() in ("aarch64", "arm64")
    system = {"linux": "linux", "darwin": "darwin", "win32": "win"}.get(sys.platform, "linux")
    return f"aarch64-{system}" if arm else f"{system}64"


def check_platforms(names: Sequence[str]) -> list[str]:
    chosen = list(dict.fromkeys(names)) or [here()]
    for name in chosen:
        if name not in PLATFORMS:
            raise CutjointError(f"--platform: '{name}' is not known; known: {', '.join(PLATFORMS)}")
    return chosen


def folder(name: str, chosen: Sequence[str], fmi: int) -> str:
    """Where a platform's binary goes in `binaries/`.

    FMI 2.0 has no word for 64-bit ARM: importers there look in linux64 and darwin64 too, so it goes
    there unless the place is taken.
    """
    if fmi == 3:
        return PLATFORMS[name].folder
    plain = f"{name.removeprefix('aarch64-')}64" if name.startswith("aarch64-") else name
    return plain if plain == name or plain not in chosen else name


def compilers(name: str) -> list[str]:
    """The command that compiles for a platform, or an error that says how to get one."""
    native = find_compiler() if name == here() else None
    if native:
        return list(native)
    if zig := _zig(name):
        return zig
    if name == here():
        raise CutjointError(
            "no C compiler found; install gcc or clang, or export with --runtime python, which needs none, "
            f"or take zig's: {how_to_install('cross')}"
        )
    raise CutjointError(f"compiling for {name} needs a cross compiler; {how_to_install('cross')}")


def can_compile() -> bool:
    """Whether native code can be made for this machine: by its compiler, or by zig's."""
    return bool(find_compiler() or _zig(here()))


def _zig(name: str, targets: Mapping[str, Platform] = TARGETS) -> list[str]:
    """The cross compiler's command for a platform, nothing where it is not installed."""
    if not importlib.util.find_spec("ziglang"):
        return []
    # zig adds a sanitizer of its own to code that is not optimized
    return [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all", "-target", targets[name].zig]


def compile_for(
    name: str,
    sources: Mapping[str, str],
    units: Sequence[str],
    optimize: int = 2,
    drop: bool = False,
    extra: Sequence[str] = (),
) -> bytes:
    """The shared library of some C files for a platform; with `drop`, without functions nobody calls."""
    command = compilers(name)
    with scratch_folder("fmu-") as folder:
        _write(folder, sources)
        place = [*command, *(() if name == PAGE else ("-fPIC",))]
        objects = _objects(place, folder, sources, units, optimize, [*(APART if drop else ()), *extra])
        target, last = f"fmu{TARGETS[name].ending}", [*(DROPPED if drop else ()), *extra]
        for linker in (command, _zig(name)):  # which knows the libraries of old systems, where they matter
            _run([*linker, "-o", target, *objects, *_link_flags(name), *last], folder)
            made = Path(folder, target).read_bytes()
            if "linux" not in name or _needed(made) <= OLDEST or extra or not _zig(name):
                break
        return made


def compile_library(
    name: str, sources: Mapping[str, str], units: Sequence[str], optimize: int = 2, extra: Sequence[str] = ()
) -> tuple[bytes, bytes]:
    """The same C files as a shared and as a static library."""
    command = compilers(name)
    with scratch_folder("library-") as folder:
        _write(folder, sources)
        objects = _objects([*command, "-fPIC"], folder, sources, units, optimize, extra)
        target = f"library{PLATFORMS[name].ending}"
        _run([*command, "-o", target, *objects, *_link_flags(name), *extra], folder)
        archiver = shutil.which("ar") if name == here() else None
        zig = [sys.executable, "-m", "ziglang", "ar"] if importlib.util.find_spec("ziglang") else []
        if not archiver and not zig:
            raise CutjointError("no 'ar' found, which puts a static library together; install binutils")
        _run([*([archiver] if archiver else zig), "rcsD", "library.a", *objects], folder)
        return Path(folder, target).read_bytes(), Path(folder, "library.a").read_bytes()


def _needed(library: bytes) -> int:
    """The version 2.N of the C library that a shared library asks for; 0 for other C libraries than glibc."""
    return max((int(found) for found in re.findall(rb"\0GLIBC_2\.(\d+)", library)), default=0)


def compile_program(
    name: str, sources: Mapping[str, str], units: Sequence[str], optimize: int = 2, extra: Sequence[str] = ()
) -> bytes:
    """A program of some C files for a platform, static where possible, without functions nobody calls."""
    native = compilers(name) if name == here() and find_compiler() else None
    command = native or _zig(name, STATIC) or compilers(name)
    with scratch_folder("program-") as folder:
        _write(folder, sources)
        objects = _objects([*command, "-fPIC"], folder, sources, units, optimize, [*APART, *extra])
        link = [*command, "-o", "program", *objects, *DROPPED, "-lm", "-lpthread", *extra]
        if extra:  # sanitizers come as shared libraries
            _run(link, folder)
        else:
            try:
                _run([*link, "-static", "-s"], folder)
            except CutjointError:  # no static C library here
                _run([*link, "-s"], folder)
        return Path(folder, "program").read_bytes()


def _write(folder: Path, sources: Mapping[str, str]) -> None:
    for file, text in sources.items():
        Path(folder, file).write_text(text, encoding="utf-8", newline="\n")


def _objects(
    place: list[str],
    folder: Path,
    sources: Mapping[str, str],
    units: Sequence[str],
    optimize: int,
    extra: Sequence[str] = (),
) -> list[str]:
    sources, units = _shared_out(folder, sources, units)
    longest_first = sorted(units, key=lambda unit: -len(_text(sources, unit)))
    LOG.info("compiling %d files by %s", len(units), " ".join(place))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(lambda unit: _object(place, folder, sources, unit, optimize, extra), longest_first))
    return [_made(unit) for unit in units]


def _shared_out(
    folder: Path, sources: Mapping[str, str], units: Sequence[str]
) -> tuple[Mapping[str, str], Sequence[str]]:
    """The same with what is long in several files: no compiler sees all of a large mechanism."""
    texts = dict(sources)
    for unit in (unit for unit in units if unit in SHARED):
        stem = Path(unit).stem
        texts[unit], *others = files_of(sources[unit], name=f"cj_{stem}")
        texts |= {f"{stem}_{k}.c": text for k, text in enumerate(others)}
    added = [name for name in texts if name not in sources]
    _write(folder, {name: texts[name] for name in (*added, *(SHARED if added else ())) if name in texts})
    return texts, [*units, *added]


def _link_flags(name: str) -> list[str]:
    if name == PAGE:
        return ["-mexec-model=reactor", "-s", "-lm"]
    if name.startswith("win"):
        return ["-shared", "-s"]
    if "darwin" in name:
        return ["-shared"]
    return ["-shared", "-s", "-lm", "-Wl,--build-id=none", "-Wl,-z,defs"]


def unit_flags(unit: str, optimize: int, gcc: bool = True) -> list[str]:
    """How one file is compiled: by gcc, which leaves out what gains nothing, or by others."""
    level = optimize if unit in LOOPS else min(optimize, 1)
    flags = [*FLAGS, f"-O{level}", "-g0", *(FUSED if unit == "step_fast.c" else ())]
    flags += ["-DCJ_PLAIN_STEP"] * (not optimize)  # where nothing is made fast, the second step gains nothing
    left_out = (*WITHOUT_IDLE, *(WITHOUT_LITTLE if _whole(unit) in SHARED else ()))
    return [*flags, *(left_out if gcc and _traced(unit) else ())]


def _traced(unit: str) -> bool:
    """Whether a file, or what it is a part of, was generated."""
    return _whole(unit) in GENERATED


def _whole(unit: str) -> str:
    """The file that one of several is a part of."""
    return re.sub(r"_\d+\.c$", ".c", unit)


def _text(sources: Mapping[str, str], unit: str) -> str:
    """All that is compiled of a file."""
    return sources[unit] + (sources["step.c"] if unit == "step_fast.c" else "")


def _made(unit: str) -> str:
    return f"{Path(unit).stem}.o"


def _object(
    command: list[str],
    folder: Path,
    sources: Mapping[str, str],
    unit: str,
    optimize: int,
    extra: Sequence[str] = (),
) -> None:
    """Compile one file; traced ones are long to compile and kept in the cache."""
    said = compiler_version(*command)
    flags = unit_flags(unit, optimize, is_gcc(said))
    made = Path(folder, _made(unit))
    build = [*command, *flags, "-c", unit, "-o", made.name]
    if not _traced(unit):
        return _run([*build, *extra], folder)
    name = f"{digest(_text(sources, unit), said, *command, *flags)}.o"
    with contextlib.suppress(OSError, CutjointError):  # of a cache that is missing, or just then cleared
        if is_whole(entry := cache_folder() / name):
            shutil.copyfile(entry, made)
            LOG.info("%s was compiled before", unit)
            return
    LOG.info("compiling %s, %.1f MB", unit, len(_text(sources, unit)) / 1e6)
    _run(build, folder)
    LOG.info("compiled %s", unit)
    with contextlib.suppress(CutjointError):  # nowhere to keep it for the next time
        store(name, lambda path: shutil.copyfile(made, path))


def _run(command: list[str], folder: Path) -> None:
    try:
        # what a compiler that is stopped leaves behind goes with the folder
        done = run_program(command, TIMEOUT, folder, compiler_environment() | {"TMPDIR": str(folder)})
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CutjointError(f"the C compiler '{command[0]}' failed: {problem}") from None
    if done.returncode:
        told = done.stderr.decode(errors="replace").splitlines()
        lines = [line for line in told if "error" in line] or told
        said = lines[0] if lines else f"exit code {done.returncode}"
        raise CutjointError(f"the C compiler '{' '.join(command[:1])}' failed: {said[:300]}")
