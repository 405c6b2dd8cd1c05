"""Two FMUs in one static program, on this processor and, emulated, on others: what HIL targets do.

Compiled as `documentation/staticLinking.txt` says; the results are those of the FMUs' shared libraries.
"""

import platform
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from cutjoint.fmu.c_sources import units_to_compile
from cutjoint.native.c_compile import unit_flags
from fmpy import read_model_description
from fmu_tools import exported, get, initialize, instance, names, put

PAIR = ("fourbar", "double_pendulum")
OUTPUTS = ("joint.*.position", "joint.*.velocity", "joint.*.acceleration", "energy", "loop.residual")
STEPS, H = 200, 1e-3


@dataclass(frozen=True)
class Target:
    """A compiler for a processor, and what runs its programs here."""

    name: str
    compiler: str
    emulator: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    optimize: int = 0  # no level changes a result, but by fusing operations

    def missing(self) -> str:
        absent = [tool for tool in (self.compiler, *self.emulator) if shutil.which(tool) is None]
        return f"needs {' and '.join(absent)}" if absent else ""


HERE = Target("x86-64", "gcc", optimize=1)
PLAIN = Target("plain", "gcc", options=("-DCJ_PLAIN_STEP",))
OTHERS = [
    Target("aarch64", "aarch64-linux-gnu-gcc", ("qemu-aarch64",)),
    Target("riscv64", "riscv64-linux-gnu-gcc", ("qemu-riscv64",)),
]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    for name in PAIR:
        with zipfile.ZipFile(exported(name, optimize=1, outputs=OUTPUTS)) as archive:
            archive.extractall(folder / name)
    return folder


def objects(target: Target, folder: Path, name: str) -> list[Path]:
    """The sources of one FMU compiled with its prefix."""
    (folder / target.name).mkdir(exist_ok=True)
    made = []
    for unit in units_to_compile(2):
        to = folder / target.name / f"{name}_{unit.removesuffix('.c')}.o"
        flags = [*unit_flags(unit, target.optimize), *target.options, f"-DFMI2_FUNCTION_PREFIX={name}_"]
        command = [target.compiler, *flags, "-c", folder / name / "sources" / unit, "-o", to]
        subprocess.run(command, check=True)
        made.append(to)
    return made


def run(target: Target, folder: Path) -> list[float]:
    """What both FMUs show at the end, printed by the program that they are linked into."""
    defined, parts = [], []
    for word, name in zip(("FIRST", "SECOND"), PAIR, strict=True):
        description = read_model_description(str(exported(name, optimize=1, outputs=OUTPUTS)))
        defined += [f"-D{word}={name}_", f'-D{word}_GUID="{description.guid}"']
        for letters, causality in (("IN", "input"), ("OUT", "output")):
            at = [v.valueReference for v in description.modelVariables if v.causality == causality]
            first = at[0] if at else 0
            assert at == list(range(first, first + len(at)))
            defined.append(f"-D{word}_{letters}={first},{len(at)}")
        parts += objects(target, folder, name)
    program = folder / target.name / "both"
    host = Path(__file__).with_name("fmu_static.c")
    command = [target.compiler, "-std=c99", "-Wall", "-Werror", *defined, host, *parts]
    subprocess.run([*command, "-o", program, "-static", "-lm"], check=True)
    done = subprocess.run([*target.emulator, program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [float.fromhex(line) for line in done.stdout.split()]


def library(name: str) -> list[float]:
    """The same run by FMPy on the shared library in the FMU."""
    with instance(exported(name, optimize=1, outputs=OUTPUTS)) as fmu:
        initialize(fmu)
        for n in range(STEPS):
            put(fmu, {x: 0.25 * ((n + 7 * k) % 40 - 20) / 20.0 for k, x in enumerate(names(fmu, "input"))})
            fmu.doStep(n * H, H)
        return get(fmu, names(fmu, "output")).tolist()


@pytest.fixture(scope="module")
def wanted() -> list[float]:
    return [x for name in PAIR for x in library(name)]


@pytest.fixture(scope="module")
def plain(unpacked: Path) -> list[float]:
    """The same on this processor, without the step that only some of its kind can run."""
    return run(PLAIN, unpacked)


def ready(*targets: Target) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("this machine is no x86-64")
    for target in targets:
        if reason := target.missing():
            pytest.skip(reason)


def test_two_fmus_in_one_static_program(unpacked: Path, wanted: list[float]) -> None:
    """To the last bit what their shared libraries give."""
    ready(HERE)
    assert run(HERE, unpacked) == wanted and np.abs(wanted).max() > 0.1


@pytest.mark.cross
@pytest.mark.parametrize("target", OTHERS, ids=lambda target: target.name)
def test_other_processors_give_the_same(
    target: Target, unpacked: Path, wanted: list[float], request: pytest.FixtureRequest
) -> None:
    """To the last bit if this one does without its fused operations, which round differently."""
    ready(HERE, target)
    found = run(target, unpacked)
    assert found == request.getfixturevalue("plain")
    assert np.allclose(found, wanted, rtol=0, atol=1e-11)
