"""Compile an FMU's C for this machine and for others."""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..model.compile.kernel import cache_folder, digest, find_compiler, kept, used
from ..model.errors import CutjointError

TIMEOUT = 900  # seconds for one file


@dataclass(frozen=True)
class Platform:
    """Where a binary goes in FMI 3.0, and what the cross compiler calls it."""

    folder: str
    zig: str
    ending: str


PLATFORMS = {
    "linux64": Platform("x86_64-linux", "x86_64-linux-gnu.2.17", ".so"),
    "win64": Platform("x86_64-windows", "x86_64-windows-gnu", ".dll"),
    "darwin64": Platform("x86_64-darwin", "x86_64-macos", ".dylib"),
    "aarch64-linux": Platform("aarch64-linux", "aarch64-linux-gnu.2.17", ".so"),
    "aarch64-darwin": Platform("aarch64-darwin", "aarch64-macos", ".dylib"),
}
PAGE = "a web page"
TARGETS = {**PLATFORMS, PAGE: Platform("", "wasm32-wasi", ".wasm")}
# No -march: an FMU travels. step_fast.c holds the step for newer x86-64 processors beside the plain one.
FLAGS = ("-std=c99", "-fvisibility=hidden", "-fno-math-errno")
# Traced code is long and straight: as in model/compile, more than -O1 gains nothing but for one part of
# it. Fused multiply-adds, which ISO C leaves out, only in the step for processors that have them.
GENERATED = ("kernels.c", "derivatives.c", "adjoint.c", "step.c", "step_fast.c")
STRAIGHT = ("-fexpensive-optimizations",)
FUSED = ("-ffp-contract=fast",)


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
        return [native]
    if zig := _zig(name):
        return zig
    if name == here():
        raise CutjointError(
            "no C compiler found; install gcc or clang, or 'pip install cutjoint[cross]', "
            "or export with --runtime python, which needs none"
        )
    raise CutjointError(f"compiling for {name} needs a cross compiler: 'pip install cutjoint[cross]'")


def _zig(name: str) -> list[str]:
    """The cross compiler's command for a platform, nothing where it is not installed."""
    if not importlib.util.find_spec("ziglang"):
        return []
    # zig adds a sanitizer of its own to code that is not optimized
    return [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all", "-target", TARGETS[name].zig]


def compile_for(name: str, sources: Mapping[str, str], units: Sequence[str], optimize: int = 2) -> bytes:
    """The shared library of some C files for a platform."""
    command = compilers(name)
    with tempfile.TemporaryDirectory(prefix="cutjoint-fmu-") as folder:
        for file, text in sources.items():
            Path(folder, file).write_text(text, encoding="utf-8", newline="\n")
        place = [*command, *(() if name == PAGE else ("-fPIC",))]
        tasks = [(place, folder, sources, unit, optimize) for unit in units]
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            objects = list(pool.map(lambda task: _object(*task), tasks))
        target = f"fmu{TARGETS[name].ending}"
        linker = (_zig(name) if "linux" in name else []) or command  # zig knows old systems' libraries
        _run([*linker, "-o", target, *objects, *_link_flags(name)], folder)
        return Path(folder, target).read_bytes()


def _link_flags(name: str) -> list[str]:
    if name == PAGE:
        return ["-mexec-model=reactor", "-s", "-lm"]
    if name.startswith("win"):
        return ["-shared", "-s"]
    if "darwin" in name:
        return ["-shared"]
    return ["-shared", "-s", "-lm", "-Wl,--build-id=none", "-Wl,-z,defs"]


def unit_flags(unit: str, optimize: int) -> list[str]:
    """How one file is compiled."""
    straight = unit in GENERATED
    flags = [*FLAGS, f"-O{min(optimize, 1) if straight else optimize}", "-g0"]
    return [*flags, *(STRAIGHT if straight and optimize else ()), *(FUSED if unit == "step_fast.c" else ())]


def _object(command: list[str], folder: str, sources: Mapping[str, str], unit: str, optimize: int) -> str:
    """Compile one file; traced ones are long to compile and kept in the cache."""
    flags = unit_flags(unit, optimize)
    made = f"{Path(unit).stem}.o"
    build = [*command, *flags, "-c", unit, "-o", made]
    if unit not in GENERATED:
        _run(build, folder)
        return made
    text = sources[unit] + (sources["step.c"] if unit == "step_fast.c" else "")
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=False)
    entry = cache_folder() / f"{digest(text, version.stdout, *command, *flags)}.o"
    if used(entry):
        shutil.copyfile(entry, Path(folder, made))
    else:
        _run(build, folder)
        with kept(entry) as temporary:
            shutil.copyfile(Path(folder, made), temporary)
    return made


def _run(command: list[str], folder: str) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CutjointError(f"the C compiler '{command[0]}' failed: {problem}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        said = lines[0] if lines else f"exit code {done.returncode}"
        raise CutjointError(f"the C compiler '{' '.join(command[:1])}' failed: {said[:300]}")
