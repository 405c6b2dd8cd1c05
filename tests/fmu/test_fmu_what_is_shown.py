"""Which variables an FMU shows: without model exchange, and of a mechanism with hundreds of bodies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cutjoint import CutjointError, load
from cutjoint.fmu import linear_model, xml_fmi2, xml_fmi3
from cutjoint.native.variable_layout import plan
from fmpy import read_model_description
from fmpy.validation import validate_fmu
from fmu_tools import exported, get, initialize, instance


@pytest.mark.parametrize("fmi", [2, 3])
def test_co_simulation_alone_shows_no_states(fmi: int) -> None:
    path, whole = exported("fourbar", fmi, exchange=False), exported("fourbar", fmi)
    shown = {v.name for v in read_model_description(str(path)).modelVariables}
    everything = {v.name for v in read_model_description(str(whole)).modelVariables}
    gone = everything - shown
    assert gone and shown < everything and all(name.startswith(("state.", "der(", "event.")) for name in gone)
    assert validate_fmu(str(path)) == []
    assert read_model_description(str(path)).modelExchange is None
    values = []
    for file in (path, whole):
        with instance(file) as fmu:
            initialize(fmu)
            fmu.doStep(0.0, 0.01)
            values.append(get(fmu, ["joint.crank_pin.position", "energy"]))
    assert np.array_equal(*values)
    with pytest.raises(CutjointError, match="shows no states; export it without --no-exchange"):
        linear_model(path)
    log: list[tuple[int, str, str]] = []
    with pytest.raises(Exception, match="nstantiate"), instance(path, exchange=True, log=log):
        pass
    assert "exported for co-simulation alone" in log[-1][2]


def chain(links: int) -> str:
    """A row of pendulums."""
    bodies = joints = ""
    for k in range(links):
        bodies += f"  b{k}: {{mass: 1, com: [{k + 0.5}, 0, 0], inertia: [0.1, 0.1, 0.1]}}\n"
        ends = f"parent: {f'b{k - 1}' if k else 'ground'}, child: b{k}"
        joints += f"  j{k}: {{type: revolute, {ends}, at: [{k}, 0, 0], axis: [0, 1, 0]}}\n"
    return f"name: chain\ngravity: 9.81\nbodies:\n{bodies}joints:\n{joints}"


def test_a_large_mechanism_shows_what_is_usual_unless_it_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "chain.yaml"
    file.write_text(chain(80))
    mechanism = load(str(file))
    usual, all_ = plan(mechanism), plan(mechanism, outputs=["*"])
    names = {v.name for v in usual.of("output")}
    assert usual.left_out > 0 and all_.left_out == 0
    assert {"joint.j0.position", "joint.j79.velocity", "body.b5.orientation", "energy"} <= names
    assert not any(name.startswith("reaction.") for name in names)
    for xml in (xml_fmi2, xml_fmi3):
        assert len(xml.description(usual)) < 0.5 * len(xml.description(all_))
    few = plan(replace(load("fourbar"), name="few"))
    assert few.left_out == 0 and any(v.name.startswith("reaction.") for v in few.of("output"))
