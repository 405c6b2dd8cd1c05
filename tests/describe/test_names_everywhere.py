"""Every name that `cutjoint show --outputs` lists works at every way into the engine, or is told why not."""

from __future__ import annotations

import csv
import functools
import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from bulk import bulk
from cutjoint import CutjointError, Simulation, SimulationError, load, save
from cutjoint.fmu import linear_model
from cutjoint.fmu.export import export
from cutjoint.model.cli.main import main
from cutjoint.model.control.computed_torque import Wanted
from cutjoint.model.design.sensitivity import motion_sensitivities, sensitivities
from cutjoint.ros.diagnostics import Health
from cutjoint.ros.loop import Loop
from cutjoint.ros.settings import Settings
from fmpy.validation import validate_fmu
from fmu_tools import folder, get, initialize, instance, names
from silent_outlet import Silent
from test_table_of_names import OWN, aliased

MECHANISMS = ("stewart", "aliased")
UNSLOPED = {"singularity.distance", "singularity.rank", "near", "full"}
TORQUES = [3.0, 4.0, 5.0]


@functools.cache
def described(name: str) -> str:
    """An example's name, or the path of a description file."""
    if name != "aliased":
        return name
    path = folder() / "aliased.yaml"
    save(aliased(), path)
    return str(path)


@functools.cache
def moved(name: str) -> Simulation:
    simulation = Simulation(described(name), compile=False)
    simulation.set_inputs(TORQUES)
    simulation.run(0.02, 1e-3)
    return simulation


@pytest.fixture(params=MECHANISMS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def listed(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Names as the page for people lists them, and as JSON does."""
    assert main(["show", described(name), "--outputs"]) == 0
    page = capsys.readouterr().out
    rows = page[page.index("\n  output ") :].splitlines()[2:]
    assert main(["show", described(name), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["outputs"]
    assert [row.split()[0] for row in rows] == found
    own = OWN if name == "aliased" else ()
    assert {"height", "singularity.distance", "singularity.rank", *own} <= {*found}
    return found


def columns(name: str) -> list[str]:
    return [column.name for column in moved(name).variables().outputs.columns()]


def values(name: str, wanted: list[str] | None = None) -> np.ndarray:
    simulation = moved(name)
    return simulation.read(simulation.variables().outputs.rows(wanted))


def test_in_python(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(name, capsys)
    simulation = moved(name)
    outputs = simulation.outputs()
    assert list(outputs) == found
    before = simulation.state
    run = simulation.run(0.0, record=found)
    simulation.state = before
    assert run.names == tuple(columns(name))
    for output in found:
        np.testing.assert_array_equal(np.atleast_1d(outputs[output]), np.atleast_1d(run[output][0]))


def test_on_the_command_line(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = listed(name, capsys)
    for words in (found, ["*"]):
        torques = [f"motor{k + 1}={t}" for k, t in enumerate(TORQUES)]
        table = tmp_path / "out.csv"
        words = ["--output", *words, "--time", "0.02", "--no-compile", "--csv", str(table)]
        assert main(["simulate", described(name), "--torque", *torques, *words]) == 0
        with table.open() as file:
            header, *_, last = csv.reader(file)
        assert header == ["time", *columns(name)]
        np.testing.assert_allclose([float(x) for x in last[1:]], values(name), atol=1e-12, rtol=1e-12)
    capsys.readouterr()


def test_in_linear_models(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(name, capsys)
    simulation = moved(name)
    sloped = [n for n in found if n not in UNSLOPED]
    model = simulation.linearize(outputs=sloped)
    rows = [column.name for column in simulation.variables().outputs.columns(sloped)]
    assert list(model.outputs) == rows and model.C.shape == (len(rows), 6) and model.D.shape == (len(rows), 3)
    assert simulation.linearize(outputs=["*"]).outputs == model.outputs
    own = {"stewart": ("height",), "aliased": ("place[1]", "place[2]", "place[3]", "height")}[name]
    assert simulation.linearize().outputs[: len(own)] == own
    assert main(["linearize", described(name), "--json", "--output", *sloped]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"] == rows
    for output in (UNSLOPED & {*found}) | {"singularity.?*"}:
        sentence = f"output '{output}' is found by iteration and has no derivatives; leave it out"
        with pytest.raises(SimulationError, match=re.escape(sentence)):
            simulation.linearize(outputs=[output])
        assert main(["linearize", described(name), "--output", output]) == 2
        assert capsys.readouterr().err == f"cutjoint: --output: {sentence}\n"


def test_in_sensitivities(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(name, capsys)
    simulation = moved(name)
    sloped = [n for n in found if n not in UNSLOPED]
    result = sensitivities(simulation, sloped, "body.platform.mass")
    rows = [column.name for column in simulation.variables().outputs.columns(sloped)]
    assert list(result.outputs) == rows and np.isfinite(result.matrix).all()
    for output in sloped:
        part = np.atleast_1d(result.of(output, "body.platform.mass"))
        assert part.size == simulation.variables().outputs.find(output).size
    for output in UNSLOPED & {*found}:
        for slope in (
            lambda o=output: sensitivities(simulation, o, "body.platform.mass"),
            lambda o=output: motion_sensitivities(simulation, 0.01, o, "body.platform.mass"),
        ):
            with pytest.raises(SimulationError, match=f"output '{output}' is found by iteration"):
                slope()


@functools.cache
def fmu_of(name: str, kind: str) -> Path:
    path = folder() / f"names-{name}-{kind}.fmu"
    how = {"runtime": "python"} if kind == "python" else {"fmi": int(kind), "optimize": 0}
    export(described(name), path, picture=False, **how)
    return path


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("name", "kind"),
    bulk(
        [*product(MECHANISMS, ("2", "3", "python"))],
        {("aliased", "3")},
    ),
)
def test_in_fmus(name: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(name, capsys)
    assert validate_fmu(str(fmu_of(name, kind))) == []
    with instance(fmu_of(name, kind)) as fmu:
        shown = [n for n in names(fmu, "output") if n != "step.tries"]  # which no simulation has
        assert sorted(shown) == sorted(found if kind == "3" else columns(name))
        initialize(fmu, dict(zip(names(fmu, "input"), TORQUES, strict=True)))
        fmu.doStep(0.0, 0.02)
        np.testing.assert_allclose(get(fmu, shown), values(name, shown), atol=1e-9, rtol=1e-9)
        if name == "aliased":
            rank, near, distance = get(fmu, ["full", "near", "singularity.distance"])
            assert rank == 6.0 and near == distance
    if kind != "python":
        model = linear_model(fmu_of(name, kind), time=0.02)  # a rank has no slope, a distance has one
        ranks = [k for k, row in enumerate(model.outputs) if row in ("singularity.rank", "full")]
        distances = [k for k, row in enumerate(model.outputs) if row in ("singularity.distance", "near")]
        assert not model.C[ranks].any() and model.C[distances].any(axis=1).all()
        assert len(ranks) == len(distances) == (2 if name == "aliased" else 1)


@pytest.mark.compiler
def test_an_export_traces_the_outputs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Page, dependencies and C come from one tracing, a derivative and its adjoint from one each."""
    import cutjoint.model.equations.outputs as module

    count, trace = [], module.readings
    monkeypatch.setattr(module, "readings", lambda eq: count.append(eq) or trace(eq))
    export("fourbar", folder() / "once.fmu", fmi=3, linear=True, optimize=0)
    assert len(count) == 3


@pytest.mark.compiler
@pytest.mark.parametrize("chosen", [["near"], ["full", "singularity.*", "place", "place[3]"]], ids=" ".join)
def test_chosen_outputs_of_fmus(chosen: list[str]) -> None:
    path = folder() / f"chosen-{'-'.join(chosen).replace('*', 'all')}.fmu"
    export(described("aliased"), path, outputs=chosen, picture=False, optimize=0)
    wanted = [column.name for column in moved("aliased").variables().outputs.columns(chosen)]
    with instance(path) as fmu:
        assert sorted(names(fmu, "output")) == sorted(wanted)
        initialize(fmu)
        expected = Simulation(described("aliased"), compile=False)
        rows = expected.variables().outputs.rows(wanted)
        np.testing.assert_allclose(get(fmu, wanted), expected.read(rows), atol=1e-12)


@pytest.mark.compiler
def test_the_rank_of_an_fmu_falls_at_a_singularity() -> None:
    """The rods of a parallelogram line up with ground: rank 1 there, 2 elsewhere, in Python and in C."""
    from mechanisms import four_bars

    path = folder() / "lined_up.fmu"
    for angle, rank in ((np.pi, 1), (np.pi / 2, 2)):
        mechanism = four_bars(1, angle, 0.0)
        simulation = Simulation(mechanism, compile=False)
        assert simulation.outputs()["singularity.rank"] == rank
        export(mechanism, path, outputs=["singularity.*"], picture=False, optimize=0)
        with instance(path) as fmu:
            initialize(fmu)
            distance, found = get(fmu, ["singularity.distance", "singularity.rank"])
            assert found == rank and (distance < 1e-7) == (rank == 1)


def test_in_diagnostics_of_the_node(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(name, capsys)
    for wanted in (" ".join(found), found, "*"):
        settings = Settings.read({"mechanism": described(name), "diagnostics": wanted})
        loop = Loop(Simulation(described(name), compile=False), settings, Silent())
        loop.advance(Wanted.forces(np.array(TORQUES)))
        told = Health(loop).look(loop)[2]
        numbers = loop.simulation.read(loop.simulation.variables().outputs.rows())
        for column, x in zip(columns(name), numbers, strict=True):
            assert float(told[column]) == pytest.approx(x, rel=1e-8, abs=1e-30)


@pytest.mark.parametrize("wrong", ["heigth", "body.platform.position[4]"])
def test_a_wrong_name_is_refused_at_every_way_in(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    hints = {"heigth": "did you mean 'height'?"}
    hint = hints.get(wrong, "'body.platform.position' has the components 1 to 3")
    sentence = f"there is no output '{wrong}'; {hint}"
    simulation = moved("stewart")
    settings = Settings.read({"mechanism": "stewart", "diagnostics": wrong})
    for words in (
        ["simulate", "stewart", "--output", wrong],
        ["linearize", "stewart", "--output", wrong],
        ["export", "stewart", "-o", str(folder() / "wrong.fmu"), "--output", wrong],
    ):
        assert main(words) == 2
        assert capsys.readouterr().err == f"cutjoint: --output: {sentence}\n"
    for ask in (
        lambda: simulation.run(0.1, record=[wrong]),
        lambda: simulation.linearize(outputs=[wrong]),
        lambda: sensitivities(simulation, wrong, "body.platform.mass"),
        lambda: export("stewart", folder() / "wrong.fmu", outputs=[wrong]),
        lambda: Health(Loop(simulation, settings, Silent())),
    ):
        with pytest.raises(CutjointError) as caught:
            ask()
        assert str(caught.value).endswith(sentence)


def test_a_wrong_description_is_refused_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.yaml"
    save(load("stewart"), bad)
    text = bad.read_text().replace("height: body.platform.position[3]", "height: body.platform.positon[3]")
    bad.write_text(text)
    line = text[: text.index("height:")].count("\n") + 1
    sentence = f"cutjoint: {bad}, line {line}: output 'height': there is no output "
    sentence += "'body.platform.positon[3]'; did you mean 'body.platform.position[3]'?\n"
    fmu = str(tmp_path / "x.fmu")
    for words in (
        ["show", str(bad)],
        ["simulate", str(bad)],
        ["assemble", str(bad)],
        ["linearize", str(bad)],
        ["export", str(bad), "-o", fmu],
        ["export", str(bad), "-o", fmu, "--runtime", "python"],
        ["node", str(bad), "--urdf"],
        ["view", str(bad)],
    ):
        assert main(words) == 2, words
        assert capsys.readouterr().err == sentence, words
    assert not Path(fmu).exists()
