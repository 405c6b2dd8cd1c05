"""The gate of the native loop and the entry points of FMUs as programs of libFuzzer, under sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cutjoint.fmu.c_sources import sources, units_to_compile
from cutjoint.model.loading import load
from cutjoint.native.variable_layout import plan
from cutjoint.realtime.build import loop_headers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GATE = ("loop_gate.c", "loop_can.c", "loop_histogram.c", "loop_time.c", "sha256.c")
MECHANISM = "gripper"
CLANG = (
    "clang",
    "-g",
    "-O1",
    "-std=gnu11",
    "-fsanitize=fuzzer,address,undefined",
    "-fno-sanitize-recover=all",
)

TABLE = """
0x201 command one int16 0 0.01
0x201 command two float32 2 1
0x202 command one float64 0 1
0x101 state a float64 0 1
"""


def build(name: str, work: Path) -> Path:
    """The program of a target."""
    program = work / name
    units = _gate(work) if name == "gate" else _fmu(int(name[-1]), work)
    subprocess.run([*CLANG, *units, "-lm", "-o", program], cwd=work, check=True)
    return program


def _gate(work: Path) -> list[str]:
    texts = loop_headers(plan(load("fourbar")), 1000.0)
    texts |= {x: (ROOT / "realtime" / "c" / x).read_text() for x in ("loop.h", *GATE)}
    texts |= {"native.h": (ROOT / "native" / "c" / "native.h").read_text(), "table": TABLE}
    for file, text in texts.items():
        (work / file).write_text(text)
    return [f'-DTABLE="{work / "table"}"', f"-I{work}", str(HERE / "fuzz_gate.c"), *GATE]


def _fmu(fmi: int, work: Path) -> list[str]:
    for file, text in sources(plan(load(MECHANISM)), fmi).items():
        (work / file).write_text(text)
    units = [unit for unit in units_to_compile(fmi) if unit != f"fmi{fmi}.c"]
    return [f"-DFMI_VERSION={fmi}", f"-I{work}", str(HERE / "fuzz_fmu.c"), *units]
