"""What a native FMU exports, compared by a compiler with the standard's own headers, as FMPy ships them."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import fmpy
import pytest
from cutjoint.model.compile.kernel import find_compiler
from fmu_tools import exported

HEADERS = Path(fmpy.__file__).parent / "c-code"
COMPILER = find_compiler()
# Values of enumerations are passed on as they are: statuses are counted alike on both sides.
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-enum-conversion")
pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler"),
    pytest.mark.skipif(not HEADERS.is_dir(), reason="this FMPy ships no headers"),
]


@pytest.fixture(scope="module", params=[2, 3], ids=["FMI 2.0", "FMI 3.0"])
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """Version, and the folder of an FMU's sources and binaries."""
    folder = tmp_path_factory.mktemp("fmu")
    with zipfile.ZipFile(exported("fourbar", request.param)) as archive:
        archive.extractall(folder)
    return request.param, folder


def compiled(source: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [*(COMPILER or ()), *FLAGS, *options, f"-I{HEADERS}", "-fsyntax-only", str(source)]
    return subprocess.run(command, capture_output=True, text=True)


def test_definitions_are_those_the_standard_declares(unpacked: tuple[int, Path]) -> None:
    """The file itself, with the standard's header in place of its own types."""
    version, folder = unpacked
    source = folder / "sources" / f"fmi{version}.c"
    done = compiled(source, "-DCJ_STANDARD_HEADERS")
    assert done.returncode == 0, done.stderr
    # and it is seen: another type somewhere in the arguments is an error
    text = source.read_text()
    spoiled = text.replace("DoStep)(void* c, double time, double", "DoStep)(void* c, double time, float")
    assert spoiled != text
    other = source.with_name("spoiled.c")
    other.write_text(spoiled)
    said = compiled(other, "-DCJ_STANDARD_HEADERS").stderr
    assert re.search(rf"conflicting types for .fmi{version}DoStep", said), said


def test_own_types_have_the_layout_of_the_standards(unpacked: tuple[int, Path]) -> None:
    """Structures and callbacks that stand in the file itself, for a build without headers."""
    version, folder = unpacked
    text = (folder / "sources" / f"fmi{version}.c").read_text()
    (own,) = re.findall(r"^#else\n(typedef.*?)^#endif", text, re.M | re.S)
    names = set(re.findall(rf"\bfmi{version}\w+", own))
    structures = re.findall(r"struct \{(.*?)\} (\w+);", own, re.S)
    renamed = re.sub(rf"\bfmi{version}(\w+)", r"own\1", own)
    lines = ['#include "core.h"', "#include <stdbool.h>", renamed, f'#include "fmi{version}Functions.h"']
    for name in sorted(names):
        lines.append(f'_Static_assert(sizeof(own{name[4:]}) == sizeof({name}), "{name}");')
    for body, name in structures:
        for member in re.findall(r"(\w+)(?=[;,]|\)\()", re.sub(r"\)\(.*?\)", ")()", body)):
            place = f"offsetof(own{name[4:]}, {member}) == offsetof({name}, {member})"
            lines.append(f'_Static_assert({place}, "{name}.{member}");')
    assert len(structures) == {2: 2, 3: 0}[version] and len(names) >= 5
    source = folder / "sources" / "types.c"
    source.write_text("\n".join(lines) + "\n")
    done = compiled(source)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
def test_every_function_an_importer_may_look_up_is_exported(unpacked: tuple[int, Path]) -> None:
    version, folder = unpacked
    header = (HEADERS / f"fmi{version}Functions.h").read_text()
    declared = set(re.findall(rf"FMI{version}_Export\s+fmi{version}\w+TYPE\s+(fmi{version}\w+);", header))
    (library,) = (folder / "binaries").rglob("fourbar.so")
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    assert {line.split()[-1] for line in done.stdout.splitlines()} == declared
    assert len(declared) == {2: 44, 3: 75}[version]
