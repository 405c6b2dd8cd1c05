"""One table of names: it is what the traced code computes, and every way in looks names up there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bulk import KINDS, bulk
from cutjoint import DescriptionError, Mechanism, Simulation, SimulationError, list_examples, load
from cutjoint.model.equations.outputs import outputs, readings
from cutjoint.model.equations.terms import equations
from cutjoint.model.equations.topology import span
from cutjoint.model.loading import check_names, read
from cutjoint.model.variables import variables
from random_mechanisms import random_loop, random_tree

OWN = {
    "place": "body.platform.position",
    "height": "body.platform.position[3]",
    "push": "reaction.ball1.force",
    "torque1": "input.motor1",
    "near": "singularity.distance",
    "full": "singularity.rank",
}


def aliased() -> Mechanism:
    """The platform with names of its own for vectors, components and singular values."""
    return replace(load("stewart"), name="aliased", outputs=OWN, parameters={"load": "body.platform.mass"})


def mechanisms() -> dict[str, Mechanism]:
    made = {name: load(name) for name in list_examples()} | {"aliased": aliased()}
    made |= {f"tree{seed}": random_tree(seed, 4) for seed in range(12)}
    return made | {f"loop{seed}": random_loop(seed, 4) for seed in range(12)}


SOME = {*KINDS, "aliased", *(f"{kind}{seed}" for kind in ("tree", "loop") for seed in range(1))}


@pytest.mark.parametrize("name", bulk([*mechanisms()], SOME))
def test_the_table_is_what_the_traced_code_computes(name: str) -> None:
    mechanism = mechanisms()[name]
    described = check_names(mechanism)
    eq = equations(described)
    table = variables(described, eq.tree)
    computed = readings(eq)
    traced = [v for v in table.outputs if v.differentiable and not v.own]
    assert [v.size for v in traced] == [computed[v.name].numel() for v in traced]
    assert traced[-1].where.stop == outputs(eq).size1_out(0)
    rows = [row for v in table.outputs if not v.own for row in range(v.where.start, v.where.stop)]
    assert rows == list(range(sum(v.size for v in traced) + 2))  # no gap; two need singular values
    assert all(v.size == len(v.units) for kind in vars(table).values() for v in kind)
    assert [(p.name, p.slice) for p in eq.parameters] == [(p.name, p.where) for p in table.parameters]
    assert [v.where for v in table.inputs] == [slice(k, k + 1) for k in range(eq.u.numel())]
    for kind, size in ((table.positions, eq.tree.nq), (table.speeds, eq.tree.nv)):
        assert kind.rows().tolist() == list(range(size))


def test_a_free_joint_inside_a_loop_has_no_names() -> None:
    arm = load("fourbar")
    loose = replace(arm.joints[0], name="loose", type="free", cut=None)
    table = variables(check_names(replace(arm, joints=(*arm.joints, loose))), span(arm)).outputs
    assert not [n for n in table.named if "loose" in n] and "joint.crank_pin.position" in table.named


def test_names_components_and_patterns_are_found() -> None:
    outputs = variables(aliased(), span(aliased())).outputs
    assert outputs.find("place[3]").where == outputs.find("height").where
    assert outputs.find("place[3]").where == outputs.find("body.platform.position[3]").where
    assert outputs.find("near").where == outputs.find("singularity.distance").where
    assert [v.name for v in outputs.choose(["body.leg?.position", "energy", "body.leg1.position[2]"])] == [
        *(f"body.leg{k}.position" for k in (1, 2, 3)),
        "energy",
    ]
    assert [c.name for c in outputs.columns(["body.leg[12].position[3]", "place"])] == [
        "body.leg1.position[3]",
        "body.leg2.position[3]",
        *(f"place[{k}]" for k in (1, 2, 3)),
    ]
    assert outputs.find("joint.ball1.position").units == ("1",) * 4
    assert outputs.find("joint.motor1.acceleration").unit == "rad/s2"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("energie", "did you mean 'energy'?"),
        ("body.platfrom.position[3]", "did you mean 'body.platform.position[3]'?"),
        ("body.platform.position[4]", "'body.platform.position' has the components 1 to 3"),
        ("body.platform.position[0]", "'body.platform.position' has the components 1 to 3"),
        ("energy[1]", "'energy' is one number"),
        ("heigth", "did you mean 'height'?"),
        ("place[9]", "'place' has the components 1 to 3"),
        ("body.*.weight", "'cutjoint show MECHANISM --outputs' lists all"),
        ("body.platform.position[3", "did you mean 'body.platform.position'?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(name: str, hint: str) -> None:
    outputs = variables(aliased(), span(aliased())).outputs
    with pytest.raises(SimulationError) as caught:
        outputs.columns([name])
    assert str(caught.value).startswith(f"there is no output '{name}'; {hint}")


WRONG = [
    ("height", "body.plaform.position[3]", "did you mean 'body.platform.position[3]'?"),
    ("height", "body.platform.position[9]", "'body.platform.position' has the components 1 to 3"),
    ("height", "body.platform.hight", "did you mean"),
    ("height", "singularity.dist", "did you mean 'singularity.distance'?"),
    ("height", "body.*.position", "did you mean"),
    ("height", "height", "'cutjoint show MECHANISM --outputs' lists all"),
    ("energy", "body.platform.position", "that name is taken; choose another, such as 'my_energy'"),
    ("power_supplied", "energy", "that name is taken"),
    ("time", "energy", "that name is taken; choose another, such as 'my_time'"),
    ("joint", "energy", "that name is taken"),
    ("state", "energy", "that name is taken"),
    ("motor1", "input.motor1", "an input has that name; choose another, such as 'my_motor1'"),
]


@pytest.mark.parametrize(("name", "source", "sentence"), WRONG, ids=[f"{n}={s}" for n, s, _ in WRONG])
def test_a_wrong_name_in_a_description_is_refused_at_load(
    name: str, source: str, sentence: str, tmp_path: Path
) -> None:
    text = Path(__file__).parents[2].joinpath("examples", "stewart.yaml").read_text("utf-8")
    good = "  height: body.platform.position[3]\n"
    line = text[: text.index(good)].count("\n") + 1
    bad = tmp_path / "bad.yaml"
    bad.write_text(text.replace(good, f"  {name}: {source}\n"))
    for refuse, where in (
        (lambda: load(bad), f"{bad}, line {line}: "),
        (lambda: read(bad.read_text(), "bad.yaml"), f"bad.yaml, line {line}: "),
        (lambda: Simulation(replace(load("stewart"), outputs={name: source})), ""),
    ):
        with pytest.raises(DescriptionError) as caught:
            refuse()
        assert str(caught.value).startswith(f"{where}output '{name}': ") and sentence in str(caught.value)


def test_a_component_too_long_to_count_is_only_a_wrong_name() -> None:
    for wrong in (f"energy[{'9' * 5000}]", "body.platform.position[\u0663]", "height\n[2]"):
        with pytest.raises(DescriptionError, match="there is no output"):
            check_names(replace(load("stewart"), outputs={"x": wrong}))


def test_a_motor_on_a_screw_gives_a_torque() -> None:
    screw = next(m for m in (random_tree(seed, 1) for seed in range(99)) if m.joints[0].type == "helical")
    table = variables(check_names(screw), span(screw))
    assert table.inputs.find("m_j1").unit == table.outputs.find("input.m_j1").unit == "N.m"
    assert table.inputs.find("c1").unit == "N"


def test_own_names_are_read_recorded_and_watched_like_any_other() -> None:
    from cutjoint.model.run.events import Event

    simulation = Simulation(aliased(), compile=False)
    outputs = simulation.outputs()
    assert list(outputs) == list(simulation.variables().outputs.named)
    for name, source in OWN.items():
        whole, bracket, _ = source.partition("[")
        np.testing.assert_array_equal(outputs[name], outputs[whole][2] if bracket else outputs[whole])
    assert outputs["full"] == 6 and outputs["near"] == simulation.singularity_distance()
    run = simulation.run(0.1, 0.01, record=[*OWN, "place[3]", "*.motor1.position"])
    assert run["place"].shape == (11, 3) and run.names[-1] == "joint.motor1.position"
    np.testing.assert_array_equal(run["place[3]"], run["height"])
    half = float(run["near"][[4, 5]].mean())
    simulation.reset()
    found = simulation.run(0.1, 0.01, events=[Event("e", lambda s: s.outputs()["near"] - half)]).events
    assert len(found) == 1 and 0.04 < found[0][1] < 0.05
    with pytest.raises(SimulationError, match="event 'e': name one of the 3 components of 'place'"):
        simulation.run(0.1, events=[Event("e", "place")])


def test_nothing_is_traced_to_list_the_names(monkeypatch: pytest.MonkeyPatch) -> None:
    import cutjoint.model.equations.outputs as module
    from cutjoint.model.cli.main import main

    def refuse(*_: object) -> None:
        raise AssertionError("outputs are traced")

    monkeypatch.setattr(module, "readings", refuse)
    assert len(Simulation("stewart", compile=False).variables().outputs) > 90
    assert main(["show", "stewart", "--outputs"]) == 0
    with pytest.raises(AssertionError, match="outputs are traced"):
        Simulation("stewart", compile=False).outputs()
