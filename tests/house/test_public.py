"""The public names: one table, light to import, documented, all the manual needs; old ones still work."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import warnings
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import cutjoint
import pytest

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "docs").is_dir():
    pytest.skip("the manual is not here", allow_module_level=True)


def page_writer() -> ModuleType:
    spec = spec_from_file_location("api_page", ROOT / "docs" / "site" / "api.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


API = page_writer()
PUBLIC = [name for names in API.sections().values() for name in names]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    item = getattr(cutjoint, name)
    assert name in dir(cutjoint)
    assert item.__name__.rpartition(".")[2] == name, "it is called so at home"


def test_a_name_that_is_not_there_is_met_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match="'Simulator'; did you mean 'Simulation'"):
        _ = cutjoint.Simulator
    with pytest.raises(AttributeError, match=r"'cutjoint\.model' has no attribute 'Simulator'"):
        _ = cutjoint.model.Simulator


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, cutjoint; dir(cutjoint); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "cutjoint" in loaded and not {name for name in loaded if name.startswith("cutjoint.")}
    assert not loaded & {"numpy", "casadi", "scipy", "matplotlib", "ruamel.yaml"}


# -- documentation ----------------------------------------------------------------------------


def test_the_reference_is_up_to_date() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (\w+)$", text, flags=re.M)
    assert set(PUBLIC) - set(headings) == set(), "undocumented: 'make api' writes them"
    assert set(headings) - set(PUBLIC) == set(), "documented, but gone: 'make api' takes them away"
    assert text == API.page(), "docs/api.md is out of date: 'make api' writes it"


def test_docstrings_explain_every_argument() -> None:
    assert API.undocumented() == []


def test_the_check_of_docstrings_finds_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare(x: float) -> None: ...

    def partly(x: float, y: float) -> None:
        """What x does."""

    monkeypatch.setattr(API, "public", lambda: {"bare": bare, "partly": partly})
    assert API.undocumented() == ["bare has no docstring", "partly: what is 'y'?"]


def sources() -> dict[str, str]:
    """Python that the manual, the notebooks and the README show."""
    found = {}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        found[path.name] = "\n".join(blocks)
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        found[path.name] = re.sub(r"^[%!].*$", "", code, flags=re.M)
    return {name: text for name, text in found.items() if "cutjoint" in text}


@pytest.mark.parametrize("name", sources())
def test_the_manual_imports_public_names_only(name: str) -> None:
    for node in ast.walk(ast.parse(sources()[name])):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "cutjoint":
            assert node.module == "cutjoint", f"from {node.module}"
            assert {alias.name for alias in node.names} <= set(PUBLIC)


def test_the_manual_names_no_module_for_what_is_public() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {
        page.name: re.findall(r"cutjoint\.(?:model|fmu|ros)\.[\w.]+", page.read_text("utf-8"))
        for page in pages
    }
    assert {name: found for name, found in named.items() if found} == {}


# -- names of before --------------------------------------------------------------------------

ONCE = {
    "cutjoint.model": "Simulation Engine State Trajectory load save list_examples Mechanism Body Joint Frame "
    "Motor Strut Bushing Load PointMass Coupling CutjointError DescriptionError AssemblyError "
    "SimulationError",
    "cutjoint.model.batch.crew": "run_sweep",
    "cutjoint.model.batch.environment": "MechanismEnv",
    "cutjoint.model.batch.kernels": "BatchKernel",
    "cutjoint.model.batch.rollout": "rollout Feedback",
    "cutjoint.model.batch.slopes": "step_slopes",
    "cutjoint.model.batch.store": "read_results",
    "cutjoint.model.batch.sweep": "sweep",
    "cutjoint.model.cartesian": "CartesianSimulation Problem Part Lock Marker Coincident Distance Dot1 laws",
    "cutjoint.model.design.propagate": "propagate stretch NotAbsorbed",
    "cutjoint.model.design.sensitivity": "sensitivities motion_sensitivities",
    "cutjoint.model.loading": "load load_robot",
    "cutjoint.model.papers.methods": "MethodSimulation",
    "cutjoint.model.run.equilibrium": "hold settle",
    "cutjoint.model.run.events": "Event",
    "cutjoint.model.show.pull": "with_handles",
    "cutjoint.model.show.view": "Viewer",
    "cutjoint.model.verify": "verify",
    "cutjoint.fmu": "export export_page linear_model write_ssp",
}


@pytest.mark.parametrize("module", ONCE)
def test_what_the_manual_said_before_still_works(module: str) -> None:
    """A release has shown these paths; what has moved since says what to use."""
    for name in ONCE[module].split():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            item = getattr(import_module(module), name)
        for warning in said:
            if issubclass(warning.category, DeprecationWarning) and "goes with" in str(warning.message):
                assert f"use cutjoint.{item.__name__}" in str(warning.message)
        assert item is getattr(cutjoint, item.__name__.rpartition(".")[2], item)


def test_an_old_name_warns_where_it_is_used() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"cutjoint\.model\.Simulation .* use cutjoint\.Simulation"
    ) as said:
        from cutjoint.model import Simulation  # noqa: F401
    assert said[0].filename == __file__


def test_a_module_that_moved_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutjoint, "_OLD_MODULES", (*cutjoint._OLD_MODULES, "model.run.gone"))
    with pytest.warns(DeprecationWarning, match=r"cutjoint\.model\.run\.gone\.hold .* use cutjoint\.hold"):
        assert import_module("cutjoint.model.run.gone").hold is cutjoint.hold
    with pytest.raises(ImportError):
        import_module("cutjoint.model.run.never_was")
    del sys.modules["cutjoint.model.run.gone"]
