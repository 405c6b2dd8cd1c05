"""A thousand mutations of files of each format: a sentence or a mechanism, never a traceback or a NaN."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from cutjoint import Mechanism, Simulation, load
from cutjoint.model.base.errors import CutjointError
from cutjoint.model.robots.convert_cli import convert
from cutjoint.model.robots.load_robot import load_robot
from robot_files import DIALECTS, DRAWN, MJCF, ONE, SDF, TWO

COUPLED = '<joint joint1="knee" joint2="swing" polycoef="0 1 2 0 0"/><weld body1="crank" body2="coupler"/>'
FILES = {
    "urdf": [*DIALECTS.values(), *DRAWN.values()],
    "xml": [(MJCF % (ONE + TWO), ""), (MJCF % COUPLED, "")],
    "sdf": [(SDF, "")],
}
NUMBERS = ("0", "-1", "1e308", "nan", "inf", "1e-320", "", "99999999", "x", "1 2", "-0")


def mutated(text: str, pick: random.Random) -> str:
    """The text with a few characters, numbers, attributes or tags lost, doubled or exchanged."""
    for _ in range(pick.randint(1, 3)):
        kind, at = pick.randint(0, 6), pick.randrange(len(text))
        pattern = (r"-?\d+\.?\d*", r'"[^"]*"', r"<[^>]*>", r"<\w+", r">[^<]+<")[pick.randint(0, 4)]
        found = list(re.finditer(pattern, text)) or [re.search("", text)]
        one, other = pick.choice(found), pick.choice(found)
        if kind == 0:
            text = text[:at] + pick.choice("<>/\"'= 0-9eax&;é") + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + pick.randint(1, 60) :]
        elif kind in (2, 3):
            text = text[: one.start()] + other.group() + text[one.end() :]
        elif kind == 4:
            text = text[: one.start()] + text[one.end() :]
        elif kind == 5:
            text = text[: one.start()] + one.group() + text[one.start() :]
        else:
            one = pick.choice(list(re.finditer(r"-?\d+\.?\d*", text)))
            text = text[: one.start()] + pick.choice(NUMBERS) + text[one.end() :]
    return text


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, list[tuple[str, str]]]:
    """The files above, and what we write ourselves, with shapes, mimics, frames and motors."""
    folder, found = tmp_path_factory.mktemp("written"), {}
    for ending, given in FILES.items():
        convert(load("gripper"), folder / f"gripper.{ending}", "loop")
        found[ending] = [*given, ((folder / f"gripper.{ending}").read_text(), "")]
    return found


def mutant(seed: int, known: list[tuple[str, str]], path: Path) -> Mechanism | None:
    """The mechanism of a mutated file, None if it is refused in a sentence."""
    pick = random.Random(seed)
    text, beside = pick.choice(known)
    if beside and pick.random() < 0.5:
        beside = mutated(beside, pick)
    else:
        text = mutated(text, pick)
    path.write_text(text)
    path.with_suffix(".yaml").write_text(beside or "{}")
    try:
        return load_robot(path).mechanism
    except CutjointError as refusal:
        assert str(refusal) and "\n" not in str(refusal), (seed, refusal)
        return None


EACH_RUN = 400


@pytest.mark.parametrize("ending", FILES)
def test_mutations_become_a_sentence_or_a_mechanism(ending: str, files, tmp_path: Path) -> None:
    if ending == "xml":
        pytest.importorskip("mujoco")
    made = [mutant(seed, files[ending], tmp_path / f"robot.{ending}") for seed in range(EACH_RUN)]
    read = [mechanism for mechanism in made if mechanism is not None]
    for mechanism in read:
        for body in mechanism.bodies:
            assert np.isfinite([body.mass, *body.com, *body.inertia]).all()
        for visual in mechanism.visuals:
            assert np.isfinite([*visual.size, *visual.at, *visual.orientation, *visual.colour]).all()
    assert EACH_RUN / 20 < len(read) < EACH_RUN * 19 / 20


@pytest.mark.study
@pytest.mark.parametrize("ending", FILES)
def test_mutations_move_or_say_why_not(ending: str, files, tmp_path: Path) -> None:
    """Whatever was read is assembled, moved and written again: numbers that are finite, or a sentence."""
    moved = 0
    for seed in range(1000):
        mechanism = mutant(seed, files[ending], tmp_path / f"robot.{ending}")
        if mechanism is None:
            continue
        try:
            simulation = Simulation(mechanism, compile=False)
            simulation.step(1e-3)
            convert(mechanism, tmp_path / f"again.{ending}", "loop")
        except CutjointError as refusal:
            assert str(refusal) and "\n" not in str(refusal), (seed, refusal)
            continue
        assert np.isfinite([*simulation.q, *simulation.v, simulation.energy()]).all(), seed
        moved += 1
    assert moved > 50
