"""Exporting: the same bytes, what is inside, what is refused, the Python runtime."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bulk import bulk
from cutjoint import CutjointError, Simulation, load
from cutjoint.fmu import export
from cutjoint.fmu.c_sources import sources
from cutjoint.fmu.xml_fmi2 import description
from cutjoint.model.cli.main import main
from cutjoint.native import c_compile
from cutjoint.native.c_sources import identifier, quote
from cutjoint.native.variable_layout import plan
from fmpy.validation import validate_fmu
from fmu_tools import exported, folder, get, initialize, instance, planned

FEW = ("joint.crank_pin.position", "energy")


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for runtime in ("native", "python"):
        paths = [tmp_path / f"{runtime}{k}.fmu" for k in range(2)]
        for path in paths:
            export("fourbar", path, runtime=runtime, outputs=FEW, optimize=0)
        assert paths[0].read_bytes() == paths[1].read_bytes()
        other = tmp_path / "other.fmu"
        export("fourbar", other, runtime=runtime, outputs=FEW, optimize=0, step=2e-3)
        guids = [
            re.search(rb'guid="([^"]+)"', zipfile.ZipFile(p).read("modelDescription.xml"))
            for p in (paths[0], other)
        ]
        assert guids[0] and guids[1] and guids[0][1] != guids[1][1]


@pytest.mark.parametrize(("found", "taken"), [("0.6.5", False), ("0.7.0", True), ("0.10.1rc1", True)])
def test_an_old_pythonfmu_is_refused(found: str, taken: bool, tmp_path: Path, monkeypatch: Any) -> None:
    """Below 0.7 its library hangs the host; what is asked for is what is declared."""
    import pythonfmu
    from cutjoint.fmu.python_export import OLDEST

    declared = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"pythonfmu>={".".join(map(str, OLDEST))}' in declared
    monkeypatch.setattr(pythonfmu, "__version__", found)
    path = tmp_path / "fourbar.fmu"
    if taken:
        export("fourbar", path, runtime="python", outputs=FEW, picture=False)
    else:
        with pytest.raises(
            CutjointError, match=r"pythonfmu 0\.7 or later, and 0\.6\.5 is installed.*brings it"
        ):
            export("fourbar", path, runtime="python", outputs=FEW, picture=False)
    assert path.exists() == taken and len(list(tmp_path.iterdir())) == taken


def test_what_is_inside(tmp_path: Path) -> None:
    for fmi in (2, 3):
        path = tmp_path / f"{fmi}.fmu"
        export("fourbar", path, fmi=fmi, outputs=FEW, optimize=0)
        archive = zipfile.ZipFile(path)
        inside = set(archive.namelist())
        icon = "model.png" if fmi == 2 else "terminalsAndIcons/icon.png"
        assert {"documentation/index.html", "documentation/mechanism.png", icon, "sources/core.c"} <= inside
        assert ("sources/buildDescription.xml" in inside) == (fmi == 3)
        assert archive.read("documentation/mechanism.png").startswith(b"\x89PNG")
        assert b"motor.crank.torque" in archive.read("documentation/index.html")
        text = archive.read("modelDescription.xml").decode()
        assert 'unit="rad"' in text and "<DefaultExperiment" in text and "logDynamicStateSelection" in text
        assert "/tmp" not in text and str(Path.home()) not in text


def test_what_is_traced_stands_once() -> None:
    """Compiling takes as long as there are operations: each piece is written where all who call it are."""
    texts = sources(plan(load("stewart")), 2)
    found = [name for text in texts.values() for name in re.findall(r"^/\* (\w+):\(", text, re.MULTILINE)]
    for piece in (
        "rates",
        "finished",
        "project_position",
        "follow",
        "gap",
        "slip",
        "pivot",
        "unitless_jacobian",
    ):
        assert found.count(piece) == 1, piece
    assert "cj_dynamics" in found and "dynamics" not in found
    operations = sum(len(re.findall(r"^  a\d+=", text, re.MULTILINE)) for text in texts.values())
    assert operations < 47_000  # with how a start moves; 54,900 without that when they were traced apart


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
@pytest.mark.parametrize("fmi", bulk([2, 3], [3]))
def test_sources_can_be_compiled_again(tmp_path: Path, fmi: int) -> None:
    build = pytest.importorskip("fmpy.build", reason="needs FMPy 0.3.26")

    with zipfile.ZipFile(exported("fourbar", fmi, outputs=FEW)) as archive:
        archive.extractall(tmp_path)
    (library,) = (tmp_path / "binaries").rglob("fourbar.so")
    library.unlink()
    build.build_platform_binary(tmp_path, configuration="Debug")
    assert library.is_file()
    repacked = shutil.make_archive(str(folder() / "again"), "zip", tmp_path)
    with instance(Path(repacked)) as fmu:
        initialize(fmu)
        fmu.doStep(0.0, 0.01)
        assert np.isfinite(get(fmu, ["energy"])).all()


def test_platforms_have_their_folders() -> None:
    both = ["linux64", "aarch64-linux", "win64"]
    assert [c_compile.folder(n, both, 2) for n in both] == ["linux64", "aarch64-linux", "win64"]
    assert [c_compile.folder(n, both, 3) for n in both] == ["x86_64-linux", "aarch64-linux", "x86_64-windows"]
    assert c_compile.folder("aarch64-darwin", ["aarch64-darwin"], 2) == "darwin64"


def test_names_never_reach_c_or_paths_unescaped() -> None:
    assert quote('a"b\\%s\n\u00e9') == '"a\\042b\\134\\045s\\012\\303\\251"'
    assert identifier("../x y\u00e9") == "___x_y_" and identifier("3rrs") == "_3rrs"
    plan = planned("fourbar", outputs=FEW)
    hostile = replace(plan, mechanism=replace(plan.mechanism, description='<b> & "quotes" %s'))
    assert "&lt;b&gt; &amp; &quot;quotes&quot; %s" in description(hostile)


def test_the_singular_value_and_the_rank_are_numpys(tmp_path: Path) -> None:
    """The one numeric routine that is written in C by hand, and what it leaves behind."""
    for name in ("core.h", "svd.c"):
        shutil.copy(Path(c_compile.__file__).parent / "c" / name, tmp_path)
    sizes = [
        f"N{x}"
        for x in ("Q", "V", "U", "P", "M", "F", "I", "Y", "LINEAR", "SENSED", "STEP_INFO", "KINKS", "CLOCKS")
    ]
    sizes += [f"SIZE_{x}" for x in ("ARG", "RES", "IW", "W")] + ["SLOT_END"]
    slots = [f"SLOT_{x}" for x in ("INPUT", "PARAMETER", "START_Q", "START_V", "OUTPUT")]
    numbers = dict.fromkeys([*sizes, "NMOTION", "NS"], 1) | {"NX": 3} | {x: k for k, x in enumerate(slots)}
    (tmp_path / "sizes.h").write_text("".join(f"#define {n} {x}\n" for n, x in numbers.items()))
    (tmp_path / "names.h").touch()
    library = tmp_path / "numeric.so"
    compiler = c_compile.compilers(c_compile.here())
    subprocess.run(
        [*compiler, "-O1", "-fPIC", "-shared", "-o", library, tmp_path / "svd.c", "-lm"], check=True
    )
    c = ctypes.CDLL(str(library))
    c.cj_singular.restype = ctypes.c_double
    random = np.random.default_rng(0)

    def at(x: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(x.ctypes.data)

    for m, n, rank in ((6, 9, 6), (5, 3, 2), (15, 21, 15), (5, 8, 3), (1, 1, 1)):
        G = np.asfortranarray(random.normal(size=(m, rank)) @ random.normal(size=(rank, n)))
        work, U, a, b = np.zeros((m, n)), np.zeros((m, m)), np.zeros(m), np.zeros(n)
        found, part = ctypes.c_int(), ctypes.c_double(1e-7)
        sigma = c.cj_singular(at(G), m, n, rank, part, ctypes.byref(found), at(work), at(U), at(a), at(b))
        assert sigma == pytest.approx(np.linalg.svd(G, compute_uv=False)[rank - 1], rel=1e-10)
        assert a @ G @ b == pytest.approx(sigma, rel=1e-9)
        assert found.value == np.linalg.matrix_rank(G, 1e-7 * np.linalg.norm(G, 2)) == rank


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runtime": "java"}, "native, python"),
        ({"fmi": 4}, "2 and 3"),
        ({"fmi": 3, "runtime": "python"}, "offers FMI 2"),
        ({"step": 0.0}, "must be positive"),
        ({"platforms": ["amiga"]}, "linux64"),
        ({"outputs": ["joint.crank_pin.positon"]}, "joint.crank_pin.position"),
        ({"inputs": ["krank"]}, "crank"),
        ({"parameters": ["body.krank.mass"]}, "crank"),
    ],
)
def test_mistakes_get_one_sentence(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(CutjointError, match=re.escape(message)):
        export("fourbar", tmp_path / "x.fmu", **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_without_a_compiler_both_ways_out_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTJOINT_COMPILE", "0")
    monkeypatch.setattr(c_compile.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        CutjointError,
        match=r"install gcc or clang, or export with --runtime python.*'\.\[cross\]'",
    ):
        export("fourbar", tmp_path / "x.fmu")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "x.fmu"
    words = ["export", "fourbar", "-o", str(target), "--output", "energy", "--runtime", "python", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["output"] == 1
    assert validate_fmu(str(target)) == []
    assert main(["export", "fourbar", "-o", str(tmp_path / "no" / "x.fmu")]) == 2


def test_the_command_says_what_it_is_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was silent while it compiled, half a minute for large mechanisms."""
    words = ["export", "double_pendulum", "-o", str(tmp_path / "x.fmu"), "--output", "energy"]
    assert main([*words, "--json"]) == 0
    out, said = capsys.readouterr()
    assert said == "cutjoint: writing the equations of 'double_pendulum' as C and compiling them\n"
    assert json.loads(out)["output"] == 1
    assert main([*words, "--progress"]) == 0
    said = capsys.readouterr().err
    assert all(f"{unit} was compiled before" in said for unit in ("step.c", "derivatives.c", "kernels.c"))
    assert "files by" in said and "measuring steps" in said


PYTHON = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from fmu_tools import get, initialize, instance, put
with instance(Path(sys.argv[2])) as a, instance(Path(sys.argv[3])) as b:  # two FMUs in one process
    initialize(a, {"motor.crank.torque": 0.5})
    initialize(b)
    for k in range(50):
        a.doStep(k * 1e-3, 1e-3)
        b.doStep(k * 1e-3, 1e-3)
    saved = a.getFMUstate()
    bytes_ = a.serializeFMUstate(saved)
    ends = []
    for state in (None, saved, a.deSerializeFMUstate(bytes_)):
        if state is not None:
            a.setFMUstate(state)
        for k in range(50, 100):
            a.doStep(k * 1e-3, 1e-3)
        ends.append(get(a, ["joint.crank_pin.position", "energy", "linear.A[2,1]"]))
    assert np.array_equal(ends[0], ends[1]) and np.array_equal(ends[0], ends[2]), ends
    other = bytes(bytes_).replace(b'"z"', b'"y"')  # of another version: nothing is set
    a.setFMUstate(a.deSerializeFMUstate(other))
    assert np.array_equal(ends[0], get(a, ["joint.crank_pin.position", "energy", "linear.A[2,1]"]))
    for bad in (np.nan, np.inf):  # refused with a log line; pythonfmu can't return a status here
        put(a, {"motor.crank.torque": bad})
    assert get(a, ["motor.crank.torque"])[0] == 0.5
    try:
        a.doStep(0.1, -1.0)
    except Exception:
        pass
    else:
        raise SystemExit("a negative step was taken")
    assert np.array_equal(ends[0], get(a, ["joint.crank_pin.position", "energy", "linear.A[2,1]"]))
    print("RESULT", *ends[0], *get(b, ["joint.theta1.position"]))
"""


def test_python_runtime_is_the_engine(tmp_path: Path) -> None:
    first, second = tmp_path / "a.fmu", tmp_path / "b.fmu"
    export("fourbar", first, runtime="python", linear=True, picture=False)
    names = [j.name for j in load("double_pendulum").joints]
    export("double_pendulum", second, runtime="python", picture=False)
    assert validate_fmu(str(first)) == [] == validate_fmu(str(second))
    modules = [zipfile.ZipFile(p).read("resources/slavemodule.txt") for p in (first, second)]
    assert modules[0] != modules[1]
    script = PYTHON.replace("joint.theta1.position", f"joint.{names[0]}.position")
    words = [
        sys.executable,
        "-c",
        script,
        str(Path(__file__).parents[1] / "support"),
        str(first),
        str(second),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    (line,) = [x for x in done.stdout.splitlines() if x.startswith("RESULT")] or [
        f"{done.returncode} {done.stdout} {done.stderr}"
    ]
    crank, energy, a21, other = (float(word) for word in line.split()[-4:])
    engine, pendulum = Simulation("fourbar", compile=False), Simulation("double_pendulum", compile=False)
    engine.set_inputs([0.5])
    for k in range(100):
        engine.step(1e-3)
        if k < 50:
            pendulum.step(1e-3)
    assert crank == pytest.approx(engine.outputs()["joint.crank_pin.position"], abs=1e-10)
    assert energy == pytest.approx(engine.energy(), abs=1e-9)
    assert np.isfinite(a21)
    assert other == pytest.approx(pendulum.outputs()[f"joint.{names[0]}.position"], abs=1e-10)


def test_a_python_runtime_fmu_can_be_instantiated_again_and_beside_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.fmu"
    export("fourbar", path, runtime="python", outputs=FEW, picture=False)
    engine = Simulation("fourbar", compile=False)
    engine.step(1e-3)
    for _ in range(3):
        with instance(path) as one, instance(path) as other:
            for fmu in (one, other):
                initialize(fmu)
                fmu.doStep(0.0, 1e-3)
                assert get(fmu, ["energy"])[0] == pytest.approx(engine.energy(), abs=1e-12)
